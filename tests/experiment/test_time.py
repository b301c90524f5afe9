"""How a ladder spends its time: nothing is given up half-measured, and its guess is honest."""

import math
from dataclasses import dataclass
from statistics import fmean, stdev

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.conformance.record import sample_start, sample_window
from tests.rows import each_row

from httpdyno.experiment.decide.claim import Claim, Terms, claim
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.comparison import is_within_reach
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, Stage, StartDone
from httpdyno.experiment.trial.budget import CLOSING_RATIO
from httpdyno.model import Objective
from httpdyno.stats.sequence import half_width_factor


@dataclass(kw_only=True)
class DearBench(FakeBench):
    """Starts cost more than the calibration's: fewer, longer windows; more processes."""

    dearer_s: float = 1.5

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        more_s = self.dearer_s if request.comparison else 0.0
        return structs.replace(record, duration_s=record.duration_s + more_s)


def _run(study, budget_s, throughput, **bench):
    seen: list[Event] = []
    outcome = run_plan(
        make_plan(study, seed=3, budget_s=budget_s),
        bench=DearBench(throughput_per_s=throughput, window_sd=0.2, start_sd=0.1, **bench),
        store=MemoryStore(),
        run_id="1",
        watch=seen.append,
    )
    return outcome, seen


@pytest.mark.parametrize(
    ("budget_s", "look_s", "count_s"),
    [
        *((60.0, 0.0, 0.0), (90.0, 0.0, 0.0), (110.0, 0.0, 0.0)),
        *((75.0, 4.0, 0.0), (90.0, 1.0, 8.0), (110.0, 4.0, 6.0), (150.0, 8.0, 8.0)),
    ],
)
@pytest.mark.parametrize("gain", [1.0, 1.5])
def test_a_step_that_was_begun_has_its_fewest_starts(study, budget_s, look_s, count_s, gain):
    outcome, _ = _run(
        study,
        budget_s,
        lambda values: 400 * gain ** values["good"],
        look_s=look_s,
        count_s=count_s,
    )
    assert outcome.steps
    assert [s.comparison.n_starts >= 6 for s in outcome.steps] == [True] * len(outcome.steps)
    assert outcome.duration_s <= budget_s * 1.05


@pytest.mark.parametrize("budget_s", [60.0, 90.0, 110.0])
def test_the_time_left_is_never_more_than_the_budget_has(study, budget_s):
    _, seen = _run(study, budget_s, lambda values: 400 * 1.5 ** values["good"])
    looks = [event for event in seen if isinstance(event, Stage | StartDone)]
    assert all(0 <= (event.left_s or 0.0) <= budget_s - event.elapsed_s for event in looks)


@each_row(
    ("at_best", "left_s", "is_near"),
    [(16, 30.0, True), (16, 29.9, False), (10, 0.0, True), (None, 1e9, False)],
)
def test_what_luck_could_decide_in_the_time_is_within_reach(at_best, left_s, is_near):
    state = Claim(verdict="inconclusive", reasons=(), n_starts=10, starts_at_best=at_best)
    assert is_within_reach(state, left_s, 5.0) == is_near


def test_time_that_decides_nothing_else_is_for_more_luck():
    state = _state(1.05, n_starts=6)
    assert state.verdict == "inconclusive"
    at_best, at_luckiest = state.starts_at_best or 0, state.starts_at_luckiest or 0
    assert 6 < at_luckiest < at_best
    left_s = at_luckiest - 6.0
    assert not is_within_reach(state, left_s, 1.0)
    assert is_within_reach(state, left_s, 1.0, is_left_over=True)
    assert not is_within_reach(state, left_s - 0.1, 1.0, is_left_over=True)


def test_a_guess_of_the_starts_needed_allows_for_its_own_error():
    """Six starts that happen to lie close to 1 do not make a comparison hopeless."""
    for gain in (1.0, 1.02, 1.1):
        state = _state(gain, n_starts=6)
        assert state.verdict == "inconclusive"
        assert state.starts_at_best is not None
        assert state.starts_needed is None or state.starts_at_best < state.starts_needed
    # Where the spread of a start is known well, luck brings little.
    few, many = (_state(1.0, n_starts=n).starts_at_best or 0 for n in (6, 60))
    assert many > 10 * few


@pytest.mark.parametrize("seed", range(5))
def test_a_ladder_ends_early_only_where_not_even_great_luck_decides_an_open_step(study, seed):
    """Its real step shows in most runs; the others do nothing, and are given up in the end."""
    knobs = [structs.replace(knob, levels=knob.levels[:1], book_ratio=()) for knob in study.knobs]
    budget_s = 150.0
    method = structs.replace(study.method, window_s=0.05, lead_in_s=0.02)
    study = structs.replace(study, knobs=tuple(knobs), method=method)
    plan = make_plan(study, seed=seed, budget_s=budget_s)
    bench = FakeBench(
        throughput_per_s=lambda values: 4_200.0 if values["good"] else 4_000.0,
        start_sd=0.04,
        seed=seed,
    )
    seen: list[Event] = []
    outcome = run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=seen.append)
    start_s = max(step.comparison.duration_s / step.comparison.n_starts for step in outcome.steps)
    is_used_up = outcome.duration_s > budget_s * (1 - CLOSING_RATIO) - 3 * 6 * start_s * 1.1
    for step in outcome.steps:
        if step.comparison.verdict != "inconclusive" or is_used_up:
            continue
        logs = [math.log(ratio) for ratio in step.comparison.per_start_ratio]
        luck = abs(fmean(logs)) + 2 * stdev(logs) / math.sqrt(len(logs))
        left_s = budget_s - outcome.duration_s
        n = len(logs) + int(left_s / start_s)
        assert half_width_factor(n, alpha=0.05) * stdev(logs) > luck, step.knob


def _state(gain, n_starts):
    """Return the claim after starts that lie evenly around a gain."""
    places = [place / (n_starts - 1) - 1 / 2 for place in range(n_starts)]
    starts = []
    for number, place in enumerate(places):
        served = (24_000, round(24_000 * gain * math.exp(0.3 * place)))
        windows = [
            sample_window(start=number, arm=arm, completed=n) for arm, n in enumerate(served)
        ]
        starts.append(structs.replace(sample_start(start=number), windows=tuple(windows)))
    return claim(starts, Terms(objective=Objective(), min_starts=6))
