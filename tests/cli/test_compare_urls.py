"""`httpdyno compare --url`: servers that run already, whose timing is known here."""

import json
from contextlib import ExitStack

import pytest
from tests.load.origin import origin

from httpdyno.cli.app import run

A, B = "http://127.0.0.1:8901/", "http://127.0.0.1:8902/"


@pytest.fixture(scope="module")
def servers():
    """Three servers: the third one takes longer for each answer."""
    with ExitStack() as stack:
        quick = [stack.enter_context(origin()) for _ in range(2)]
        yield (*quick, stack.enter_context(origin("--service", "fixed:4ms")))


def compared(capsys, *words):
    code = run(["compare", *words, "--json", "-"])
    seen = capsys.readouterr()
    assert code == 0, seen.err
    return json.loads(seen.out)


def test_a_slower_server_is_worse_and_each_is_held_against_the_first(servers, capsys, own_folders):
    page = own_folders / "turns.html"
    urls = [word for each in servers for word in ("--url", f"{each.url}/fixed/2ms")]
    urls[-1] = f"{servers[2].url}/fixed/2ms"
    found = compared(capsys, *urls, "-c", "4", "-d", "3s", "--html", str(page))
    assert [each["url"] for each in found["plan"]["instances"]] == urls[1::2]
    assert [each["index"] for each in found["comparisons"]] == [1, 2]
    assert found["n_periods"] >= 6
    assert found["objective"]["metric"] == "throughput_per_s"
    for each in found["comparisons"]:
        assert each["ratios"]["throughput"]["confidence"] == pytest.approx(0.975)
    assert "not about their configurations" in found["warnings"][0]["reason"]["text"].replace(
        "\n", " "
    )
    assert page.read_text().startswith("<!doctype html>")


def test_a_slower_server_is_proven_worse(servers, capsys):
    first, slow = servers[0], servers[2]
    found = compared(capsys, "--url", first.url, "--url", slow.url, "-c", "2", "-d", "3s")
    [claimed] = found["comparisons"]
    assert claimed["verdict"] == "worse"
    assert claimed["ratios"]["throughput"]["high"] < 1
    assert claimed["b"]["latency_s"]["p50"] >= 0.004


def test_at_a_rate_latency_decides(servers, capsys):
    first, slow = servers[0], servers[2]
    words = ["--url", first.url, "--url", slow.url, "--rate", "400/s", "-c", "8", "-d", "4s"]
    found = compared(capsys, *words)
    assert found["objective"]["metric"].startswith("latency_")
    assert found["comparisons"][0]["verdict"] == "worse"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--url", A], 2, "one URL is compared with nothing"),
        (["--url", A, "--url", A], 2, "is given twice"),
        (["--url", A, "--url", f"{B}other"], 2, "ask for different things"),
        (["--url", "http://a.test:1/", "--url", "http://b.test:1/"], 2, "name different hosts"),
        (["--url", A, "--url", "http://8.8.8.8/"], 2, "neither this machine nor in a private"),
        (["bookmarks", "--url", A, "--url", B], 2, "a study cannot be beside `--url`"),
        (["--url", A, "--url", B, "--b", "workers=1"], 2, "`--b` cannot be beside `--url`"),
        (["--url", A, "--url", B, "--budget", "3s"], 2, "`-d` says how long"),
        (["--url", A, "--url", B, "--metric", "p95_s"], 2, "`--metric` cannot be beside `--url`"),
        (["--url", A, "--url", B, "--also", "p95_s"], 2, "`--also` cannot be beside `--url`"),
        (["bookmarks", "--b", "workers=1", "-c", "3"], 2, "`-c` is for `--url`"),
        (["bookmarks"], 2, "missing option `--b`, or running servers by `--url`"),
        (["--url", A, "--url", B, "--rate", "fast"], 2, "`--rate fast` makes no sense"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_load(words, code, message, capsys):
    assert run(["compare", *words]) == code
    assert message in capsys.readouterr().err


def test_a_server_without_a_right_answer_is_named(servers, capsys):
    urls = [f"{each.url}/status/503" for each in servers[:2]]
    assert run(["compare", "--url", urls[0], "--url", urls[1], "-c", "2", "-d", "2s"]) == 3
    seen = capsys.readouterr().err
    assert f"`{urls[0]}` gave no right answer to" in seen
    assert "status 503" in seen


def test_a_time_that_holds_too_few_periods_is_refused(servers, capsys):
    urls = [f"{each.url}/fixed/100ms" for each in servers[:2]]
    assert run(["compare", "--url", urls[0], "--url", urls[1], "-c", "1", "-d", "2s"]) == 2
    seen = capsys.readouterr().err
    assert "nothing is claimed of fewer than 6" in seen
    assert "hint: these servers take about `-d " in seen
