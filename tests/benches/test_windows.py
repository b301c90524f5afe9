"""The bench of windows, run small: it finds the lie where it is, and none where it is not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.load.origin import origin

DEADLINE_S = 50.0
BENCH = Path(__file__).parents[2] / "benches" / "windows"


@pytest.fixture
def oracle_is_built():
    with origin():
        pass  # skips where it is not


def test_cases_with_a_known_truth_are_judged_by_it(oracle_is_built, tmp_path):
    # 0.1 s and then 0.05 s: of each user 3 answers end in it at 17 ms, and 2 at 22 ms.
    options = ("--pair", "22,17", "--blocks", "1", "--budget", "30s", "--json")
    runs = {
        name: subprocess.Popen(
            [sys.executable, str(BENCH), *options, str(tmp_path / name), *rule],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, rule in (("cycles", ()), ("ends", ("--count-ends",)))
    }
    said = {name: run.communicate(timeout=DEADLINE_S)[0] for name, run in runs.items()}
    rows = {name: json.loads((tmp_path / name).read_text())["results"] for name in runs}
    assert "wrong sign: 0 of 1" in said["cycles"]
    assert rows["cycles"][0]["verdict"] == "better"
    assert rows["cycles"][0]["ratio"] == pytest.approx(22 / 17, rel=0.06)
    # The bench has to see what is wrong where something is.
    assert runs["ends"].returncode == 1
    assert rows["ends"][0]["ratio"] == pytest.approx(3 / 2, rel=0.1)
    assert "outside" in said["ends"]
