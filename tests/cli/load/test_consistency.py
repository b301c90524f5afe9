"""The figures of a load test's JSON agree with each other, whatever was asked for."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest
from tests.load.origin import origin

from httpdyno.cli.app import run

SLOW = "?service=fixed:60ms"
RUNS: dict[str, tuple[str, ...]] = {
    "counted": ("/", "-c", "3", "-n", "50"),
    "timed, answers after the end": (f"/{SLOW}", "-c", "5", "-d", "0.2s"),
    "counted or timed": ("/", "-c", "2", "-n", "1000000", "-d", "0.1s"),
    "a rate": ("/", "--rate", "300/s", "-d", "0.3s"),
    "a rate beyond the connections": (f"/{SLOW}", "-c", "2", "--rate", "300/s", "-d", "0.3s"),
    "wrong statuses": ("/status/404", "-c", "2", "-n", "20"),
    "impatience": (f"/{SLOW}", "-c", "3", "-d", "0.3s", "--timeout", "20ms"),
    "impatience at a rate": (f"/{SLOW}", "--rate", "100/s", "-d", "0.3s", "--timeout", "20ms"),
    "a mix": ("/", "-c", "3", "-n", "90", "--mix", "2 /a", "--mix", f"/b{SLOW}", "--mix", "/c"),
    "a page": ("/", "-c", "4", "-d", "0.2s", "--page", "/i: /a.css /b.js"),
    "sessions": (
        *("/", "--sessions", "60/s", "--visit-exactly", "3", "--think-exactly", "20ms"),
        *("-d", "0.3s"),
    ),
    "slow users": ("/", "-c", "4", "-d", "0.2s", "--slow", "64kbit:50%"),
    "no keep-alive": ("/", "-c", "2", "-n", "20", "--no-keepalive"),
}


def agrees(document: dict[str, Any]) -> None:
    """Check the rules that the manual states."""
    failed = sum(document["errors"].values())
    late = document["after_end"]
    course = document["course"]
    assert document["offered"] == document["completed"] + failed
    within = document["completed"] - late["completed"]
    assert document["throughput_per_s"] * document["measured_s"] == pytest.approx(within)
    assert sum(course["offered"]) == document["offered"]
    assert sum(course["completed"]) == within
    assert sum(course["errors"]) == failed - late["errors"]
    assert sum(document["series_completed"]) == document["completed"]
    assert sum(document["series_errors"]) == failed
    assert sum(document["latency_histogram"]["counts"]) == (
        document["completed"] + document["censored"]
    )
    for portions in (document["requests"], document["populations"]):
        if not portions:
            continue
        for portion in portions:
            assert portion["offered"] == portion["completed"] + sum(portion["errors"].values())
        for name in ("offered", "completed"):
            assert sum(portion[name] for portion in portions) == document[name]
        for kind, n in document["errors"].items():
            assert sum(portion["errors"].get(kind, 0) for portion in portions) == n
        if len(portions) == 1:
            assert portions[0]["latency_s"] == document["latency_s"]
    if document["completed"]:
        assert document["phases"]["transfer"]["n"] == document["completed"]


@pytest.mark.parametrize("words", RUNS.values(), ids=RUNS)
def test_the_figures_of_a_load_test_agree(words, tmp_path):
    target = tmp_path / "load.json"
    with origin("--length", "200") as server:
        run(["load", server.url + words[0], *words[1:], "--json", str(target)])
    document = json.loads(target.read_text())
    assert document["offered"] > 0
    agrees(document)


def test_the_figures_of_one_that_was_stopped_agree(tmp_path):
    target = tmp_path / "load.json"
    with origin() as server:
        words = ["load", f"{server.url}/{SLOW}", "-c", "5", "-d", "60s", "--json", str(target)]
        program = [sys.executable, "-m", "httpdyno", *words]
        with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert "loading" in process.stderr.readline()
            while server.ask("stats")["requests"] < 10:
                pass
            process.send_signal(signal.SIGINT)
    document = json.loads(target.read_text())
    assert document["is_interrupted"]
    agrees(document)
