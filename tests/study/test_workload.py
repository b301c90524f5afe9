"""The `[workload]` table of a study file."""

import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from tests.rows import each_row

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.load.setting import WorkloadTable
from httpdyno.metrics import sources
from httpdyno.model import (
    Method,
    Objective,
    Poisson,
    Replay,
    RequestSpec,
    Sessions,
    Stages,
    TlsSpec,
    VisitStep,
    Workload,
)
from httpdyno.study.objective import metrics_of, metrics_text, with_also
from httpdyno.study.schema import study_schema
from httpdyno.study.workload import (
    check_windows,
    counted_header,
    encrypted,
    form_body,
    study_workload,
)


def wrong(key: str, value: object, expected: str) -> StudyFileError:
    return StudyFileError(f"{key} is {value!r}; expected {expected}")


def read(folder: Path, text: str) -> Workload:
    table = msgspec.convert(tomllib.loads(text), WorkloadTable)
    return study_workload(table, folder / "study.toml", wrong)


def test_a_study_says_all_that_the_command_line_does(tmp_path):
    seen = read(
        tmp_path,
        """
        sessions = "20/s"
        visit = 5
        think = "2s"
        cookies = true
        new_users = "30%"
        users = 100
        slow = "28.8kbit:20%"
        timeout = "5s"
        """,
    )
    assert isinstance(seen.arrival, Sessions)
    assert seen.users.visit.is_geometric
    assert (seen.users.new_ratio, seen.users.n_returning) == (0.3, 100)
    assert seen.slow is not None
    assert read(tmp_path, 'rate = "5/s"\npoisson = true').arrival == Poisson(rate_per_s=5.0)


@each_row(
    ("name", "workload", "said"),
    [
        ("X Cache", Workload(), "expected the name of a header"),
        ("X-Cache:", Workload(), "expected the name of a header"),
        ("X-Cache", Workload(tls=TlsSpec()), "expected none where clients speak TLS"),
        ("X-Cache", Workload(arrival=Replay(log="a")), "expected none beside a replayed log"),
    ],
)
def test_a_header_that_nobody_could_count_is_refused(name, workload, said):
    with pytest.raises(StudyFileError, match=said):
        counted_header(WorkloadTable(count_header=name), workload, wrong)


def test_a_header_is_counted_that_is_named():
    assert counted_header(WorkloadTable(count_header="X-Cache"), Workload(), wrong) == "X-Cache"
    assert counted_header(WorkloadTable(), Workload(tls=TlsSpec()), wrong) == ""


def test_requests_have_names_and_metrics_of_their_own(tmp_path):
    text = '[[requests]]\nname = "list"\nobjects = ["/a.css"]\n[[requests]]\nname = "search"\n'
    seen = read(tmp_path, text)
    assert [each.name for each in seen.requests] == ["list", "", "search"]
    assert "latency_p999_s of search" in metrics_of(seen)
    objective = with_also(Objective(), ["p90_s of search"], seen)
    assert objective.also == ("latency_p90_s of search",)
    with pytest.raises(UsageError, match="`p90_s of find` cannot be told"):
        with_also(Objective(), ["p90_s of find"], seen)


def test_system_calls_have_a_metric_for_each_kind_and_a_word_for_all(tmp_path):
    workload = read(tmp_path, "")
    metrics = metrics_of(workload)
    assert {"calls_per_request", "calls_per_request of open"} < {*metrics}
    assert metrics_text(metrics).endswith(", calls_per_request of KIND")
    objective = with_also(Objective(), ["calls_per_request of missing"], workload)
    assert "system calls" in sources(objective.named)
    assert sources(Objective().named) == {"windows"}
    with pytest.raises(UsageError, match="`calls_per_request of opne` cannot be told"):
        with_also(Objective(), ["calls_per_request of opne"], workload)


def test_system_calls_of_a_log_cannot_be_asked_for():
    log = Workload(requests=(), arrival=Replay(log="access.log"))
    objective = Objective(also=("calls_per_request of open",))
    with pytest.raises(StudyFileError, match="are not sent twice"):
        check_windows(log, Method(), objective, wrong)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[requests]]\nname = "a b"', "expected a word of its own"),
        ('[[requests]]\nname = "a"\n[[requests]]\nname = "a"', "expected a word of its own"),
        ("[[requests]]\n" * 64 + '[[requests]]\nname = "a"', "none beyond request 64"),
    ],
)
def test_a_name_that_says_nothing_of_one_request_is_refused(tmp_path, text, words):
    with pytest.raises(StudyFileError, match=rf"requests\[\d+\].name is .*{words}"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("metric", "text", "words"),
    [
        ("page_p90_s", "", "requests with `objects`"),
        ("usual_p50_s", "", "some are `slow`"),
        ("slow_p90_s", "", "some are `slow`"),
        ("usual_throughput_per_s", "", "some are `slow`"),
        ("slow_throughput_per_s", "", "some are `slow`"),
        ("usual_p50_s", 'slow = "1Mbit:100%"', "in which some are not `slow`"),
        ("usual_throughput_per_s", 'slow = "1Mbit"', "in which some are not `slow`"),
        ("slow_p50_s", 'slow = "1Mbit:10%"\nconnections = 9', "10 % of 9 connections are none"),
        (
            "usual_throughput_per_s",
            'rate = "5/s"\nslow = "28.8kbit:20%"',
            "the schedule of the workload decides the throughput",
        ),
    ],
)
def test_an_objective_is_about_what_the_workload_has(tmp_path, metric, text, words):
    workload = read(tmp_path, text)
    with pytest.raises(StudyFileError, match=words):
        check_windows(workload, Method(), Objective(metric=metric), wrong)
    has_all = 'slow = "1Mbit:50%"\n[[requests]]\npath = "/a"\nobjects = ["/b"]'
    check_windows(read(tmp_path, has_all), Method(), Objective(metric=metric), wrong)


