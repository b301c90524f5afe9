"""Standing still is seen, and blamed on nobody."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from httpdyno.experiment.trial import server_bench
from httpdyno.experiment.trial.afterwards import Looked
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.cycles import CycleMoments
from httpdyno.experiment.trial.server_bench import Gaps, ServerBench
from httpdyno.report.shared.message import joined
from httpdyno.servers.adapter import NotRunning, own_words


def test_beats_that_come_in_time_are_no_gap():
    gaps = Gaps(100.0)
    for beat in range(1, 50):
        gaps.beat(100.0 + beat * 0.1)
    gaps.beat(105.9)  # a busy machine
    assert gaps.taken() == 0.0


def test_a_gap_is_told_once_and_without_the_beat_itself():
    gaps = Gaps(100.0)
    gaps.beat(100.1)
    gaps.beat(125.2)
    gaps.beat(125.3)
    assert gaps.are_any
    assert gaps.taken() == pytest.approx(25.0)
    assert gaps.taken() == 0.0
    assert not gaps.are_any


CHILD = """
import sys
from httpdyno.experiment.trial.server_bench import Pulse
with Pulse() as pulse:
    print("beating", flush=True)
    sys.stdin.readline()
    print(pulse.still_s())
"""


def test_a_stopped_process_knows_for_how_long_it_stood_still():
    with subprocess.Popen(
        [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            assert child.stdout.readline() == "beating\n"
            os.kill(child.pid, signal.SIGSTOP)
            state = Path(f"/proc/{child.pid}/stat")
            while state.read_text().rpartition(")")[2].split()[0] != "T":
                pass
            # It says nothing meanwhile; there is nothing to wait for but the time.
            assert select.select([child.stdout], [], [], 1.5)[0] == []
            os.kill(child.pid, signal.SIGCONT)
            child.stdin.write("\n")
            child.stdin.flush()
            assert float(child.stdout.readline()) >= 1.3
        finally:
            child.kill()


class _Deaf:
    """An adapter whose servers never answer, as far as anybody looked."""

    def version(self, *_):
        return "deaf 1.0"

    def spawn(self, *_):
        return NotRunning(status="hung", detail=own_words("no answer within 20 s"))


class _StoodStill:
    def __init__(self, *still_s):
        self._still_s = list(still_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def still_s(self):
        return self._still_s.pop(0)

    def stood_still(self):
        return self._still_s[0] > 0


def request_of(study, *, warm_up_s):
    start = study.start_configuration()
    return StartRequest(
        comparison=1,
        start=0,
        arms=(start, start),
        order=((0, 1),),
        window_s=0.1,
        lead_in_s=0.0,
        warm_up_s=warm_up_s,
    )


@pytest.mark.parametrize(("still_s", "status"), [(0.0, "hung"), (25.0, "unstable")])
def test_what_hung_while_nobody_looked_did_not_hang(study, monkeypatch, still_s, status):
    now = iter([100.0, 100.0, 147.0])
    monkeypatch.setattr(server_bench, "sleepless_s", lambda: next(now))
    monkeypatch.setattr(server_bench, "Pulse", lambda: _StoodStill(2.0, still_s))
    with ServerBench(adapter=_Deaf(), study=study, seed=1) as bench:  # type: ignore[arg-type]
        [record] = bench.measure_starts([request_of(study, warm_up_s=0.0)], lambda _window: None)
    assert record.statuses == (status, status)
    assert record.duration_s == 45.0 - still_s
    assert ("stood still for 25.0 s" in joined(record.details[1])) is (status == "unstable")


def test_no_later_window_is_chosen_by_latencies_of_a_disturbed_start(study, monkeypatch):
    slow = CycleMoments(n=8, sum_s=200.0, sum_s2=5000.0)
    monkeypatch.setattr(server_bench, "Pulse", lambda: _StoodStill(0.0, 25.0, 0.0, 0.0))
    monkeypatch.setattr(ServerBench, "_load", lambda *_: ([], Looked(), {0: slow}))
    request = request_of(study, warm_up_s=0.1)
    labels = [arm.label() for arm in request.arms]
    with ServerBench(adapter=_Deaf(), study=study, seed=1) as bench:  # type: ignore[arg-type]
        bench.measure_starts([request], lambda _window: None)
        assert bench._cycles.of(labels) == {}
        bench.measure_starts([request], lambda _window: None)
        assert bench._cycles.of(labels) == {0: slow, 1: slow}
