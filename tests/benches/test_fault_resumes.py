"""Two lives of a run that end by `kill -9`; a hundred and eleven of them are in the bench."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from benches.faults.resumes import measure

REPOSITORY = Path(__file__).parents[2]
DEADLINE_S = 90.0


@pytest.mark.timeout(180)
def test_what_a_killed_run_had_stored_is_there_and_it_goes_on():
    counts = {count.name: count for count in measure(2, seed=1)}
    assert len(counts) == 4
    assert [count.line() for count in counts.values() if not count.is_good] == []
    assert "came to their end" in counts["windows and starts lost"].note


@pytest.mark.timeout(300)
def test_a_bench_that_is_ended_removes_its_folder_and_ends_its_commands():
    with subprocess.Popen(
        [sys.executable, "-m", "benches.faults", "--only", "resumes", "--n", "100"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as bench:
        try:
            begun = command_and_servers(bench)
            folder = Path(begun[0].environ()["HTTPDYNO_DATA_DIR"]).parent
            assert folder.is_dir()
        finally:
            bench.terminate()
        assert bench.wait(2 * DEADLINE_S) == 143
    assert not folder.exists()
    # What a killed command had started ends by itself, when it sees that.
    _, alive = psutil.wait_procs(begun, timeout=DEADLINE_S)
    assert alive == []


def command_and_servers(bench):
    """Return the processes below a bench when its command runs; servers only if it is quick.

    On a busy machine it may be killed before it has begun any, each time.
    """
    deadline_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline_s:
        below = psutil.Process(bench.pid).children(recursive=True)
        with suppress(psutil.Error):
            if any("HTTPDYNO_DATA_DIR" in each.environ() for each in below[:1]):
                return below
        time.sleep(0.02)
    raise AssertionError("the bench began no run")
