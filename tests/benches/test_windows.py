"""The bench of windows: it judges by the truth, and run small it finds none missed."""

import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest
from tests.load.origin import origin

BENCH = Path(__file__).parents[2] / "benches" / "windows"
DEADLINE_S = 50.0


@pytest.fixture(scope="module")
def bench():
    loader = SourceFileLoader("benches_windows", str(BENCH))
    spec = spec_from_loader("benches_windows", loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules["benches_windows"] = module
    loader.exec_module(module)
    yield module
    del sys.modules["benches_windows"]


def row(truth, ratio, interval, verdict, kind="exponential"):
    low, high = interval
    return {
        "case": {"kinds": (kind, kind)},
        "name": "a case",
        "truth": truth,
        "ratio": ratio,
        "low": low,
        "high": high,
        "verdict": verdict,
        "reason": "",
        "n_starts": 6,
        "duration_s": 1.0,
        "caveats": [],
    }


GOOD = row(1.22, 1.2, (1.1, 1.3), "better")


@pytest.mark.parametrize(
    ("rows", "is_met", "said"),
    [
        ([GOOD] * 3, True, "wrong sign: 0 of 3"),
        ([GOOD, row(1.22, 0.67, (0.64, 0.71), "worse")], False, "wrong sign: 1 of 2"),
        ([row(1.22, 1.5, (1.45, 1.55), "better")] + [GOOD] * 9, False, "outside: a case"),
        ([row(1.22, 1.25, (1.1, 1.4), "better", "constant")] * 2, False, "within 2%: 0 of 2"),
        ([row(1.22, 1.221, (1.2212, 1.2214), "better", "constant")] * 2, True, "within 2%: 2 of 2"),
        ([row(1.22, 1.1, (0.9, 1.3), "inconclusive")] * 9, False, "bias, varied: -10"),
        ([GOOD, {"name": "slow", "refused": "no"}], False, "without the time that it takes: 1"),
        ([GOOD, {"name": "slow", "refused": "; it takes about 5 min"}], True, "refused: 1"),
        ([{**GOOD, "ratio": None}, GOOD], False, "that it takes: 1"),
    ],
)
def test_a_goal_that_is_missed_is_told(bench, rows, is_met, said):
    told = bench.judged(rows)
    assert told["is_met"] is is_met
    assert any(said in line for line in told["lines"]), told["lines"]


def test_a_case_with_a_known_truth_is_measured_and_judged_by_it(tmp_path):
    with origin():
        pass  # skips where it is not built
    file = tmp_path / "told.json"
    options = ["--pair", "22,17", "--blocks", "1", "--budget", "30s", "--json", str(file)]
    command = [sys.executable, str(BENCH), *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=DEADLINE_S)
    assert file.exists(), done.stderr
    told = json.loads(file.read_text())
    assert done.returncode == (0 if told["is_met"] else 1), done.stderr
    seen = told["results"][0]
    assert "wrong sign: 0 of 1" in done.stdout
    assert seen["n_starts"] >= 6
    # However busy the machine is, it may not be certain of what is not so.
    assert seen["low"] * 0.98 <= seen["truth"] <= seen["high"] * 1.02
