import os
import tomllib

import pytest

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.experiment.design.plan import factorial_arms
from httpdyno.model import KnobInfo
from httpdyno.study.file import configuration_from, load_study, study_from

GOOD = """
format = 1
name = "shop"
title = "A shop"

[server]
adapter = "fake"
base = "server.conf.j2"

[[knobs]]
name = "workers"
start = 1
levels = [2, 4]
book_ratio = [1.5, 1.1]

[[knobs]]
name = "debug"
start = true
levels = [false]

[workload]
connections = 5
keep_alive = false
timeout = "2s"

[[workload.requests]]
path = "/list"
headers = { Accept = "text/html" }

[objective]
metric = "latency_p99_s"
max_p99 = "200ms"

[method]
window = "500ms"

[budget]
time = "1m30s"
"""
INFOS = {
    "workers": KnobInfo(
        name="workers", summary="worker processes", kind="integer", minimum=1, maximum=1000
    )
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "server.conf.j2").write_text("Debug {{ knob.debug }}\n", encoding="utf-8")
    return tmp_path


def _study(folder, text=GOOD):
    return study_from(tomllib.loads(text), folder / "study.toml", lambda _adapter: INFOS)


def test_memory_has_a_limit_in_bytes(folder):
    text = GOOD.replace('max_p99 = "200ms"', 'max_memory = "1.5MiB"')
    assert _study(folder, text).objective.max_memory_bytes == 3 << 19
    assert _study(folder).objective.max_memory_bytes is None


def test_a_study_is_read_with_units_converted_and_defaults_filled_in(folder):
    (folder / "study.toml").write_text(GOOD, encoding="utf-8")
    study = load_study(folder, lambda _adapter: INFOS)
    assert study == load_study(folder / "study.toml", lambda _adapter: INFOS)
    assert study.budget_s == 90.0
    assert study.method.window_s == 0.5
    assert study.objective.max_p99_s == 0.2
    assert study.workload.timeout_s == 2.0
    assert study.workload.requests[0].headers == (("Accept", "text/html"),)
    assert study.knob("workers").title == "worker processes"
    assert study.start_configuration().values == {"workers": 1, "debug": True}


@pytest.mark.parametrize(
    ("also", "metrics"),
    [
        ('["p50_s"]', ("latency_p50_s",)),
        ('["latency_p50_s", "p50_s", "throughput_per_s"]', ("latency_p50_s", "throughput_per_s")),
        # It is the second metric anyway.
        ('["cpu_s_per_request"]', ()),
        ("[]", ()),
    ],
)
def test_a_study_names_what_is_told_beside_its_metric(folder, also, metrics):
    text = GOOD.replace("[method]", f"also = {also}\n\n[method]")
    assert _study(folder, text).objective.also == metrics


@pytest.mark.parametrize(
    ("metric", "rate", "second"),
    [
        ("latency_p99_s", "", "cpu_s_per_request"),
        ("cpu_s_per_request", "", "throughput_per_s"),
        ("cpu_s_per_request", 'rate = "50/s"\n', ""),
    ],
)
def test_a_study_has_its_second_metric_before_anything_is_measured(folder, metric, rate, second):
    text = GOOD.replace("latency_p99_s", metric).replace("keep_alive = false\n", rate)
    assert _study(folder, text).objective.second_metric == second
    named = text.replace("[method]", 'tie_breaker = "latency_p50_s"\n\n[method]')
    assert _study(folder, named).objective.second_metric == "latency_p50_s"


