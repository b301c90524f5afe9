"""What is said to `httpdyno load` is what a server sees: judged by the origin's own account."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.cli.load.conftest import LOG
from tests.load.origin import Origin, origin

from httpdyno.cli.app import run

KEPT = ("--keep-requests", "5000")


@pytest.fixture
def server() -> Iterator[Origin]:
    with origin(*KEPT) as started:
        yield started


@pytest.fixture
def load(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Load, and return the JSON of the result; the exit code must be 0."""

    def loading(*words: str) -> dict[str, Any]:
        code = run(["load", *words, "--json", "-"])
        seen = capsys.readouterr()
        assert code == 0, seen.out + seen.err
        document: dict[str, Any] = json.loads(seen.out)
        return document

    return loading


def kept(server: Origin) -> list[dict[str, Any]]:
    requests: list[dict[str, Any]] = server.ask("requests")["requests"]
    return requests


def paths(server: Origin) -> Counter[str]:
    return Counter(each["path"] for each in server.ask("log")["arrivals"])


def test_several_urls_are_asked_for_in_turn(server, load):
    load(server.url + "/a", server.url + "/b", "-c", "1", "-n", "10")
    assert [each["path"] for each in server.ask("log")["arrivals"]] == ["/a", "/b"] * 5


def test_a_mix_is_sent_by_its_weights(server, load):
    load(server.url, "--mix", "8 /a", "--mix", "2 /b", "--mix", "0 /c", "-c", "4", "-n", "1000")
    seen = paths(server)
    assert seen["/a"] + seen["/b"] == 1000
    # Binomial, sd 12.6: six of them are nobody's bad luck.
    assert abs(seen["/b"] - 200) < 76


def test_a_url_file_is_sent_whole(server, load, tmp_path):
    (tmp_path / "item.json").write_text('{"n": {n}, "other": {word}}')
    (tmp_path / "urls.txt").write_text(
        "# shop\n/list\nPOST /echo/body name={n}\nPUT /item @item.json\n"
    )
    load(server.url, "--url-file", str(tmp_path / "urls.txt"), "-c", "1", "-n", "3")
    first, second, third = kept(server)
    assert first["head"].startswith("GET /list HTTP/1.1\r\n")
    assert second["head"].startswith("POST /echo/body HTTP/1.1\r\n")
    assert second["body"] == "name=1"
    assert "content-type: application/x-www-form-urlencoded" in second["head"].lower()
    assert third["head"].startswith("PUT /item HTTP/1.1\r\n")
    assert third["body"] == '{"n": 2, "other": {word}}'


def test_placeholders_are_filled_in_urls_headers_and_bodies(server, load):
    load(
        server.url + "/item/{n}?u={user}",
        *("-H", "X-Trace: {random}", "-H", "X-Braces: {{n}}", "--data", "n={n}"),
        *("-c", "2", "-n", "20"),
    )
    seen = kept(server)
    numbers = {each["body"].removeprefix("n=") for each in seen}
    assert numbers == {str(n) for n in range(20)}
    for each in seen:
        target = each["head"].split(" ")[1]
        assert target.split("?")[0] == f"/item/{each['body'].removeprefix('n=')}"
        assert target.split("u=")[1] in {"0", "1"}
    traces = {each["head"].split("X-Trace: ")[1].split("\r")[0] for each in seen}
    assert len(traces) == 20
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in traces)
    assert all("X-Braces: {n}\r\n" in each["head"] for each in seen)


def test_a_page_is_its_document_and_then_its_objects(server, load):
    document = load(
        server.url,
        *("--page", "/i: /a.css /b.js /c.png", "--page-connections", "3", "-c", "2", "-n", "20"),
    )
    assert paths(server) == {"/i": 20, "/a.css": 20, "/b.js": 20, "/c.png": 20}
    assert document["offered"] == 80
    assert server.ask("connections")["opened"] <= 2 * 3 + 2  # two are these questions


