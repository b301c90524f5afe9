"""Running servers looked at when their turns are done: which of them, and for how long."""

import pytest
from msgspec import structs
from tests.report.turns.test_turns import outcome
from tests.rows import each_row
from tests.words import words

from httpdyno.experiment.method.turns import run_turns, with_looks
from httpdyno.experiment.trial import look as running_look
from httpdyno.experiment.trial.look import LOOK_S
from httpdyno.experiment.trial.running_bench import RunningBench
from httpdyno.model import Look
from httpdyno.reason import Reason

SEEN = Look(seconds=0.7, n_samples=14, workers=2.0, cpu_s=0.2, answers=50.0)


def asked_of(pids, duration_s):
    """Return what turns of servers with these processes came to in so many seconds."""
    before = outcome(len(pids))
    instances = tuple(
        structs.replace(each, root_pid=pid)
        for each, pid in zip(before.plan.instances, pids, strict=True)
    )
    plan = structs.replace(before.plan, instances=instances, duration_s=duration_s)
    return structs.replace(before, plan=plan)


@pytest.fixture
def looked(monkeypatch):
    """Look at servers with these processes after so many seconds of turns."""

    def look(pids, *, duration_s=60.0, is_over=lambda: False, error=None):
        lengths_s: list[float] = []
        said: list[Reason] = []

        def looks_in(_onlookers, windows, *_):
            lengths_s.append(windows[0].measure_s)
            if error:
                raise error
            return {0: SEEN}

        monkeypatch.setattr(running_look, "looks_in", looks_in)
        before = asked_of(pids, duration_s)
        after = with_looks(before, is_over, said.append)
        summaries = [summary for _, summary in after.arms]
        bare = [structs.replace(each, look=None, bottleneck=None) for each in summaries]
        assert after.with_summaries(tuple(bare)) == before
        has_look = [each.bottleneck is not None for each in summaries]
        assert has_look == [each.look is not None for each in summaries]
        return has_look, lengths_s, said

    return look


def test_each_whose_processes_are_known_is_looked_at_when_all_is_measured(looked):
    has_look, lengths_s, said = looked([11, 0, 13])
    assert has_look == [True, False, True]
    assert lengths_s == [LOOK_S, LOOK_S]
    assert len(said) == 2


@pytest.mark.parametrize(
    ("pids", "more"),
    [
        ([11, 11], {}),  # two URLs of one process
        ([0, 0], {}),  # on another machine
        ([11, 12], {"duration_s": 19.0}),  # more of it than a tenth of the turns
        ([11, 12], {"is_over": lambda: True}),
    ],
)
def test_nobody_looks_where_it_says_nothing_or_takes_long(looked, pids, more):
    assert looked(pids, **more) == ([False, False], [], [])


def test_what_cannot_be_seen_loses_no_comparison(looked):
    has_look, _, said = looked([11, 12], error=ValueError("odd"))
    assert has_look == [False, False]
    assert "ValueError('odd')" in words(said[-1])


@each_row(
    ("pids", "duration_s", "most_s"),
    [
        ([11, 0], 9.0, 0.0),
        ([11, 0], 10.0, LOOK_S),
        ([11, 12], 20.0, 2 * LOOK_S),
        ([0, 0], 60.0, 0.0),
    ],
)
def test_turns_leave_the_time_of_looks(pids, duration_s, most_s):
    plan = asked_of(pids, duration_s).plan
    bench = BrokenOff(plan, fewest_blocks=6)
    with pytest.raises(StopIteration):
        run_turns(plan, bench, lambda _: None, lambda: False)
    [request] = bench.requests
    assert request.limit_s == duration_s - most_s
    assert len(request.arms) == len(plan.instances)


class BrokenOff(RunningBench):
    """A bench that takes what it is asked for, and measures nothing."""

    def measure_starts(self, requests, save):
        self.requests = requests
        raise StopIteration
