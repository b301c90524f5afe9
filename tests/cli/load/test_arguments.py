"""What each option of `httpdyno load` comes to."""

import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from httpdyno.cli.app import run
from httpdyno.cli.load import run as load_run
from httpdyno.errors import UsageError
from httpdyno.load.access_log import Recording
from httpdyno.load.message import WindowPlan
from httpdyno.model import (
    Closed,
    Constant,
    Poisson,
    RateStage,
    Replay,
    RequestSpec,
    Sessions,
    Stages,
    TlsSpec,
    VisitStep,
    Workload,
)

URL = "http://localhost:8000/"
PEM = str(Path(__file__).parents[2] / "load" / "pem")
HOST = ("Host", "localhost:8000")


@dataclass(frozen=True)
class Started:
    """What the engine was going to be told."""

    workload: Workload
    address: str
    window: WindowPlan
    warm_ups: list[WindowPlan]
    threads: int
    cpus: tuple[int, ...]
    seed: int
    spin_s: float
    recording: Recording | None


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Started]:
    """Return what `httpdyno load` with some words would have started."""
    seen: list[Started] = []

    def start_load(
        workload: Workload, addresses: list[str], windows: list[WindowPlan], **rest: Any
    ) -> None:
        *before, window = windows
        rest |= {"window": window, "warm_ups": before}
        seen.append(Started(workload=workload, address=addresses[0], **rest))
        raise UsageError("enough was seen")

    monkeypatch.setattr(load_run, "start_load", start_load)

    def starting(*words: str) -> Started:
        assert run(["load", *words]) == 2
        assert seen, words
        return seen.pop()

    return starting


@pytest.fixture
def unix_socket(own_folders: Path) -> Iterator[Path]:
    path = own_folders / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        yield path


def test_a_url_alone_is_fifty_users_for_ten_seconds(started):
    seen = started(URL)
    assert seen.workload.requests == (RequestSpec(headers=(HOST,)),)
    assert (seen.workload.arrival, seen.workload.connections) == (Closed(), 50)
    assert seen.window == WindowPlan(arm=0, lead_in_s=0.0, measure_s=10.0, n_requests=0)
    assert (seen.workload.timeout_s, seen.cpus, seen.recording) == (10.0, (), None)


@pytest.mark.parametrize(
    ("words", "arrival", "measure_s", "n_requests"),
    [
        (["-n", "5"], Closed(), float("inf"), 5),
        (["-n", "5", "-d", "2s"], Closed(), 2.0, 5),
        (["--rate", "500/s"], Constant(rate_per_s=500.0), 10.0, 0),
        (["--rate", "500/s", "--poisson", "-d", "1m"], Poisson(rate_per_s=500.0), 60.0, 0),
        (
            ["--stages", "10s: 0..5, 5s: 5"],
            Stages(
                stages=(
                    RateStage(duration_s=10.0, from_per_s=0.0, to_per_s=5.0),
                    RateStage(duration_s=5.0, from_per_s=5.0, to_per_s=5.0),
                )
            ),
            15.0,
            0,
        ),
        (
            ["--sessions", "1m: 0..5", "-d", "2s"],
            Sessions(stages=(RateStage(duration_s=60.0, from_per_s=0.0, to_per_s=5.0),)),
            2.0,
            0,
        ),
        (
            ["--sessions", "5/s", "-d", "20s"],
            Sessions(stages=(RateStage(from_per_s=5.0, to_per_s=5.0),)),
            20.0,
            0,
        ),
    ],
)
def test_when_and_how_long(started, words, arrival, measure_s, n_requests):
    seen = started(URL, *words)
    assert seen.workload.arrival == arrival
    assert (seen.window.measure_s, seen.window.n_requests) == (measure_s, n_requests)


def test_stages_cannot_be_made_longer(started):
    assert started(URL, "--stages", "5s: 5/s", "-d", "9s").window.measure_s == 5.0


def test_a_seed_is_kept_and_a_new_one_made_where_there_is_none(started):
    assert started(URL, "--seed", "42").seed == 42
    assert started(URL, "--seed", str(2**64 - 1)).seed == 2**64 - 1
    assert len({started(URL).seed for _ in range(3)}) > 1


def test_several_urls_go_in_turn(started):
    seen = started(URL + "a", URL + "b?c={n}", "--expect-status", "ok", "--expect-length", "12")
    assert [each.path for each in seen.workload.requests] == ["/a", "/b?c={n}"]
    assert seen.workload.steps == ()
    assert {each.expect_status for each in seen.workload.requests} == {None}
    assert {each.expect_length for each in seen.workload.requests} == {12}


