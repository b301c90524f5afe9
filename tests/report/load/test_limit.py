"""Who was the limit, in words, and what to doubt of a test."""

import pytest
from msgspec import structs
from tests.report.page import shown
from tests.report.plain import plain_text
from tests.report.sample_load import CLOSED, OPEN, load_measurement, load_outcome, shop
from tests.rows import each_row

from httpdyno.advice.bottleneck import bottleneck, of_the_server
from httpdyno.model import (
    Behind,
    Evidence,
    LoadOutcome,
    Look,
    Measurement,
    Replay,
    ReplayedLog,
    Think,
    Users,
    VisitStep,
    Workload,
)
from httpdyno.reason import because
from httpdyno.report.load.caveat import load_caveats
from httpdyno.report.load.json import load_json
from httpdyno.report.load.page import load_html
from httpdyno.report.load.text import load_text
from httpdyno.report.load.verdict import evidence_rows, limit_text, server_rows

KINDS = (
    *("server", "server_or_connections", "rate", "client_cpu", "client_schedule", "connections"),
    *("machine_cpu", "descriptors", "ports", "network"),
)


def limited(by: str, **evidence: float) -> Measurement:
    return structs.replace(load_measurement(), limited_by=by, evidence=Evidence(**evidence))


@each_row(
    ("by", "workload", "evidence", "text"),
    [
        (
            "server",
            CLOSED,
            {"busy_connections": 49.2, "client_cpu_ratio": 0.31},
            "the server: 49.2 of 50 connections waited for it on average, while this client used "
            "31 % of a core",
        ),
        (
            "server",
            structs.replace(CLOSED, steps=(VisitStep(request=0, objects=(0, 0)),)),
            {"busy_connections": 61.4, "client_cpu_ratio": 0.31},
            "the server: 61.4 connections of 50 users waited for it on average, while this client "
            "used 31 % of a core",
        ),
        (
            "server",
            OPEN,
            {
                "waited_requests": 700.0,
                "service_inflation_ratio": 4.06,
                "offered_per_s": 500.0,
                "achieved_per_s": 410.0,
                "client_cpu_ratio": 0.05,
            },
            "the server: 700 requests waited because no connection was free, it answered 82 % of "
            "what was offered, its answers took 4.1 times as long as the first ones, this client "
            "used 5 % of a core",
        ),
        (
            "server_or_connections",
            CLOSED,
            {"busy_connections": 49.2},
            "the server or the number of connections: 49.2 of 50 connections waited for an answer "
            "on average; whether for each other in the server cannot be told: try more with `-c`",
        ),
        (
            "rate",
            OPEN,
            {"lateness_p99_s": 0.000048},
            "the load that was asked for: the server kept up and this client had CPU to spare; "
            "99 % went out within 48.0 µs of their due time",
        ),
        (
            "rate",
            structs.replace(CLOSED, users=Users(think=Think(mean_s=1.0))),
            {"busy_ratio": 0.12},
            "the load that was asked for: users paused for longer than they waited; 12 % of the "
            "connections were busy",
        ),
        (
            "rate",
            CLOSED,
            {"busy_ratio": 0.2},
            "the load that was asked for: requests were few for so many connections; 20 % of the "
            "connections were busy",
        ),
        (
            "client_cpu",
            OPEN,
            {
                "client_cpu_ratio": 0.6,
                "client_wait_ratio": 0.38,
                "client_frozen_ratio": 0.12,
                "idle_cpu_ratio": 1.3,
            },
            "this client's CPU: its busiest thread used 60 % of a core, waited for a CPU for 38 % "
            "of the time and was suspended for 12 %, so the server could do more than "
            "this shows; use more `--threads`, or load from another machine",
        ),
        (
            "client_cpu",
            CLOSED,
            {"client_cpu_ratio": 0.4, "client_wait_ratio": 0.3, "client_ready_ratio": 0.81},
            "this client's CPU: its busiest thread used 40 % of a core, waited for a CPU for 30 % "
            "of the time and found 81 % of the answers already waiting, so the server "
            "could do more than this shows; load from another machine",
        ),
        (
            "client_cpu",
            CLOSED,
            {"client_cpu_ratio": 0.71, "client_stolen_ratio": 0.22},
            "this client's CPU: its busiest thread used 71 % of a core and had its CPU taken by "
            "the machine's host for 22 % of the time, so the server could do more than this shows; "
            "load from another machine",
        ),
        (
            "machine_cpu",
            CLOSED,
            {
                "client_cpu_ratio": 0.023,
                "client_wait_ratio": 0.38,
                "others_cpu_ratio": 1.7,
                "idle_cpu_ratio": 0.2,
            },
            "this machine's CPUs: others, perhaps the server, used 1.7 of 2 cores, and this client "
            "waited for one for 38 % of the time; load from another machine, or when this one is "
            "idle",
        ),
        (
            "server_or_connections",
            OPEN,
            {"waited_requests": 1530.0},
            "the server or the number of connections: 1,530 requests waited for a free one of 50, "
            "whether for each other in the server cannot be told: try more with `-c`",
        ),
        (
            "rate",
            OPEN,
            {"offered_per_s": 100.0, "achieved_per_s": 80.0, "lateness_p99_s": 0.02},
            "the load that was asked for: 80 % was answered in time, and no more slowly "
            "than at first",
        ),
        (
            "client_schedule",
            OPEN,
            {"late_requests": 136.0, "client_cpu_ratio": 0.017},
            "this client's schedule: 136 requests went out over 1 ms late though a connection was "
            "free, and the CPU was not short (1.7 % of a core): something else kept it from "
            "running",
        ),
        (
            "connections",
            OPEN,
            {"waited_requests": 3000.0},
            "the number of connections: 3,000 requests waited for a free one of 50, while the "
            "server answered about as fast as it ever did; allow more with `-c`",
        ),
        (
            "connections",
            CLOSED,
            {"busy_connections": 49.7},
            "the number of connections: 49.7 of 50 connections waited for an answer on average, "
            "but not for each other in the server: more connections (`-c`) may give more "
            "throughput",
        ),
        (
            "descriptors",
            OPEN,
            {"no_descriptors": 12.0},
            "this client's limit of open files: 12 requests found none left; raise it with "
            "`ulimit -n`",
        ),
        (
            "ports",
            OPEN,
            {"no_ports": 1.0},
            "this client's local ports: 1 request found none left; keep connections alive, or "
            "widen `net.ipv4.ip_local_port_range`",
        ),
        (
            "network",
            CLOSED,
            {
                "unanswered_connect_ratio": 0.83,
                "listen_overflows": 1204.0,
                "syn_retransmits": 611.0,
                "tcp_retransmits": 0.0,
            },
            "the network stack: 83 % of the time went into SYNs without an answer; on this machine "
            "1,204 connections found a full accept queue and 611 SYNs were sent again",
        ),
    ],
)
def test_who_was_the_limit_is_said_with_its_evidence(
    by: str, workload: Workload, evidence: dict[str, float], text: str
) -> None:
    assert limit_text(limited(by, **evidence), workload) == text


