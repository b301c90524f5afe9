"""What makes no sense to `httpdyno load`: one sentence, before anything is sent."""

from pathlib import Path

import pytest
from tests.cli.load.conftest import LOG

from httpdyno.cli.app import run
from httpdyno.cli.load import run as load_run

URL = "http://localhost:8000/"
TLS = "https://localhost:8443/"
PEM = str(Path(__file__).parents[2] / "load" / "pem")

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
    ([URL, "--warm-up", "0s"], "`--warm-up 0s` makes no sense; expected a time above 0"),
    ([URL, "--warm-up", "2"], "`--warm-up 2` makes no sense; expected a time such as `10s`"),
    ([URL, "--warm-up", "2s", "--stages", "5s: 5/s"], "`--warm-up` is for a load that goes on"),
    ([URL, "--warm-up", "2s", "--replay", "{log}"], "`--warm-up` is for a load that goes on"),
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
    ([URL, "-H", "Content-Length: 5"], "`Content-Length: 5` is wrong: the body has 0 bytes"),
    ([URL, "--data", "ab", "-H", "content-length: 3"], "is wrong: the body has 2 bytes"),
    ([URL, "--data", "x", "-H", "Transfer-Encoding: chunked"], "`Transfer-Encoding` cannot be"),
    ([URL, "-H", "Host: a", "-H", "host: b"], "`Host` is given 2 times: `a` and `b`"),
    ([URL, "--replay", "{log}", "-H", "Host: a", "-H", "Host: b"], "`Host` is given 2 times"),
    ([URL, "--replay", "{log}", "-H", "a b: c"], "`a b` is not a header's name"),
    ([URL, "--replay", "{log}", "-H", "X: {{host}}"], "the header `X` holds `{{host}}`"),
    ([URL, "--compressed", "-H", "accept-encoding: br"], "`--compressed` and the header"),
    ([URL, "-L", "--data", "a=1"], "`--location` asks once before the load, and a POST may"),
    ([URL, "-L", "--mix", "/x"], "`--location` is for the URLs of the command line"),
    ([URL, "-L", "--replay", "{log}"], "`--location` cannot be beside `--replay`"),
    ([URL, "--json", '{{"a": 1}}'], "`--json` names the file that the result is written to"),
    ([URL, "-u", "joe"], "`-u` has no colon"),
    (
        [URL, "-u", "a:b", "-H", "authorization: x"],
        "`-u` and the header `Authorization` say the same",
    ),
    ([URL, "-d", "@body.json"], "`-d @body.json` makes no sense"),
    ([URL, "--mix", "/search?q=red shoes"], "`--mix`: `/search?q=red` is followed by `shoes`"),
    ([URL, "-H", "a b: c"], "`a b` is not a header's name"),
    ([URL, "-H", "X: {{host}}"], "the header `X` holds `{{host}}`, expected one of"),
    ([URL + "{{id}}"], "the path `/{{id}}` holds `{{id}}`, expected one of `{{n}}`"),
    ([URL, "--data", "@none"], "`--data`: the body `@none` cannot be read: no such file"),
    ([URL, "--mix", "cart"], "`--mix`: `cart` is not a request"),
    ([URL, "--mix", "-1 /cart"], "`--mix`: `-1 /cart` is not a request"),
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
    ([URL, "--rate", "5/s", "--cookies", "--users", f"{1 << 32}"], "expected 1 to 4294967295"),
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
    (
        [URL, "-c", "8", "--connection-rate", "2000000000/s"],
        "`--connection-rate 2000000000/s` makes no sense",
    ),
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
    ([URL, "--think", "99999999h"], "`--think 99999999h` makes no sense; expected a time from 0"),
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

RATE = "a rate above 0, at most 1e9 per second"
TIME = "a time above 0 s, at most 1e9 s"
SLOW = "a line and a share above 0 %, at most 100 %, such as `28.8kbit:20%`"
OUT_OF_RANGE = [
    (["-c", "-3"], "1 to 1000000"),
    (["-c", "1000001"], "1 to 1000000"),
    (["-n", "-5"], "at least 1"),
    (["-n", "0"], "at least 1"),
    (["-d", "99999999h"], TIME),
    (["--timeout", "99999999h"], TIME),
    (["--timeout", "0s"], TIME),
    (["--think", "99999999h"], "a time from 0 s to 1e9 s"),
    (["--threads", "-2"], "at least 1"),
    (["--seed", "-1"], "a whole number of 0 or more"),
    (["--requests-per-connection", "-1"], "at least 1"),
    (["--requests-per-connection", "0"], "at least 1"),
    (["--visit-exactly", "-3"], "1 to 1e9 steps"),
    (["--rate", "99999999999/s"], RATE),
    (["--sessions", "99999999999/s"], RATE),
    (["--connection-rate", "99999999999/s"], RATE),
    (["--users", "-3", "--rate", "5/s", "--cookies"], "1 to 4294967295"),
    (["--new-users", "101%", "--cookies"], "a share from `0%` to `100%`"),
    (["--slow", "28.8kbit:101%"], SLOW),
    (["--slow", "28.8kbit:0%"], SLOW),
    (["--slow", "99Gbit:10%"], "at most 1e9 bytes per second"),
    (["--slow-buffer", "9GiB", "--slow", "1kbit:9%"], "at most 1 GiB"),
    (["--page-connections", "-1", "--page", "/: /x"], "1 to 1000"),
]
SAID_IN_OTHER_WORDS = [
    (
        ["--stages", "5s: 5/s, 99999999h: 5/s"],
        "`--stages '5s: 5/s, 99999999h: 5/s'`: the stage `99999999h: 5/s` makes no sense; "
        f"expected {TIME}",
    ),
    (
        ["--sessions", "5s:0/s..99999999999/s"],
        "`--sessions 5s:0/s..99999999999/s`: the stage `5s:0/s..99999999999/s` makes no sense; "
        "expected a rate from 0 to 1e9 per second",
    ),
    (
        ["--stages", "600000000s:1/s,600000000s:1/s"],
        "`--stages 600000000s:1/s,600000000s:1/s` makes no sense; "
        f"expected {TIME}, for all stages together",
    ),
    (["--mix", "0 /a", "--mix", "0 /b"], "nothing of `--mix` is to be sent: all weights are 0"),
    (["--page", "0 /a: /b"], "nothing of `--page` is to be sent: all weights are 0"),
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


@pytest.mark.parametrize(("words", "expected"), OUT_OF_RANGE, ids=[w[1] for w, _ in OUT_OF_RANGE])
def test_what_is_out_of_range_is_told_what_the_option_takes(files, capsys, words, expected):
    assert files
    assert run(["load", URL, *words]) == 2
    said = f"error: `{' '.join(words[:2])}` makes no sense; expected {expected}"
    assert capsys.readouterr().err.splitlines()[0] == said


@pytest.mark.parametrize(("words", "sentence"), SAID_IN_OTHER_WORDS)
def test_what_several_parts_say_is_refused_with_the_part(files, capsys, words, sentence):
    assert files
    assert run(["load", URL, *words]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"error: {sentence}"


def test_a_mix_of_nothing_says_what_to_do(files, capsys):
    assert files
    run(["load", URL, "--mix", "0 /a"])
    assert "hint: give a weight above 0 to what is to be sent" in capsys.readouterr().err


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
