"""What people put into `httpdyno load`: what each option means, and what makes no sense."""

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
from httpdyno.load.window import WindowPlan
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
TLS = "https://localhost:8443/"
PEM = str(Path(__file__).parents[2] / "load" / "pem")
HOST = ("Host", "localhost:8000")
LOG = '127.0.0.1 - - [10/Oct/2000:13:55:{:02} -0700] "{} HTTP/1.1" {} 2326\n'


@dataclass(frozen=True)
class Started:
    """What the engine was going to be told."""

    workload: Workload
    address: str
    window: WindowPlan
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
        seen.append(Started(workload=workload, address=addresses[0], window=windows[0], **rest))
        raise UsageError("enough was seen")

    monkeypatch.setattr(load_run, "start_load", start_load)

    def starting(*words: str) -> Started:
        assert run(["load", *words]) == 2
        assert seen, words
        return seen.pop()

    return starting


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "access.log"
    lines = [(0, "GET /a", 200), (1, "GET /b", 404), (2, "POST /c", 200), (4, "GET /a", 304)]
    file.write_text("".join(LOG.format(*line) for line in lines) + "odd\n")
    return file


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


def test_a_mix_is_lines_of_weight_method_path_and_body(started, tmp_path):
    urls = tmp_path / "urls.txt"
    urls.write_text("# shop\n2 /c\nPOST /d x=1\n")
    seen = started(
        "http://localhost:8000", "--mix", "8 /a b", "--mix", "0.5 HEAD /b", "--url-file", str(urls)
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


NONSENSE = [
    ([URL, "-c", "0"], "`-c 0` makes no sense; expected 1 to 1000000"),
    ([URL, "-c", "-3"], "`-c -3` makes no sense"),
    ([URL, "-c", "many"], "`-c many` makes no sense; expected a whole number"),
    ([URL, "-n", "0"], "`-n 0` makes no sense; expected at least 1"),
    ([URL, "-n", "-5"], "`-n -5` makes no sense"),
    ([URL, "-n", f"{1 << 64}"], "expected a whole number of at most 64 bits"),
    ([URL, "-d", "0s"], "`-d 0s` makes no sense; expected a time above 0"),
    ([URL, "-d", "10"], "`-d 10` makes no sense"),
    ([URL, "-d", "-1s"], "`-d -1s` makes no sense"),
    ([URL, "--rate", "0"], "`--rate 0` makes no sense; expected a rate above zero"),
    ([URL, "--rate", "-5/s"], "`--rate -5/s` makes no sense"),
    ([URL, "--rate", "fast"], "`--rate fast` makes no sense"),
    (
        [URL, "--rate", "99999999999/s"],
        "`--rate 99999999999/s` makes no sense; expected a",
    ),
    ([URL, "--poisson"], "`--poisson` needs a rate"),
    ([URL, "--rate", "5/s", "--stages", "5s: 5/s"], "both say when requests are sent"),
    ([URL, "--rate", "5/s", "--sessions", "5/s"], "both say when requests are sent"),
    ([URL, "--stages", "10s: 0/s, 5s: 0/s..0/s"], "never sends"),
    ([URL, "--stages", "10s"], "`--stages 10s`: the stage `10s` is not a time and a rate"),
    ([URL, "--stages", "0s: 5/s"], "the stage `0s: 5/s` takes no time"),
    ([URL, "--sessions", "0/s"], "`--sessions 0/s` makes no sense"),
    ([URL, "--sessions", "5/s", "--poisson"], "`--poisson` changes nothing beside"),
    ([URL, "--replay", "none.log"], "`none.log` cannot be read: no such file"),
    ([URL, "--replay", "."], "`.` cannot be read: it is a folder"),
    ([URL, "--replay", "{empty}"], "is empty"),
    ([URL, "--replay", "{odd}"], "holds no line in common or combined log format"),
    ([URL, "--replay", "{posts}"], "holds no GET or HEAD, but 1 POST"),
    ([URL, "--replay", "{log}", "--rate", "5/s"], "both say when requests are sent"),
    ([URL, "--replay", "{log}", "--speed", "0"], "`--speed 0` makes no sense"),
    ([URL, "--replay", "{log}", "--speed", "fast"], "`--speed fast` makes no sense"),
    ([URL, "--speed", "2x"], "`--speed 2x` does nothing without `--replay`"),
    ([URL, "--replay", "{log}", "--replay-spread", "wide"], "`--replay-spread wide` makes no"),
    ([URL, "--replay", "{log}", "--replay-methods", ""], "expected methods with commas"),
    ([URL, "--replay", "{log}", "--poisson"], "the log has its own gaps"),
    ([URL, "--replay", "{log}", "--data", "x"], "`--data` cannot be beside `--replay`"),
    ([URL, "--replay", "{log}", "--mix", "/x"], "`--mix` cannot be beside `--replay`"),
    ([URL, "--replay", "{log}", "--page", "/: /x"], "`--page` cannot be beside `--replay`"),
    ([URL, "--replay", "{log}", "--visit", "3"], "does nothing where requests come by themselves"),
    ([URL + "x", "--replay", "{log}"], "the URL names the server only"),
    (["--replay", "{log}"], "no URL says what to load"),
    ([URL, "--seed", "-1"], "`--seed -1` makes no sense"),
    ([URL, "--seed", str(2**64)], "makes no sense; expected a whole number of at most 64 bits"),
    ([], "no URL says what to load"),
    (["ftp://localhost/"], "scheme `ftp`, expected http or https"),
    ([URL, "http://localhost:8001/"], "are two servers, one run loads one"),
    ([URL, "https://localhost:8000/"], "are two servers"),
    ([URL, "--mix", "http://127.0.0.1:8000/"], "are two servers"),
    ([URL, "-X", "GE T"], "not an HTTP method"),
    ([URL, "-X", ""], "`-X` names no HTTP method"),
    ([URL, "-H", "novalue"], "`-H novalue` has no colon"),
    ([URL, "-H", "a b: c"], "`a b` is not a header's name"),
    ([URL, "-H", "X: {{host}}"], "the header `X` holds `{{host}}`, expected one of"),
    ([URL + "{{id}}"], "the path `/{{id}}` holds `{{id}}`, expected one of `{{n}}`"),
    ([URL, "--data", "@none"], "`--data`: the body `@none` cannot be read: no such file"),
    ([URL, "--mix", "cart"], "`--mix`: `cart` is not a request"),
    ([URL, "--mix", "-1 /cart"], "`--mix`: `-1 /cart` is not a request"),
    (
        [URL, "--mix", "0 /a", "--mix", "0 /b"],
        "the workload's `mix` is of weight 0 in all",
    ),
    ([URL, "--mix", "/a", "--data", "x"], "`--data` is for the URLs of the command line"),
    ([URL, "--mix", "/a", "-X", "PUT"], "`--method` is for the URLs of the command line"),
    ([URL + "b", "--mix", "/a"], "is not asked for beside `--mix`"),
    ([URL, "--url-file", "none"], "the URL file `none` cannot be read"),
    ([URL, "--url-file", "{empty}"], "holds no requests"),
    ([URL, "--url-file", "{odd}"], "line 1 of `{odd}`: `odd` is not a request"),
    ([URL, "--page", "/index.html"], "`--page`: `/index.html` names no objects"),
    ([URL, "--page", "/index.html:"], "names no objects"),
    ([URL, "--page-connections", "3"], "`--page-connections 3` does nothing without a page"),
    ([URL, "--page", "/: /x", "--page-connections", "0"], "`--page-connections 0` makes no sense"),
    ([URL, "--timeout", "0s"], "`--timeout 0s` makes no sense"),
    ([URL, "--timeout", "long"], "`--timeout long` makes no sense"),
    ([URL, "--expect-status", "fine"], "`--expect-status fine` is not a status"),
    ([URL, "--expect-status", "99"], "99 is not a final status"),
    ([URL, "--expect-length", "-1"], "`--expect-length -1` makes no sense"),
    ([URL, "--visit", "0"], "`--visit 0` makes no sense; expected 1 to 1e9 steps"),
    ([URL, "--visit", "nan"], "`--visit nan` makes no sense"),
    ([URL, "--visit", "some"], "`--visit some` makes no sense; expected a number"),
    ([URL, "--seed", "x"], "`--seed x` makes no sense; expected a whole number"),
    ([URL, "--expect-length", "1k"], "`--expect-length 1k` makes no sense; expected a whole"),
    ([URL, "--visit-exactly", "0"], "`--visit-exactly 0` makes no sense"),
    ([URL, "--visit-exactly", "2.5"], "`--visit-exactly 2.5` makes no sense; expected a whole"),
    ([URL, "--visit", "3", "--rate", "5/s"], "does nothing where requests come by themselves"),
    ([URL, "--think", "-2s"], "`--think -2s` makes no sense"),
    ([URL, "--think", "2"], "`--think 2` makes no sense"),
    ([URL, "--think-exactly", "-2s"], "`--think-exactly -2s` makes no sense"),
    ([URL, "--think", "1s", "--think-exactly", "1s"], "contradict each other"),
    ([URL, "--new-users", "30%"], "`--new-users 30%` does nothing without `--cookies`"),
    ([URL, "--cookies", "--new-users", "101%"], "`--new-users 101%` makes no sense"),
    ([URL, "--cookies", "--users", "5"], "in a closed one each connection is a user"),
    ([URL, "--rate", "5/s", "--cookies", "--users", "0"], "`--users 0` makes no sense"),
    ([URL, "--slow", "28.8kbit:101%"], "`--slow 28.8kbit:101%` makes no sense"),
    ([URL, "--slow", "20%"], "`--slow 20%` makes no sense"),
    ([URL, "--slow", "0bit:20%"], "`--slow 0bit:20%` makes no sense"),
    ([URL, "--slow-buffer", "4KiB"], "`--slow-buffer 4KiB` does nothing without `--slow`"),
    ([URL, "--slow", "1kbit", "--slow-buffer", "0"], "`--slow-buffer 0` makes no sense"),
    (
        [URL, "--slow", "1kbit", "--slow-buffer", "9GiB"],
        "`--slow-buffer 9GiB` makes no sense; expected at most 1 GiB",
    ),
    ([URL, "--requests-per-connection", "0"], "`--requests-per-connection 0` makes no sense"),
    ([URL, "--requests-per-connection", "3", "--no-keepalive"], "contradict each other"),
    ([URL, "--connection-rate", "0"], "`--connection-rate 0` makes no sense"),
    ([URL, "--connection-rate", "5/s", "--rate", "5/s"], "is for a closed loop"),
    ([URL, "--unix", "none"], "the unix socket `none` cannot be used: no such file"),
    ([URL, "--unix", ""], "`--unix` names no socket"),
    ([URL, "--unix", "{odd}"], "is not a socket"),
    ([URL, "--insecure"], "`--insecure` is for https, but `http://localhost:8000` is not"),
    ([URL, "--tls1.3"], "`--tls1.3` is for https"),
    (["https://localhost/", "--tls1.2", "--tls1.3"], "contradict each other"),
    (["https://localhost/", "--insecure", "--cacert", "{odd}"], "contradict each other"),
    (["https://localhost/", "--key", "{odd}"], "`--key` does nothing without `--cert`"),
    (["https://localhost/", "--cert", "none"], "`--cert none` cannot be read: no such file"),
    (["https://localhost/", "--cacert", "."], "`--cacert .` cannot be read: it is a folder"),
    ([URL, "--threads", "0"], "`--threads 0` makes no sense; expected at least 1"),
    ([URL, "-c", "2", "--threads", "3"], "3 threads cannot share 2 connections"),
    ([URL, "--cpus", "one"], "`--cpus one` makes no sense"),
    ([URL, "--cpus", "3-2"], "`--cpus 3-2` makes no sense"),
    ([URL, "--cpus", "99999"], "names core 99999, which this process may not run on"),
    ([URL, "--spin", "-1us"], "`--spin -1us` makes no sense"),
    ([URL, "--spin", "5s"], "`--spin 5s` makes no sense; expected at most"),
    ([URL, "--json", "/none/out.json"], "does not exist"),
    (["http://93.184.215.14/"], "neither this machine nor in a private network"),
    (["https://93.184.215.14/"], "neither this machine nor in a private network"),
    ([URL, "-c", "1000001"], "`-c 1000001` makes no sense; expected 1 to 1000000"),
    ([URL, "--page", "/: /x", "--page-connections", "1001"], "`--page-connections 1001` makes no"),
    ([URL, "--visit", "1e12"], "`--visit 1e+12` makes no sense; expected 1 to 1e9 steps"),
    ([URL, "--timeout", "99999999h"], "`--timeout 99999999h` makes no sense; expected a time from"),
    ([URL, "-d", "99999999h"], "`-d 99999999h` makes no sense"),
    ([URL, "--think", "99999999h"], "`--think 99999999h` makes no sense; expected a time from 0"),
    ([URL, "--stages", "99999999h: 5/s"], "`--stages '99999999h: 5/s'` makes no sense"),
    ([TLS, "--sni", "a b"], "the name `a b` cannot be used for TLS"),
    ([TLS, "--cacert", "{odd}"], "`{odd}` cannot be used for TLS: 4 bytes without a certificate"),
    (
        [TLS, "--cert", f"{PEM}/client.pem", "--key", f"{PEM}/another.key"],
        f"the certificate `{PEM}/client.pem` with the key `{PEM}/another.key` cannot be used for "
        "TLS: the private key of another certificate",
    ),
    ([TLS, "--cert", f"{PEM}/client.pem"], "without a private key"),
    ([TLS, "--cert", f"{PEM}/client.key"], "without a certificate"),
]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: Path) -> dict[str, Path]:
    """Files with nonsense; starting to load would be a failure."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("load was started")

    monkeypatch.setattr(load_run, "start_load", refuse)
    files = {"log": log, "odd": tmp_path / "odd", "empty": tmp_path / "empty"}
    files |= {"posts": tmp_path / "posts"}
    files["odd"].write_text("odd\n")
    files["empty"].write_text("")
    files["posts"].write_text(LOG.format(0, "POST /", 200))
    return files


@pytest.mark.parametrize(("words", "sentence"), NONSENSE, ids=[" ".join(w) for w, _ in NONSENSE])
def test_bad_input_is_one_sentence_before_any_load(files, capsys, words, sentence):
    code = run(["load", *(word.format(**files) for word in words)])
    seen = capsys.readouterr()
    assert code == 2, seen.err
    assert seen.out == ""
    error, *rest = seen.err.splitlines()
    assert error.startswith("error: ")
    assert sentence.format(**files) in error
    assert not error.endswith(".")
    assert not rest or (rest[0] == "" and rest[1].startswith("hint: ") and len(rest) == 2)


def test_more_users_than_descriptors_is_told_with_both_numbers(files, capsys, monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 1024))
    assert files
    assert run(["load", URL, "-c", "1000"]) == 2
    error = capsys.readouterr().err
    assert "1000 connections need " in error
    assert "open files, the limit here is 1024" in error
    assert run(["load", URL, "--page", "/: /a", "-c", "200"]) == 2
    assert "1200 connections need " in capsys.readouterr().err


def test_a_host_without_an_address_is_3(capsys):
    assert run(["load", "http://no-such-host.invalid/"]) == 3
    assert "`no-such-host.invalid` cannot be resolved" in capsys.readouterr().err