def encrypted_by(text: str, *, is_tls: bool) -> Workload:
    table = msgspec.convert(tomllib.loads(text), WorkloadTable)
    workload = study_workload(table, Path("study.toml"), wrong)
    return encrypted(workload, table, wrong, is_tls=is_tls)


def test_clients_of_a_server_with_tls_speak_it_whatever_certificate_it_shows():
    assert encrypted_by("", is_tls=False).tls is None
    assert encrypted_by("", is_tls=True).tls == TlsSpec(server_name="localhost", is_verified=False)
    asked = encrypted_by('tls_version = "1.2"\ntls_resumption = false', is_tls=True).tls
    assert asked is not None
    assert (asked.versions, asked.resumes, asked.is_verified) == ("1.2", False, False)


def test_handshakes_are_a_metric_where_there_are_any():
    objective = Objective(metric="handshakes_full_per_request")
    with pytest.raises(StudyFileError, match=r"expected a workload over TLS"):
        check_windows(encrypted_by("", is_tls=False), Method(), objective, wrong)
    check_windows(encrypted_by("", is_tls=True), Method(), objective, wrong)


@pytest.mark.parametrize("text", ['tls_version = "1.3"', "tls_resumption = true"])
def test_how_tls_is_spoken_is_nothing_to_a_server_without(text):
    with pytest.raises(StudyFileError, match=r"server\.tls = true"):
        encrypted_by(text, is_tls=False)


def test_keep_alive_is_said_as_before(tmp_path):
    assert read(tmp_path, "keep_alive = false").requests_per_connection == 1
    assert read(tmp_path, "").requests_per_connection == 0


def test_requests_are_sent_in_turn_unless_they_have_weights(tmp_path):
    in_turn = read(tmp_path, "[[requests]]\npath = '/a'\n[[requests]]\npath = '/b'")
    assert in_turn.steps == ()
    assert [each.path for each in in_turn.requests] == ["/a", "/b"]
    weighted = read(
        tmp_path, "[[requests]]\npath = '/a'\nweight = 8\n[[requests]]\npath = '/b'\nweight = 0.5"
    )
    assert weighted.steps == (VisitStep(request=0, weight=8.0), VisitStep(request=1, weight=0.5))


def test_a_request_with_objects_is_a_page(tmp_path):
    page = read(
        tmp_path,
        """
        page_connections = 2
        [[requests]]
        path = "/index.html"
        headers = { Accept = "text/html", Content-Type = "x" }
        objects = ["/a.css", "/b.js"]
        [[requests]]
        path = "/other"
        headers = { Accept = "text/html" }
        objects = ["/a.css"]
        """,
    )
    assert page.steps == (VisitStep(request=0, objects=(1, 2)), VisitStep(request=3, objects=(1,)))
    assert page.requests[1] == RequestSpec(path="/a.css", headers=(("Accept", "text/html"),))
    assert len(page.requests) == 4
    assert page.connections_per_page == 2
    assert page.has_pages


def test_files_are_found_beside_the_study(tmp_path):
    (tmp_path / "login.json").write_text("{}")
    (tmp_path / "access.log").write_text("")
    [request] = read(tmp_path, "[[requests]]\nmethod = 'POST'\nbody = '@login.json'").requests
    assert (request.body, request.body_file) == ("", str(tmp_path / "login.json"))
    replay = read(tmp_path, "replay = 'access.log'\nspeed = '4x'")
    assert replay.arrival == Replay(log=str(tmp_path / "access.log"), speed=4.0)
    assert replay.requests == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rate = '0'", "workload.rate is '0'; expected a rate above zero"),
        ("poisson = true", "workload.poisson = true needs a rate"),
        ("rate = '5/s'\nthink = '2s'", "workload.think = '2s' does nothing where requests come"),
        ("new_users = '5%'", "workload.new_users = '5%' does nothing without workload.cookies"),
        ("keep_alive = false\nrequests_per_connection = 4", "workload.keep_alive = false and"),
        ("replay = 'none.log'", "workload.replay is 'none.log'; expected an access log in"),
        ("replay = 'x'\n[[requests]]\npath = '/a'", "expected no workload.requests"),
        ("requests = []", "workload.requests is []; expected at least one request"),
        ("[[requests]]\npath = 'a'", "workload.requests[0].path is 'a'; expected a path"),
        ("[[requests]]\nobjects = ['a']", "workload.requests[0].objects is 'a'; expected paths"),
        ("[[requests]]\nweight = -1", "workload.requests[0].weight is -1.0; expected 0 or more"),
        ("[[requests]]\nweight = 0", "expected at least one weight above 0"),
        ("[[requests]]\nbody = '@none'", "workload.requests[0].body is '@none'; expected the name"),
    ],
)
def test_what_makes_no_sense_is_named_by_its_key(tmp_path, text, sentence):
    with pytest.raises(StudyFileError) as caught:
        read(tmp_path, text)
    assert sentence in str(caught.value)