def test_a_body_makes_a_form_that_is_posted(started, tmp_path):
    form = ("Content-Type", "application/x-www-form-urlencoded")
    [request] = started(URL, "--data", "n={n}").workload.requests
    assert (request.method, request.body, request.headers) == ("POST", "n={n}", (HOST, form))
    file = tmp_path / "body.json"
    file.write_text("{}")
    [request] = started(
        URL, "--data", f"@{file}", "-X", "put", "-H", "content-type: application/json"
    ).workload.requests
    assert (request.method, request.body, request.body_file) == ("PUT", "", str(file))
    assert request.headers == (HOST, ("content-type", "application/json"))


def test_a_warm_up_is_a_window_before_the_measured_one(started):
    for words in (["-n", "5"], ["-d", "3s"], ["--rate", "5/s"], ["--sessions", "5/s"]):
        seen = started(URL, "--warm-up", "2s", *words)
        assert seen.warm_ups == [WindowPlan(arm=0, lead_in_s=0.0, measure_s=2.0)]
        assert seen.window == started(URL, *words).window


def test_a_mix_is_lines_of_weight_method_path_and_body(started, tmp_path):
    urls = tmp_path / "urls.txt"
    urls.write_text("# shop\n2 /c\nPOST /d x=1\n")
    seen = started(
        "http://localhost:8000",
        "--mix",
        "8 POST /a b",
        "--mix",
        "0.5 HEAD /b",
        "--url-file",
        str(urls),
    ).workload
    assert [(each.method, each.path, each.body) for each in seen.requests] == [
        ("POST", "/a", "b"),
        ("HEAD", "/b", ""),
        ("GET", "/c", ""),
        ("POST", "/d", "x=1"),
    ]
    assert seen.steps == tuple(
        VisitStep(request=index, weight=weight) for index, weight in enumerate([8, 0.5, 2, 1])
    )


def test_a_url_file_can_name_the_server(started, tmp_path):
    urls = tmp_path / "urls.txt"
    urls.write_text("http://127.0.0.1:8000/a\n/b\nhttp://127.0.0.1:8000/c#d\n")
    seen = started("--url-file", str(urls))
    assert seen.address == "127.0.0.1:8000"
    assert [each.path for each in seen.workload.requests] == ["/a", "/b", "/c"]
    assert seen.workload.steps == ()
    assert seen.workload.requests[1].headers == (("Host", "127.0.0.1:8000"),)


def test_pages_share_the_requests_that_both_have(started):
    seen = started(
        URL, "--page", "3 /i: /a.css /b.js", "--page", "/j: /a.css", "--page-connections", "2"
    ).workload
    assert [each.path for each in seen.requests] == ["/i", "/a.css", "/b.js", "/j"]
    assert seen.steps == (
        VisitStep(request=0, objects=(1, 2), weight=3.0),
        VisitStep(request=3, objects=(1,)),
    )
    assert seen.connections_per_page == 2


def test_users_and_connections_are_as_said(started):
    seen = started(
        URL,
        *("--sessions", "5/s", "--visit", "4", "--think", "2s", "--cookies"),
        *("--new-users", "30%", "--users", "20", "--slow", "28.8kbit:20%", "--slow-buffer", "8KiB"),
        *("--requests-per-connection", "7", "-c", "9"),
    ).workload
    assert (seen.users.visit.mean_steps, seen.users.think.mean_s) == (4.0, 2.0)
    assert (seen.users.new_ratio, seen.users.n_returning) == (0.3, 20)
    assert seen.slow is not None
    assert (seen.slow.bytes_per_s, seen.slow.receive_buffer_bytes) == (3600.0, 8192)
    assert (seen.requests_per_connection, seen.connections) == (7, 9)
    exactly = started(URL, "--visit-exactly", "4", "--think-exactly", "2s").workload.users
    assert (exactly.visit.mean_steps, exactly.think.mean_s) == (4, 2.0)
    assert (exactly.visit.is_geometric, exactly.think.is_exponential) == (False, False)
    closed = started(URL, "--connection-rate", "100/s", "--no-keepalive").workload
    assert (closed.connections_per_s, closed.requests_per_connection) == (100.0, 1)