@pytest.mark.parametrize("by", KINDS)
@pytest.mark.parametrize("workload", [CLOSED, OPEN])
def test_each_limit_has_words_even_without_any_evidence(by: str, workload: Workload) -> None:
    text = limit_text(limited(by), workload)
    assert text.startswith(("the ", "this client's ", "this machine's "))
    assert by not in text.split(":")[0] or "_" not in by


def test_a_limit_that_is_not_known_yet_is_named_all_the_same() -> None:
    assert limit_text(limited("disk_space"), CLOSED) == "disk space"
    assert limit_text(limited(""), CLOSED) == ""


def test_a_server_that_fails_is_the_limit_by_its_failures() -> None:
    measurement = structs.replace(
        load_measurement(completed=900, errors={"reset": 100}),
        limited_by="server",
        evidence=Evidence(client_cpu_ratio=0.02),
    )
    assert limit_text(measurement, OPEN) == (
        "the server: 10 % of the requests failed, while this client used 2 % of a core"
    )


def test_every_figure_of_the_evidence_has_its_unit() -> None:
    evidence = Evidence(
        client_cpu_ratio=0.061,
        service_inflation_ratio=2.2,
        offered_per_s=500.0,
        lateness_p99_s=0.0001,
        late_requests=14_210.0,
        busy_connections=49.23,
    )
    rows = dict(evidence_rows(evidence))
    assert len(rows) == len(structs.fields(Evidence))
    assert (
        rows.items()
        >= {
            "busy connections": "49.2",
            "client cpu": "6.1 %",
            "late requests": "14,210",
            "lateness p99": "100 µs",
            "offered": "500/s",
            "service inflation": "2.20 ×",
        }.items()
    )