def test_cookies_make_one_session_of_a_user(server, load):
    load(server.url + "/session", "-c", "4", "-n", "40")
    assert server.ask("stats")["sessions_created"] == 40
    load(server.url + "/session", "-c", "4", "-n", "40", "--cookies")
    assert server.ask("stats")["sessions_created"] == 44


def test_new_users_come_without_cookies(server, load):
    load(
        server.url + "/session",
        *("-c", "4", "-n", "1000", "--cookies", "--visit-exactly", "2", "--new-users", "50%"),
    )
    # 500 visits, half of them by new users: sd 11. Every user's first visit is a session too.
    assert abs(server.ask("stats")["sessions_created"] - 250) < 66 + 4


def test_a_think_time_is_kept(server, load):
    load(server.url, "-c", "5", "--think-exactly", "200ms", "-d", "1s")
    log = server.ask("log")["arrivals"]
    by_connection: dict[int, list[int]] = {}
    for each in log:
        by_connection.setdefault(each["connection"], []).append(each["at_ns"])
    gaps = [b - a for times in by_connection.values() for a, b in pairwise(times)]
    assert len(gaps) >= 5
    assert min(gaps) >= 199_000_000
    assert len(log) <= 5 * 6


def test_sessions_come_at_their_rate_each_for_one_visit(server, load):
    load(
        server.url + "/session",
        *("--sessions", "100/s", "--visit-exactly", "3", "--think-exactly", "10ms"),
        *("--cookies", "-d", "2s", "--seed", "5"),
    )
    sessions = server.ask("sessions")["sessions"]
    # Poisson with a mean of 200, sd 14.
    assert 115 < len(sessions) < 285
    assert max(each["requests"] for each in sessions) == 3


def test_stages_go_up_and_down(server, load):
    load(server.url, "--stages", "500ms: 0/s..400/s, 500ms: 100/s", "-c", "20")
    log = server.ask("log")["arrivals"]
    begin = log[0]["at_ns"]
    first = sum(each["at_ns"] - begin < 500_000_000 for each in log)
    assert len(log) == pytest.approx(150, abs=3)
    assert first == pytest.approx(100, abs=30)


def test_poisson_gaps_vary_and_even_ones_do_not(server, load):
    def arrivals_s() -> list[float]:
        log = server.ask(f"log?since_ns={since}")["arrivals"]
        return sorted(each["at_ns"] / 1e9 for each in log)

    since = 0
    load(server.url, "--rate", "200/s", "--poisson", "-d", "1500ms", "--seed", "3")
    drawn = arrivals_s()
    since = server.ask("log")["arrivals"][-1]["at_ns"] + 1
    load(server.url, "--rate", "200/s", "-d", "1500ms")
    even = arrivals_s()
    # As many as are due in the time, or, of those that are drawn, about as many: sd 17.
    assert len(drawn) != 300
    assert abs(len(drawn) - 300) < 70

    # A busy machine delays many, but the schedule goes on: some are where it had them, and none
    # before. Those that are drawn stray by many gaps.
    def on_schedule_ratio(arrivals: list[float]) -> float:
        lags = [at - number * 0.005 for number, at in enumerate(arrivals)]
        return sum(lag < min(lags) + 0.0025 for lag in lags) / len(lags)

    assert on_schedule_ratio(drawn) < 0.05
    assert on_schedule_ratio(even) > 0.1


def test_a_log_is_replayed_with_its_gaps_and_what_was_refused_is_refused_again(load, tmp_path):
    file = tmp_path / "access.log"
    lines = [
        (0, "GET /a", 200),
        (1, "GET /status/404", 404),
        (2, "POST /c", 200),
        (2, "GET /b", 304),
    ]
    file.write_text("".join(LOG.format(*line) for line in lines))
    with origin() as server:
        document = load(server.url, "--replay", str(file), "--speed", "4x", "-H", "Host: shop.test")
        log = server.ask("log")["arrivals"]
    assert [each["path"] for each in log] == ["/a", "/status/404", "/b"]
    offsets = [(each["at_ns"] - log[0]["at_ns"]) / 1e9 for each in log]
    assert offsets == pytest.approx([0, 0.25, 0.5], abs=0.1)
    assert (document["offered"], document["completed"]) == (3, 3)


