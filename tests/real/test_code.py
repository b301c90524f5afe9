"""Perl as it calls bodies, by the command line: floor off, intervals, verdicts."""

import json

import pytest

from httpdyno.cli.app import run

pytestmark = [pytest.mark.real_server("perl"), pytest.mark.timeout(180)]


def compared(capsys, a, b):
    command = ["compare", "code-fragments", "--a", f"fragment={a}", "--b", f"fragment={b}"]
    code = run([*command, "--budget", "60s", "--seed", "11", "--json", "-"])
    said = capsys.readouterr()
    assert code == 0, said.err
    return json.loads(said.out)


def test_twenty_more_square_roots_are_nearly_twice_the_body(capsys):
    found = compared(capsys, "function-20", "function-40")["final"]
    ratio = found["ratios"]["cpu_per_call"]
    assert found["verdict"] == "worse"
    # 41 turns of a loop over 21, and a call in both: the interval holds what they can be.
    assert 1 < ratio["low"] < 2.1
    assert ratio["high"] > 1.6
    calls = found["b"]["calls"]
    assert calls["cpu_s"] > calls["empty_cpu_s"] > 0
    # The core may be shared: the clock runs on then, and CPU time does not.
    assert calls["wall_s"] > 0.9 * calls["cpu_s"]


def test_a_body_has_no_difference_to_itself_that_is_proven(capsys):
    command = ["compare", "code-fragments", "--a", "fragment=join", "--b", "fragment=join"]
    assert run([*command, "--same", "--budget", "15s", "--seed", "5", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["final"]
    assert found["verdict"] in {"equivalent", "inconclusive"}
    assert found["ratios"]["cpu_per_call"]["low"] <= 1 <= found["ratios"]["cpu_per_call"][
        "high"
    ] or (found["verdict"] == "equivalent")