@each_row(
    ("kind", "evidence", "figure"),
    [
        ("client_frozen", {"client_frozen_ratio": 0.031}, "3.1 %"),
        ("little", {"little_residual_ratio": 0.034}, "3.4 %"),
        ("shared_cores", {"client_wait_ratio": 0.2}, "20 %"),
        ("stolen", {"client_stolen_ratio": 0.08}, "8 %"),
        ("retries", {"retries": 3.0}, "3 requests"),
        ("surplus", {"surplus_answers": 1.0}, "1 connection"),
        ("lost_cookies", {"lost_cookies": 4.0}, "4 cookies"),
        (
            "unanswered_connects",
            {"unanswered_connect_ratio": 0.12, "listen_overflows": 1500.0},
            "12 % of the time",
        ),
    ],
)
def test_each_doubt_has_its_figure(kind: str, evidence: dict[str, float], figure: str) -> None:
    [caveat] = load_caveats(load_outcome(limited("server", **evidence)))
    assert caveat.kind == kind
    assert figure in caveat.message


def test_a_sound_test_has_no_caveats() -> None:
    sound = {
        "client_frozen_ratio": 0.001,
        "little_residual_ratio": 0.0004,
        "client_wait_ratio": 0.01,
        "client_stolen_ratio": 0.01,
        "retries": 0.0,
        # Of the whole machine: another program's.
        "listen_overflows": 12.0,
        "tcp_retransmits": 40.0,
    }
    assert load_caveats(load_outcome(limited("server", **sound))) == ()


def test_what_a_replay_made_of_its_log_comes_first() -> None:
    workload = structs.replace(shop().workload, arrival=Replay(log="access.log", spread="random"))
    log = ReplayedLog(n_lines=99, n_malformed=2, first_malformed=7, left_out={"POST": 12})
    seen = load_caveats(structs.replace(shop(), workload=workload, log=log))
    assert [each.message for each in seen[:3]] == [
        "requests of the log that were left out: 12 POST; `--replay-methods` sends them",
        "2 of 99 lines of the log could not be read, the first is line 7",
        "the log knows the second only; the requests of one were laid over it at random",
    ]
    assert len(seen) > 3
    whole = structs.replace(
        shop(), workload=workload, log=ReplayedLog(n_lines=9, is_whole_seconds=False)
    )
    assert load_caveats(whole) == seen[3:]


def test_late_requests_are_no_doubt_where_the_server_made_them_wait() -> None:
    late = shop().measurement.lateness
    cases = {"client_schedule": 1, "server": 0, "connections": 0, "server_or_connections": 0}
    for by, n in cases.items():
        measurement = structs.replace(limited(by), lateness=late)
        assert len(load_caveats(load_outcome(measurement, OPEN))) == n


@each_row(
    ("evidence", "workload", "kinds"),
    [
        ({"late_requests": 310.0}, OPEN, ["late"]),
        ({"late_requests": 90.0, "waited_requests": 9.0}, OPEN, []),
        ({"waited_requests": 11.0}, OPEN, ["waited"]),
        ({"waited_requests": 11.0}, CLOSED, []),
    ],
)
def test_a_rate_that_was_kept_says_what_its_latency_has_of_the_clients(evidence, workload, kinds):
    measurement = limited("rate", due_requests=1000.0, **evidence)
    caveats = load_caveats(load_outcome(measurement, workload))
    assert [each.kind for each in caveats] == kinds


LOOK = Look(
    seconds=0.7,
    n_samples=14,
    workers=4.0,
    doing={"disk": 3.5, "running": 0.5},
    cpu_s=0.2,
    cpus=2.0,
    host_cpus=2,
    host_busy=0.5,
    answers=100.0,
    clients=4.0,
    client_limit="server",
)


def told(outcome: LoadOutcome) -> str:
    return " ".join(plain_text(load_text(outcome)).split())