def test_connections_live_as_long_as_said(server, load):
    def opened() -> int:
        return int(server.ask("connections")["opened"])

    before = opened()
    load(server.url, "-c", "1", "-n", "20", "--requests-per-connection", "5")
    after = opened()
    assert after - before == 4 + 1  # the second question is one too
    load(server.url, "-c", "2", "-n", "20", "--no-keepalive")
    assert opened() - after == 20 + 1


def test_users_begin_at_the_connection_rate(server, load):
    load(
        server.url, "-c", "20", "--connection-rate", "40/s", "--think-exactly", "1s", "-d", "700ms"
    )
    seen = server.ask("connections")["connections"]
    accepted = sorted(each["accepted_ns"] for each in seen if each["requests"])[:20]
    assert 0.35 < (accepted[-1] - accepted[0]) / 1e9 < 0.7


def test_slow_users_are_slow_and_shown_apart(server, load):
    document = load(
        server.url + "/bytes/3000", *("--slow", "40kbit:50%", "-c", "4", "-n", "8", "-d", "20s")
    )
    log = server.ask("log")["arrivals"]
    assert len(log) == 8
    # 3,000 bytes and their header over 5,000 bytes a second take 0.6 s.
    assert document["latency_s"]["max"] > 0.5
    populations = json.dumps(document)
    assert "slow" in populations


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Origin]:
    folder = tmp_path_factory.mktemp("tls")
    # A unix socket's path must be short.
    with origin(
        *KEPT,
        *("--door", f"unix:{folder}/s", "--door", "[::1]:0"),
        *("--tls-door", "127.0.0.1:0", "--tls-folder", str(folder)),
        *("--client-certificate", "required"),
    ) as started:
        yield started


def test_unix_sockets_and_ipv6_are_reached(doors, load):
    before = len(doors.ask("log")["arrivals"])
    unix, ipv6, _ = doors.doors
    load("http://shop.test/x", "--unix", unix.removeprefix("unix:"), "-c", "2", "-n", "5")
    assert "host: shop.test\r\n" in kept(doors)[-1]["head"].lower()
    load(f"http://{ipv6}/y", "-c", "2", "-n", "5")
    assert len(doors.ask("log")["arrivals"]) - before == 10


def test_tls_is_spoken_as_said(doors, load):
    facts = doors.facts
    url = f"https://localhost:{facts['tls_address'].rpartition(':')[2]}/"
    shown = ("--cert", facts["client_certificate_file"], "--key", facts["client_key_file"])

    def handshakes(*words: str) -> Counter[str]:
        before = doors.ask("stats")["handshakes"]
        load(url, *shown, "-c", "1", "-n", "6", "--no-keepalive", *words)
        after = doors.ask("stats")["handshakes"]
        names = Counter(after["server_names"]) - Counter(before["server_names"])
        kinds = ("full", "resumed", "failed", "tls12", "tls13", "with_client_certificate")
        return Counter({kind: after[kind] - before[kind] for kind in kinds}) + names

    usual = handshakes("--cacert", facts["ca_file"])
    assert (usual["full"] + usual["resumed"], usual["failed"]) == (6, 0)
    assert usual["resumed"] >= 4
    assert usual["tls13"] == usual["localhost"] == 6
    full = handshakes("--insecure", "--no-resumption", "--tls1.2")
    assert (full["full"], full["resumed"], full["tls12"]) == (6, 0, 6)
    assert full["with_client_certificate"] == 6
    assert handshakes("--cacert", facts["ca_file"], "--tls1.3")["tls13"] == 6


def test_a_certificate_that_nobody_vouches_for_is_an_error_of_each_request(doors, capsys):
    url = f"https://localhost:{doors.facts['tls_address'].rpartition(':')[2]}/"
    pem = Path(__file__).parents[2] / "load" / "pem"
    words = ["--cacert", str(pem / "authority.pem"), "-c", "1", "-n", "3", "--json", "-"]
    assert run(["load", url, *words]) == 1
    assert json.loads(capsys.readouterr().out)["errors"] == {"tls": 3}