def test_a_knob_without_levels_is_none_of_a_factorials_and_a_tie_breaker_may_decide(folder):
    text = GOOD.replace("levels = [2, 4]", "levels = [4]").replace("[1.5, 1.1]", "[1.5]")
    text = text.replace('window = "500ms"', 'kind = "factorial"')
    text = text.replace("[objective]", '[objective]\ntie_breaker = "cpu_s_per_request"')
    aside = '[[knobs]]\nname = "path"\nof = "load"\nstart = "/list"\n\n[workload]'
    study = _study(folder, text.replace("[workload]", aside))
    assert len(study.knobs) == 3
    assert len(factorial_arms(study)) == 4
    assert study.objective.tie_breaker == "cpu_s_per_request"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("connections = 5", 'connections = "five"', "workload.connections is 'five'; expected"),
        ("connections = 5", "connections = 0", "workload.connections is 0; expected 1 to 1000000"),
        ("connections = 5", "conections = 5", "workload.conections is not a key that there is"),
        (
            "connections = 5",
            f"connections = {2**63}",
            "workload.connections is 92233720",
        ),
        (
            "book_ratio = [1.5, 1.1]",
            "book_ratio = [1.5, nan]",
            "book_ratio[1] is nan; expected",
        ),
        ("levels = [2, 4]", "levels = [2, inf]", "knobs[0].levels[1] is inf; expected a finite"),
        ('timeout = "2s"', f'timeout = "{"9" * 400}s"', "workload.timeout is '999"),
        ('base = "server.conf.j2"', 'base = "a\\u0000b"', "server.base holds a NUL"),
        ('base = "server.conf.j2"', f'base = "{"x" * 5000}"', "server.base is 'xxx"),
        ('path = "/list"', f'path = "/"\nbody = "@{"x" * 5000}"', "requests[0].body is '@xxx"),
        ('path = "/list"', 'path = "/"\n[workload.x]', "workload.x is not a key"),
        ('base = "server.conf.j2"', 'ready_path = "/é"', "server.ready_path is '/é'; expected a"),
        ('timeout = "2s"', 'timeout = "2"', "workload.timeout is '2'; expected a time"),
        ("connections = 5", 'may_differ = ["[0"]', "workload.may_differ[0] is '[0'; expected a"),
        ("connections = 5", 'may_differ = ["x", "a*"]', "that does not fit an empty text"),
        ("connections = 5", f'may_differ = ["{"a" * 501}"]', "expected at most 500 characters"),
        ("connections = 5", 'count_header = "X Cache"', "count_header is 'X Cache'; expected"),
        ('time = "1m30s"', 'time = "0s"', "budget.time is '0s'; expected more than zero"),
        ("levels = [2, 4]", "levels = [2, 4000]", "(workers) is 4000; expected at most 1000"),
        ("levels = [2, 4]", 'levels = ["2"]', "levels is ['2']; expected the type of 1"),
        ("levels = [2, 4]", "levels = [1]", "levels is [1]; expected levels other than the start"),
        ("book_ratio = [1.5, 1.1]", "book_ratio = [1.5]", "expected one for each level"),
        ('path = "/list"', 'path = "list"', "requests[0].path is 'list'; expected a path from"),
        (
            'metric = "latency_p99_s"',
            'metric = "latency_p99_s"\nalso = ["speed"]',
            "objective.also is ['speed']; expected throughput_per_s, usual_throughput_per_s,",
        ),
        (
            'metric = "latency_p99_s"',
            'metric = "latency_p99_s"\nalso = ["p99_s"]',
            "objective.also is ['p99_s']; expected throughput_per_s",
        ),
        ('metric = "latency_p99_s"', 'metric = "speed"', "objective.metric is 'speed'; expected"),
        ('max_p99 = "200ms"', 'tie_breaker = "x"', "objective.tie_breaker is 'x'; expected"),
        ('max_p99 = "200ms"', 'max_memory = "much"', "objective.max_memory is 'much'; expected a"),
        (
            'max_p99 = "200ms"',
            'tie_breaker = "latency_p99_s"',
            "objective.tie_breaker is 'latency_p99_s'; expected another than the metric",
        ),
        (
            'max_p99 = "200ms"\n\n[method]',
            'tie_breaker = "pss_bytes"\n\n[method]\nkind = "sweep"\nknob = "workers"',
            "objective.tie_breaker is 'pss_bytes'; expected none in a sweep",
        ),
        (
            'window = "500ms"',
            'kind = "factorial"',
            "expected one level beside the start, of a factorial",
        ),
        ("format = 1", "format = 3", "format is 3; invalid enum value"),
        ('base = "server.conf.j2"', 'base = "gone.conf"', "server.base is 'gone.conf'; expected a"),
        ('name = "debug"', 'name = "workers"', "expected a name that is not set twice"),
        ('window = "500ms"', "min_starts = 5", "method.min_starts is 5; expected at least 6"),
        ('window = "500ms"', 'kind = "sweep"\nknob = "x"', "method.knob is 'x'; expected the knob"),
    ],
)
def test_a_wrong_value_is_named_with_file_key_value_and_expectation(folder, before, after, said):
    assert before in GOOD
    with pytest.raises(StudyFileError) as caught:
        _study(folder, GOOD.replace(before, after))
    assert said in str(caught.value)
    assert "study.toml" in str(caught.value)