def test_what_limited_the_server_itself_is_in_the_one_verdict():
    outcome = load_outcome(look=LOOK, bottleneck=bottleneck(LOOK))
    words = "a disk; of 4.0 busy workers 3.5 waited for a disk"
    text, page, document = told(outcome), shown(load_html(outcome)), load_json(outcome)
    assert f"limited by the server: {words}" in text
    assert "what limited it" not in text
    assert "(seen in 700 ms more of the same load)" in text
    assert "what may help fewer or later writes, or a faster disk" in text
    assert document["bottleneck"]["advice"]["code"] == "advice.try_writes"
    assert words in " ".join(page.split())
    # At the head, before anything is drawn.
    assert page.index(words) < page.index("[drawing:")
    assert page.count(words) == page.count("waited for it on average") == 1
    assert document["bottleneck"]["limit"] == "disk"
    assert document["bottleneck"]["evidence"]
    assert document["look"]["answers"] == 100.0


def test_cpu_time_of_a_look_says_whose_it_is_without():
    places = (Behind(to="127.0.0.1:5432", by="postgres 812"), Behind(to="10.0.0.5:80"))
    outcome = load_outcome(look=LOOK, bottleneck=bottleneck(LOOK), behind=places)
    words = "without postgres 812 (127.0.0.1:5432), what answers at 10.0.0.5:80"
    assert f"CPU time {words}" in told(outcome)
    assert words in " ".join(shown(load_html(outcome)).split())
    assert [*load_json(outcome)["behind"]] == [
        {"to": "127.0.0.1:5432", "by": "postgres 812"},
        {"to": "10.0.0.5:80", "by": None},
    ]
    assert "CPU time" not in told(load_outcome(look=LOOK, bottleneck=bottleneck(LOOK)))


def test_why_nobody_looked_is_one_line_and_nothing_where_it_goes_without_saying():
    outcome = load_outcome(not_looked=because("errors.says", message="it belongs to root"))
    assert "the server not looked at: it belongs to root" in told(outcome)
    assert "not looked at: it belongs to root" in " ".join(shown(load_html(outcome)).split())
    assert load_json(outcome)["bottleneck"] is None
    assert "not looked at" not in told(load_outcome())


@each_row(
    ("limited_by", "limit", "verdict"),
    [
        ("server", "disk", ("server", "disk")),
        ("server_or_connections", "disk", ("server", "disk")),
        ("server_or_connections", "nothing", ("server_or_connections", None)),
        ("server_or_connections", "unknown", ("server_or_connections", "unknown")),
        ("rate", "cpu", ("rate", None)),
        ("machine_cpu", "cpu", ("machine_cpu", None)),
        ("", "disk", ("", None)),
    ],
)
def test_a_load_and_a_look_come_to_one_verdict(limited_by, limit, verdict):
    found = structs.replace(bottleneck(LOOK), limit=limit)
    said, inner = of_the_server(limited_by, found)
    assert (said, inner.limit if inner else None) == verdict


def test_a_run_queue_that_is_not_the_servers_own_is_told_beside_its_limit():
    look = structs.replace(LOOK, host_busy=2.0, client_cpu_s=0.7, host_run_queue=3.4)
    text = told(load_outcome(look=look, bottleneck=bottleneck(look)))
    words = "run queue 3.4 threads ran or were ready on the machine's 2 CPUs in the mean; the load"
    assert words in text
    assert "run queue" not in told(load_outcome(look=LOOK, bottleneck=bottleneck(LOOK)))


@each_row(
    ("limited_by", "address", "is_offered"),
    [
        ("server", "127.0.0.1:8000", True),
        ("server", "unix:/run/shop.sock", True),
        ("server", "192.0.2.1:80", False),
        ("client_cpu", "127.0.0.1:8000", False),
        ("server", "", False),
    ],
)
def test_a_look_is_offered_where_a_server_of_this_machine_was_the_limit(
    limited_by, address, is_offered
):
    outcome = load_outcome(address=address)
    measurement = structs.replace(outcome.measurement, limited_by=limited_by)
    rows = dict(server_rows(structs.replace(outcome, measurement=measurement)))
    assert any("--look" in text for text in rows.values()) is is_offered
