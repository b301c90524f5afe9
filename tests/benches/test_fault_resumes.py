"""Two lives of a run that end by `kill -9`; a hundred and eleven of them are in the bench."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from benches.faults.resumes import measure

_SHOWN_S = 30.0


@pytest.mark.timeout(180)
def test_what_a_killed_run_had_stored_is_there_and_it_goes_on():
    counts = {count.name: count for count in measure(2, seed=1)}
    assert len(counts) == 4
    assert [count.line() for count in counts.values() if not count.is_good] == []
    assert "came to their end" in counts["windows and starts lost"].note


def test_a_bench_that_is_ended_from_outside_leaves_nothing():
    before = set(Path("/var/tmp").glob("faults-*"))
    bench = subprocess.Popen([sys.executable, "-m", "benches.faults", "--only", "resumes"])
    try:
        until_s = time.monotonic() + _SHOWN_S
        while not (made := set(Path("/var/tmp").glob("faults-*")) - before):
            assert time.monotonic() < until_s, "it never began"
            time.sleep(0.02)
        time.sleep(1.0)
        below = psutil.Process(bench.pid).children(recursive=True)
        assert below
        bench.send_signal(signal.SIGTERM)
        assert bench.wait(_SHOWN_S) == 128 + signal.SIGTERM
        assert not any(folder.exists() for folder in made)
        _, alive = psutil.wait_procs(below, timeout=_SHOWN_S)
        assert not alive
    finally:
        bench.kill()
        bench.wait()
