"""Knobs of the load in study files, and the workloads that they make."""

import tomllib

import pytest
from tests.study.test_file import GOOD, INFOS

from httpdyno.errors import StudyFileError
from httpdyno.model import Configuration, SlowUsers
from httpdyno.study.file import study_from

KNOB = """[[knobs]]
name = "{name}"
of = "load"
start = {start}
levels = {levels}

[workload]"""
PAGE = GOOD.replace('path = "/list"', 'path = "/list"\nobjects = ["/a.css", "/b.css", "/c.css"]')
SLOW = GOOD.replace("[[workload", 'slow = "28.8kbit:20%"\nslow_buffer = "8KiB"\n\n[[workload')


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "server.conf.j2").write_text("Debug {{ knob.debug }}\n", encoding="utf-8")
    return tmp_path


def study(folder, name, start, levels, text=GOOD):
    knob = KNOB.format(name=name, start=start, levels=levels)
    text = text.replace("[workload]", knob)
    return study_from(tomllib.loads(text), folder / "study.toml", lambda _adapter: INFOS)


@pytest.mark.parametrize(
    ("name", "start", "level", "what"),
    [
        ("connections", "5", "50", lambda load: load.connections),
        ("path", '"/list"', '"/other"', lambda load: load.requests[0].path),
        ("requests_per_connection", "1", "0", lambda load: load.requests_per_connection),
        ("slow", '"none"', '"28.8kbit:20%"', lambda load: load.slow),
        ("headers.accept", '"text/html"', '""', lambda load: load.requests[0].headers),
        ("headers.Cookie", '""', '"a=b"', lambda load: load.requests[0].headers),
    ],
)
def test_each_sets_its_part_of_the_load_and_the_server_never_hears_of_it(
    folder, name, start, level, what
):
    found = study(folder, name, start, f"[{level}]")
    first = found.start_configuration()
    other = first.replaced(name, found.knob(name).levels[0])
    assert what(found.load_of(first)) != what(found.load_of(other))
    for each in (first, other):
        assert found.of_server(each) == Configuration(values={"workers": 1, "debug": True})


def test_a_header_is_replaced_whatever_its_case_and_left_out_where_it_is_empty(folder):
    found = study(folder, "headers.accept", '"text/plain"', '[""]')
    first = found.start_configuration()
    assert found.load_of(first).requests[0].headers == (("accept", "text/plain"),)
    assert found.load_of(first.replaced("headers.accept", "")).requests[0].headers == ()


def test_a_line_is_written_as_in_the_workload_and_keeps_its_buffer(folder):
    found = study(folder, "slow", '"28.8kbit:20%"', '["1Mbit", "none"]', SLOW)
    first = found.start_configuration()
    assert found.load_of(first) == found.workload
    assert found.load_of(first.replaced("slow", "none")).slow is None
    assert found.load_of(first.replaced("slow", "1Mbit")).slow == SlowUsers(
        ratio=1.0, bytes_per_s=125_000.0, receive_buffer_bytes=8192
    )


def test_a_buffer_is_that_of_the_line_whichever_knob_comes_first(folder):
    buffer = KNOB.format(name="slow_buffer", start='"4KiB"', levels='["64KiB"]')
    text = GOOD.replace("[workload]", buffer)
    found = study(folder, "slow", '"none"', '["1Mbit:50%"]', text)
    wide = found.start_configuration().replaced("slow_buffer", "64KiB")
    assert [*wide.values][-2:] == ["slow_buffer", "slow"]
    assert found.load_of(wide).slow is None
    assert found.load_of(wide.replaced("slow", "1Mbit:50%")).slow == SlowUsers(
        ratio=0.5, bytes_per_s=125_000.0, receive_buffer_bytes=65_536
    )


@pytest.mark.parametrize("n", [0, 2, 3])
def test_a_page_has_the_first_of_its_objects_and_each_request_keeps_its_place(folder, n):
    found = study(folder, "objects", "2", "[0, 3]", PAGE)
    load = found.load_of(found.start_configuration().replaced("objects", n))
    paths = ["/list", "/a.css", "/b.css", "/c.css"]
    assert [each.path for each in load.asked] == paths[: n + 1]
    assert load.has_pages == (n > 0)
    assert [each.path for each in load.requests] == paths


def test_a_study_without_them_has_one_load_and_whole_configurations(folder):
    found = study_from(tomllib.loads(GOOD), folder / "study.toml", lambda _adapter: INFOS)
    start = found.start_configuration()
    assert found.of_server(start) is start
    assert found.load_of(start) == found.workload


@pytest.mark.parametrize(
    ("name", "start", "levels", "words"),
    [
        ("workers2", "1", "[2]", "connections, path"),
        ("headers.", '""', '["a"]', "connections, path"),
        ("connections", "5", "[0]", "at least 1"),
        ("path", '"/list"', '["no path"]', "workload that can be"),
        ("objects", "1", "[0]", "a workload of one page"),
        ("slow", '"none"', '["modem"]', "`modem` is not a bandwidth"),
        ("slow", '"none"', '["1Mbit:0%"]', "slows nobody"),
        ("slow", '"none"', '["1Mbit:120%"]', r"`slow\.ratio` is 1\.2"),
        ("slow_buffer", '"4KiB"', '["8KiB"]', "in which some are `slow`"),
    ],
)
def test_what_cannot_be_set_is_refused_by_name(folder, name, start, levels, words):
    with pytest.raises(StudyFileError, match=words):
        study(folder, name, start, levels)


@pytest.mark.parametrize(
    ("text", "knob", "words"),
    [
        (PAGE, ("objects", "3", "[4]"), "a page of 4 objects, of which 3 are listed"),
        (PAGE, ("objects", "5", "[3]"), "a page of 5 objects, of which 3 are listed"),
        (SLOW, ("slow_buffer", '"8KiB"', '["0"]'), "`0` is no buffer"),
    ],
)
def test_what_the_workload_has_not_is_refused(folder, text, knob, words):
    name, start, levels = knob
    with pytest.raises(StudyFileError, match=words):
        study(folder, name, start, levels, text)


@pytest.mark.parametrize(
    ("text", "metric", "knob"),
    [
        (PAGE, "page_p90_s", ("objects", "3", "[0]")),
        (SLOW, "usual_p50_s", ("slow", '"28.8kbit:20%"', '["none"]')),
    ],
)
def test_a_level_without_a_figure_of_what_decides_is_refused(folder, text, metric, knob):
    name, start, levels = knob
    study(folder, name, start, levels, text)
    text = text.replace("latency_p99_s", metric)
    with pytest.raises(StudyFileError, match=f"it has no {metric}"):
        study(folder, name, start, levels, text)


def test_a_candidate_whose_load_cannot_be_is_refused_by_name(folder):
    def with_candidate(path):
        candidate = f'[[candidates]]\nname = "other"\nset = {{ path = "{path}" }}\n\n[objective]'
        text = GOOD.replace("format = 1", "format = 2").replace("[objective]", candidate)
        return study(folder, "path", '"/list"', "[]", text)

    assert with_candidate("/other").candidates
    with pytest.raises(StudyFileError, match=r"\(other\).set is .* a workload that can be"):
        with_candidate("other")


def test_a_path_is_that_of_one_request(folder):
    text = GOOD.replace("[objective]", '[[workload.requests]]\npath = "/more"\n\n[objective]')
    with pytest.raises(StudyFileError, match="a workload of one request"):
        study(folder, "path", '"/list"', '["/other"]', text)