def test_a_log_that_cannot_be_one_is_named(folder):
    at, end = GOOD.index("[workload]"), GOOD.index("[objective]")
    text = f'{GOOD[:at]}[workload]\nreplay = "{"x" * 5000}"\n{GOOD[end:]}'
    with pytest.raises(StudyFileError, match=r"workload\.replay is 'xxx"):
        _study(folder, text)


@pytest.mark.parametrize(
    ("before", "after", "nearest"),
    [
        ("connections = 5", "conections = 5", "connections"),
        ("[budget]", "[bugdet]", "budget"),
        ("book_ratio", "book_raito", "book_ratio"),
        ('path = "/list"', 'pth = "/list"', "path"),
        ('adapter = "fake"', 'adapter = "fake"\n[[server.files]]\nform = "a"', "from"),
    ],
)
def test_an_unknown_key_names_the_nearest_one_of_its_table(folder, before, after, nearest):
    with pytest.raises(StudyFileError, match="is not a key that there is") as caught:
        _study(folder, GOOD.replace(before, after))
    assert caught.value.hint == f"did you mean `{nearest}`?"


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"a = " + b"9" * 5000, b"a = " + b"[" * 100_000, b"a." * 50_000 + b"b = 1", b"\0"],
    ids=["bytes", "digits", "lists", "dots", "NUL"],
)
def test_what_no_study_can_be_is_one_sentence(folder, content):
    (folder / "study.toml").write_bytes(content)
    with pytest.raises(StudyFileError, match=r"study\.toml`"):
        load_study(folder, lambda _adapter: INFOS)


@pytest.mark.parametrize("path", ["/dev/zero", "a\0b", "x" * 5000, "fifo"])
def test_what_is_no_file_is_not_read(folder, path):
    os.mkfifo(folder / "fifo")
    with pytest.raises(StudyFileError, match="cannot be read"):
        load_study(folder / path, lambda _adapter: INFOS)


def test_a_byte_order_mark_is_skipped(folder):
    (folder / "study.toml").write_text(f"\ufeff{GOOD}", encoding="utf-8")
    assert load_study(folder, lambda _adapter: INFOS) == _study(folder)


def test_what_is_not_toml_or_not_there_is_said(folder):
    (folder / "study.toml").write_text("name = ", encoding="utf-8")
    with pytest.raises(StudyFileError, match="is not TOML"):
        load_study(folder, lambda _adapter: INFOS)
    with pytest.raises(StudyFileError, match="cannot be read"):
        load_study(folder / "other.toml", lambda _adapter: INFOS)


def test_a_configuration_is_the_start_with_some_values_changed(folder):
    study = _study(folder)
    assert configuration_from("workers=4, debug=false", study).values == {
        "workers": 4,
        "debug": False,
    }
    assert configuration_from("", study) == study.start_configuration()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threads=4", "`threads=4` sets no knob of study shop"),
        (f"workers={2**70}", "expected a number of at most 64 bits"),
        (f"workers={'9' * 5000}", "expected a number"),
        ("workers", "`workers` sets no knob"),
        ("workers=many", "knob workers is `many`; expected a number"),
        ("debug=1", "knob debug is `1`; expected true or false"),
    ],
)
def test_an_assignment_that_makes_no_sense_is_refused(folder, text, said):
    with pytest.raises(UsageError) as caught:
        configuration_from(text, _study(folder))
    assert said in str(caught.value)
