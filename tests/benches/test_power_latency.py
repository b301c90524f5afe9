"""Latencies whose truth is known: what is compared, and how that is judged."""

import json
import random
from contextlib import contextmanager

import pytest
from benches.power import latency
from benches.power.figure import THIS, Interval, Setting
from benches.power.latency import Delay, Delayed, judged_delays
from benches.power.program import Ended
from benches.power.table import FIGURES
from tests.benches.power_shown import is_met, made, shown_by


def delayed(verdict, interval=(1.1, 1.3), **of_it):
    low, high = interval or (1.0, 1.0)
    middle = Interval(ratio=(low * high) ** 0.5, low=low, high=high)
    given = {"latencies_ms": (110.0, 90.0), "interval": interval and middle, "is_constant": True}
    return made(Delayed, given | of_it, verdict=verdict)


REFUSED_LATENCY = delayed("", refusal="too short; it takes about 5 min", interval=None)


@pytest.mark.parametrize(
    ("shown", "word"),
    [
        ([delayed("better")] * 20, [True, True, True]),
        ([delayed("better")] * 19 + [delayed("worse", (0.6, 0.7))], [False, True, True]),
        ([delayed("better")] * 9 + [delayed("better", (1.3, 1.4))], [True, False, True]),
        ([delayed("better", (1.2212, 1.2213))], [True, True, True]),
        ([delayed("better", (1.2212, 1.2213), is_constant=False)], [True, False, True]),
        ([delayed("equivalent", (0.995, 1.006))], [False, False, True]),
        ([delayed("inconclusive", needed_s=9.0, reason="open")], [True, True, True]),
        ([delayed("inconclusive", (0.7, 1.3), needed_s=9.0, reason="open")], [False, True, True]),
        ([delayed("inconclusive", reason="open")], [True, True, False]),
        ([delayed("better")] * 15 + [REFUSED_LATENCY] * 5, [True, True, True]),
        ([delayed("better")] * 14 + [REFUSED_LATENCY] * 6, [False, False, True]),
        ([REFUSED_LATENCY] * 20, [False, False, True]),
        ([delayed("", refusal="too short", interval=None)], [False, False, False]),
        ([delayed("", trouble="it broke", interval=None)], [False, False, False]),
    ],
)
def test_signs_intervals_and_silences_are_counted(shown, word):
    assert is_met(judged_delays(shown)) == word


def test_what_is_held_only_as_well_as_it_is_known_is_told():
    [_, part, _] = judged_delays([delayed("better")] * 19 + [delayed("better", (1.2212, 1.2213))])
    assert (
        part.words == "20 of 20 intervals hold the truth, 1 of them to 1% alone; 20 of 20 have one"
    )


def test_the_truth_of_latencies_is_that_of_the_origins(monkeypatch, tmp_path):
    jobs = []

    def run(command, **_):
        jobs.append(json.loads(command[-1]))
        said = json.dumps({"ratio": 1.2, "low": 1.1, "high": 1.3, "verdict": "better"})
        return Ended(stdout=said, stderr="", took_s=1.0, stolen_cores=0.0)

    options = []

    @contextmanager
    def origin(given):
        options.append(given)
        yield "127.0.0.1:1"

    monkeypatch.setattr(latency, "run", run)
    monkeypatch.setattr(latency, "origin", origin)
    monkeypatch.setattr(latency, "python", lambda tree: tree / "python")
    setting = Setting(trees={THIS: tmp_path}, folder=tmp_path, seed=1)
    lock = next(case for case in FIGURES[6].cases if isinstance(case, Delay) and case.is_lock)
    [shown] = shown_by(lock, setting, random.Random(3))
    held_us = [int(each[1].removeprefix("fixed:").removesuffix("us")) for each in options]
    assert [each[2:] for each in options] == [["--workers", "1"]] * 2
    assert shown.truth == pytest.approx(held_us[0] / held_us[1], rel=1e-3)
    assert jobs[0]["latencies_ms"][0] == pytest.approx(held_us[0] * lock.users / 1e3, rel=1e-3)
    assert 1.2 <= max(held_us) / min(held_us) <= 1.3
    assert shown.holds