def test_a_log_says_what_and_when(started, log):
    seen = started("http://localhost:8000", "--replay", str(log), "--speed", "2x", "-H", "X: y")
    assert seen.workload.arrival == Replay(log=str(log), speed=2.0)
    assert [(each.path, each.expect_status) for each in seen.workload.requests] == [
        ("/a", None),
        ("/b", 404),
    ]
    assert seen.workload.requests[0].headers == (HOST, ("X", "y"))
    assert seen.recording is not None
    assert list(seen.recording.offsets_ns) == [0, 500_000_000, 2_000_000_000]
    assert (seen.window.measure_s, seen.window.n_requests) == (float("inf"), 3)
    cut = started("http://localhost:8000", "--replay", str(log), "-n", "2", "-d", "1s").window
    assert (cut.measure_s, cut.n_requests) == (1.0, 2)


def test_all_methods_of_a_log_can_be_asked_for_and_one_status(started, log):
    seen = started(
        "http://localhost:8000",
        *("--replay", str(log), "--replay-methods", "GET,POST", "--replay-spread", "burst"),
        *("--expect-status", "200"),
    )
    assert [each.method for each in seen.workload.requests] == ["GET", "GET", "POST"]
    assert {each.expect_status for each in seen.workload.requests} == {200}
    assert len(seen.recording.steps) == 4


def test_https_is_checked_against_the_hosts_name(started, tmp_path):
    pem = tmp_path / "x.pem"
    pem.write_bytes(b"".join(Path(PEM, f"client.{each}").read_bytes() for each in ("pem", "key")))
    assert started("https://localhost:8443/").workload.tls == TlsSpec(server_name="localhost")
    seen = started(
        "https://127.0.0.1:8443/",
        *("--cacert", str(pem), "--cert", str(pem), "--sni", "shop.test", "--tls1.3"),
        "--no-resumption",
    )
    assert seen.workload.tls == TlsSpec(
        server_name="shop.test",
        roots_file=str(pem),
        certificate_file=str(pem),
        key_file=str(pem),
        versions="1.3",
        resumes=False,
    )
    assert not started("https://localhost/", "--insecure").workload.tls.is_verified
    assert started("https://localhost/", "--tls1.2").workload.tls.versions == "1.2"
    assert started("https://localhost/").address.endswith(":443")


def test_a_unix_socket_stands_for_the_host(started, unix_socket):
    seen = started("http://shop.test/x", "--unix", str(unix_socket))
    assert seen.address == f"unix:{unix_socket}"
    assert seen.workload.requests[0].headers == (("Host", "shop.test"),)


def test_ipv6_is_written_in_brackets(started):
    assert started("http://[::1]:8000/").address == "[::1]:8000"


def test_the_machine_is_used_as_said(started):
    seen = started(URL, "-c", "8", "--threads", "2", "--cpus", "0", "--spin", "20us")
    assert (seen.threads, seen.cpus, seen.spin_s) == (2, (0,), pytest.approx(20e-6))
    assert started(URL, "--spin", "0s").spin_s == 0


def test_a_host_elsewhere_can_be_allowed_by_its_name(started, capsys):
    elsewhere = "http://93.184.215.14/"
    assert run(["load", elsewhere, "--yes-i-may-load", "93.184.215.15"]) == 2
    assert "neither this machine nor in a private network" in capsys.readouterr().err
    assert started(elsewhere, "--yes-i-may-load", "93.184.215.14").address == "93.184.215.14:80"


@pytest.mark.parametrize("path", ["/login?next=http://shop.test/", "/img/https://cdn.test/a.png"])
def test_a_url_within_a_path_is_a_part_of_it(started, path):
    assert [each.path for each in started(URL.rstrip("/") + path).workload.requests] == [path]
    assert [each.path for each in started(URL, "--mix", path).workload.requests] == [path]
    assert [each.path for each in started(URL, "--first", path).workload.first] == [path]
    paged = started(URL, "--page", f"{path}: {path}&b").workload
    assert [each.path for each in paged.requests] == [path, f"{path}&b"]


def test_compressed_answers_are_asked_for_with_every_request(started, log):
    sent = ("Accept-Encoding", "gzip, deflate, br")
    seen = started(URL, "--compressed", "--first", "/login").workload
    assert all(sent in each.headers for each in (*seen.requests, *seen.first))
    assert not any(sent in each.headers for each in started(URL).workload.requests)
    assert sent in started(URL, "--compressed", "--replay", str(log)).recording.requests[0].headers


def test_the_right_length_of_a_body_may_be_said(started):
    [seen] = started(URL, "--data", "ab", "-H", "Content-Length: 2").workload.requests
    assert ("Content-Length", "2") in seen.headers


def test_who_asks_is_sent_with_every_request(started):
    seen = started(URL, "-u", "joe:a:b", "--first", "/login").workload
    sent = ("Authorization", "Basic am9lOmE6Yg==")
    assert all(sent in each.headers for each in (*seen.requests, *seen.first))