def test_the_seed_repeats_the_requests_and_another_does_not(server, load):
    def targets(seed: str) -> list[str]:
        before = len(kept(server))
        load(
            server.url,
            *("--mix", "3 /a?{random}", "--mix", "1 /b?{random}", "-c", "1", "-n", "30"),
            *("--seed", seed),
        )
        return [each["head"].split(" ")[1] for each in kept(server)[before:]]

    assert targets("7") == targets("7") != targets("8")


@pytest.mark.parametrize(("workers", "limited_by"), [("all", "connections"), ("1", "server")])
def test_a_closed_loop_says_whether_more_connections_would_bring_more(load, workers, limited_by):
    options = ("--service", "fixed:20ms", *(("--workers", workers) if workers != "all" else ()))
    with origin(*options) as server:
        document = load(server.url, "-c", "5", "-d", "0.6s")
    # On a busy machine 20 ms may come out uneven, the first of them too; then it cannot be told.
    seen = document["evidence"]
    is_disturbed = seen["service_spread_ratio"] > 0.03 or (
        workers == "all" and abs(seen["service_inflation_ratio"] - 1) > 0.1
    )
    said = {limited_by, "server_or_connections"} if is_disturbed else {limited_by}
    assert document["limited_by"] in said, seen


def test_users_log_in_once_and_keep_their_cookies_whatever_the_connections_do(server, load):
    document = load(
        server.url + "/session",
        *("--first", "POST /status/302 name=user{user} -> 302", "--first", "/session"),
        *("-c", "4", "-n", "40", "--requests-per-connection", "3"),
    )
    requests = kept(server)
    bodies = [each["body"] for each in requests if each["head"].startswith("POST")]
    assert sorted(bodies) == [f"name=user{user}" for user in range(4)]
    # Each logs in and asks for a session; all that is measured brings it along.
    assert server.ask("stats")["sessions_created"] == 4
    assert len(requests) == 4 + 4 + 40
    assert document["offered"] == 40
    told = document["first"]
    assert (told["users"], told["entered"]) == (4, 4)
    assert [(each["name"], each["completed"]) for each in told["requests"]] == [
        ("POST /status/302", 4),
        ("GET /session", 4),
    ]
    assert [each["body"] for each in document["provenance"]["workload"]["first"]] == [
        "(kept back)",
        "",
    ]


def test_a_login_that_fails_for_all_is_an_error_and_nothing_else_is_sent(server, capsys):
    words = ["--first", "POST /status/403 name=x -> 302", "-c", "4", "-n", "40"]
    assert run(["load", server.url + "/a", *words]) == 3
    said = capsys.readouterr().err
    assert "4 of 4 users did not get through the first steps" in said
    assert "POST /status/403 was answered 403, where 302 is expected" in said
    assert paths(server) == {"/status/403": 4}


def test_a_login_that_fails_for_some_is_told_and_the_answer_is_no(server, capsys):
    # Users 0 to 3: `/status/200` to `/status/203`.
    words = ["--first", "/status/20{user} -> 201", "-c", "4", "-n", "40", "--json", "-"]
    assert run(["load", server.url + "/a", *words]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["completed"] == 40
    [caveat] = [each for each in document["caveats"] if each["kind"] == "not_entered"]
    assert caveat["message"].startswith("3 of 4 users did not get through the first steps")
    assert document["first"]["entered"] == 1


def test_steps_in_order_are_asked_for_in_order(server, load):
    mix = [word for path in ("/a", "/b", "/c") for word in ("--mix", path)]
    load(server.url, *mix, "--order", "given", "-c", "1", "-n", "10")
    assert [each["path"] for each in server.ask("log")["arrivals"]] == [
        *("/a", "/b", "/c") * 3,
        "/a",
    ]


def test_each_line_of_a_mix_may_have_a_status_of_its_own(server, load):
    lines = ["--mix", "/status/404 -> 404", "--mix", "/a"]
    document = load(server.url, *lines, "-c", "2", "-n", "20")
    assert document["statuses"] == {"200": 10, "404": 10}
