"""Servers that run already as a bench: one start, of as many blocks as its time holds."""

import pytest
from tests.experiment.test_turns_claim import turn

from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.method.turns import TurnDone, run_turns
from httpdyno.experiment.trial import engine_loads
from httpdyno.experiment.trial.running_bench import RunningBench
from httpdyno.model import Closed, Constant, Instance, TurnsPlan, Workload

URLS = ("http://a/", "http://b/")
AT_RATE = Constant(rate_per_s=1000.0)


class Load:
    """A load that is over at once, in which arms are silent from some window on."""

    def __init__(self, windows, on_edge, silent_from):
        self._seen = []
        for number, window in enumerate(windows):
            if on_edge:
                on_edge(number, True)
                on_edge(number, False)
            is_silent = number >= silent_from.get(window.arm, len(windows))
            failed = 400 if is_silent else 0
            self._seen.append(turn(number, window.arm, 0.01, failed=failed).measurement)

    def wait(self, _):
        return True

    def stop(self):
        pass

    def measurements(self):
        return self._seen


@pytest.fixture
def ran(monkeypatch):
    """Compare two servers for so long; return the outcome, and the windows of each load."""

    def run(duration_s=12.0, *, silent_from=(), asked_to_end=lambda: False, arrival=AT_RATE):
        loads = []

        def start_load(_workload, _addresses, windows, *, on_edge, **_settings):
            loads.append(windows)
            silent = dict(silent_from).get(len(loads) - 1, {})
            return Load(windows, on_edge, silent)

        monkeypatch.setattr(engine_loads, "start_load", start_load)
        plan = TurnsPlan(
            instances=tuple(Instance(url=url, address="127.0.0.1:1") for url in URLS),
            workload=Workload(arrival=arrival),
            duration_s=duration_s,
            seed=1,
        )
        bench = RunningBench(plan, fewest_blocks=6, asked_to_end=asked_to_end)
        done: list[TurnDone] = []
        outcome = run_turns(plan, bench, done.append, asked_to_end)
        assert [each.n_turns for each in done] == [*range(1, len(done) + 1)]
        return outcome, loads

    return run


def test_it_is_loaded_in_one_start_of_all_blocks_that_fit(ran):
    outcome, (pilot, windows) = ran()
    assert [window.arm for window in pilot] == [0, 1]
    # Of 60 that 12 s hold, without what has passed before.
    assert 6 <= outcome.n_periods == len(windows) / 2 < 60
    assert all({a.arm, b.arm} == {0, 1} for a, b in zip(windows[::2], windows[1::2], strict=True))
    [found] = outcome.comparisons
    assert (found.index, found.n_starts) == (1, outcome.n_periods)
    assert [each.url for each, _ in outcome.arms] == [*URLS]


def test_in_a_closed_loop_too_nothing_but_a_pilot_of_each_comes_before_the_blocks(ran):
    outcome, (pilot, windows) = ran(arrival=Closed())
    assert [window.arm for window in pilot] == [0, 1]
    assert outcome.n_periods == len(windows) / 2 >= 6


def test_a_time_that_holds_too_few_blocks_is_refused_with_one_that_does(ran):
    with pytest.raises(UsageError, match=r"500 ms hold \d periods of 2 turns") as caught:
        ran(0.5)
    assert "about `-d " in caught.value.hint


def test_who_answers_nothing_in_the_pilot_is_named(ran):
    with pytest.raises(TargetError, match="`http://b/` gave no right answer to 400 requests"):
        ran(silent_from={0: {1: 0}})


def test_who_falls_silent_later_fails_and_ends_nothing(ran):
    outcome, (_, windows) = ran(silent_from={1: {1: 20}})
    assert outcome.n_periods == len(windows) / 2 > 10
    assert [each.verdict for each in outcome.comparisons] == ["failed"]


def test_an_end_that_is_asked_for_in_the_pilot_leaves_no_period(ran):
    outcome, loads = ran(asked_to_end=lambda: True)
    assert (outcome.n_periods, outcome.is_interrupted, len(loads)) == (0, True, 1)
    assert [each.verdict for each in outcome.comparisons] == ["not_measured"]