def check(workload, *, window_s=0.25, lead_in_s=0.1, metric="latency_p99_s", tie_breaker=""):
    method = Method(window_s=window_s, lead_in_s=lead_in_s)
    check_windows(workload, method, Objective(metric=metric, tie_breaker=tie_breaker), wrong)


def test_stages_must_fit_into_a_window(tmp_path):
    ramp = read(tmp_path, "stages = '10s: 0/s..50/s'")
    assert isinstance(ramp.arrival, Stages)
    check(ramp, window_s=10.0)
    with pytest.raises(StudyFileError, match=r"method\.window is '0\.25s'; expected the 10 s"):
        check(ramp)
    check(read(tmp_path, "sessions = '10s: 5/s'"))


def test_visits_must_fit_into_the_lead_in(tmp_path):
    visits = read(tmp_path, "sessions = '10s: 5/s'\nvisit_exactly = 5\nthink = '2s'")
    check(visits, lead_in_s=8.0)
    with pytest.raises(StudyFileError, match=r"method\.lead_in is '0\.1s'; expected .* 8 s of"):
        check(visits)


@pytest.mark.parametrize("arrival", ["rate = '50/s'", "sessions = '10s: 5/s'"])
@pytest.mark.parametrize("key", ["metric", "tie_breaker"])
def test_a_throughput_that_the_schedule_decides_decides_nothing(tmp_path, arrival, key):
    with pytest.raises(StudyFileError, match=rf"objective\.{key} is 'throughput_per_s'"):
        check(read(tmp_path, arrival), **{key: "throughput_per_s"})
    check(read(tmp_path, arrival), metric="latency_p99_s", tie_breaker="cpu_s_per_request")
    check(read(tmp_path, ""), metric="throughput_per_s")


def test_the_schema_for_editors_knows_every_setting():
    definitions = study_schema()["$defs"]
    assert set(definitions["WorkloadTable"]["properties"]) == set(WorkloadTable.__struct_fields__)
    assert {"weight", "objects"} <= set(definitions["RequestTable"]["properties"])


def test_a_body_goes_as_a_form_unless_the_study_says_what_it_is(tmp_path):
    form = ("Content-Type", "application/x-www-form-urlencoded")
    (tmp_path / "form.txt").write_text("a=1")
    for body in ("a=1", "@form.txt"):
        [request] = read(tmp_path, f"[[requests]]\nmethod = 'POST'\nbody = '{body}'").requests
        assert request.headers == (form,)
    [typed] = read(
        tmp_path, "[[requests]]\nbody = '{}'\nheaders = { content-type = 'application/json' }"
    ).requests
    assert typed.headers == (("content-type", "application/json"),)
    [bare] = read(tmp_path, "[[requests]]\npath = '/'").requests
    assert bare.headers == ()


def test_a_login_is_three_lines_of_a_study(tmp_path):
    workload = read(
        tmp_path,
        """
        first = [{ path = "/login", form = { name = "user{user}" }, expect_status = 302 }]
        order = "given"
        requests = [{ path = "/a" }, { path = "/b", expect_status = 404 }]
        """,
    )
    [login] = workload.first
    assert (login.method, login.body, login.expect_status) == ("POST", "name=user{user}", 302)
    assert ("Content-Type", "application/x-www-form-urlencoded") in login.headers
    assert workload.users.has_cookies
    assert (workload.order, workload.users.visit.mean_steps) == ("given", 2)
    assert [each.expect_status for each in workload.requests] == [200, 404]


@each_row(
    ("fields", "body"),
    [
        ({"name": "user{user}", "n": "{n}"}, "name=user{user}&n={n}"),
        ({"a b": "ü&="}, "a+b=%C3%BC%26%3D"),
        ({"x": "{other} {{n}}"}, "x=%7Bother%7D+%7Bn%7D"),
    ],
)
def test_a_form_is_sent_as_browsers_do(fields, body):
    assert form_body(fields) == body


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ('path = "login"', "workload.first[0].path"),
        ('form = { a = "b" }, body = "c"', "workload.first[0].form"),
        ('form = { a = "b" }, method = "GET"', "workload.first[0].method"),
        ('body = "@gone.json"', "workload.first[0].body"),
    ],
)
def test_what_makes_no_sense_of_a_first_step_is_named(entry, key, tmp_path):
    with pytest.raises(StudyFileError, match=re.escape(key)):
        read(tmp_path, f"first = [{{ {entry} }}]")
