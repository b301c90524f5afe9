"""When a comparison goes on, when it ends, and how many starts are measured between two looks."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.experiment.test_littles_law import steady_starts

from httpdyno.experiment.decide.claim import Claim, Terms, claim
from httpdyno.experiment.design.plan import MAX_STARTS, compare_plan
from httpdyno.experiment.method.comparison import Allowance, can_be_decided, nearest, run_comparison
from httpdyno.experiment.method.session import Session
from httpdyno.model import Cycles, Method, Objective
from httpdyno.report.shared.message import joined

START_S = 2.5
"""What a start of these takes: two windows of half a second and their lead-in for each arm."""
SD = 0.02


@dataclass(kw_only=True)
class GivenBench(FakeBench):
    """Starts whose log ratio is given by their number, not drawn; some have no CPU time."""

    throughput_per_s: Callable[..., float] = lambda _values: 40_000.0
    log_ratio: Callable[[int], float] = lambda _number: 0.0
    is_silent: Callable[[int], bool] = lambda _number: False
    start_s: float = START_S - 4 * 0.6
    start_sd: float = 0.0
    window_sd: float = 0.0
    drift_sd: float = 0.0

    def measure_start(self, request, save):
        ratio = math.exp(self.log_ratio(request.start))
        cpu_s = 0.0 if self.is_silent(request.start) else 0.001
        self.throughput_per_s = lambda values: 40_000 * (ratio if values["good"] else 1.0)
        self.cpu_s_per_request = lambda values: cpu_s / (ratio if values["good"] else 1.0)
        return super().measure_start(request, save)


def scattered(effect_sd):
    """Return log ratios around so many standard deviations of one start, always as far from it."""
    return lambda number: SD * (effect_sd + (0.93 if number % 2 else -0.93))


@pytest.fixture
def quick(study):
    """Starts of two short windows."""
    return structs.replace(study, method=Method(window_s=0.5, lead_in_s=0.1, blocks_per_start=2))


def compared(study, bench, *, budget_s=10_000.0, **allowed):
    """Return what a comparison says that may use so many times a start, and how long it took."""
    start = study.start_configuration()
    arms = start, start.replaced("good", 1)
    plan = compare_plan(study, *arms, seed=1, budget_s=budget_s)
    session = Session(
        plan=plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    times = {name: n_starts * START_S for name, n_starts in allowed.items() if name != "is_last"}
    is_last = allowed.get("is_last", False)
    allowance = Allowance(**{"limit_s": 0.0, **times}, n_blocks=2, is_last=is_last)
    return run_comparison(session, session.begin("step 1 of 1", arms), arms, allowance)


@pytest.mark.parametrize("share", [6.4, 7.4])
@pytest.mark.parametrize("n_at_once", [1, 8])
def test_a_step_that_is_nearly_decided_borrows_from_later_ones(quick, share, n_at_once):
    """Eleven starts decide it, eight at best: its share is over, or does not hold the eight."""
    bench = GivenBench(log_ratio=scattered(1.2), n_at_once=n_at_once)
    told = compared(quick, bench, time_s=share, limit_s=20.0)
    assert told.verdict == "better"
    assert share < told.n_starts <= 14
    alone = GivenBench(log_ratio=scattered(1.2), n_at_once=n_at_once)
    own = compared(quick, alone, time_s=share, limit_s=share)
    assert (own.verdict, own.n_starts <= share) == ("inconclusive", True)


@pytest.mark.parametrize("effect_sd", [0.0, 0.6])
def test_what_is_far_from_a_decision_borrows_nothing(quick, effect_sd):
    """No difference is worth its own time; and more starts than there are are not borrowed."""
    bench = GivenBench(log_ratio=scattered(effect_sd))
    told = compared(quick, bench, time_s=6.4, limit_s=200.0)
    assert (told.verdict, told.n_starts) == ("inconclusive", 6)


@pytest.mark.parametrize(("share", "n_starts"), [(3.5, 6), (7.5, 7)])
def test_what_the_fewest_starts_may_use_is_for_no_more_than_them(quick, share, n_starts):
    bench = GivenBench(log_ratio=scattered(0.6), n_at_once=8)
    told = compared(quick, bench, time_s=share, limit_s=share, whole_s=20.0, is_last=True)
    assert told.n_starts == n_starts


def open_state(n_starts, at_luckiest):
    return Claim(
        verdict="inconclusive", reasons=(), n_starts=n_starts, starts_at_luckiest=at_luckiest
    )


def test_the_step_that_goes_on_is_the_one_that_misses_the_fewest_starts():
    """However many it has: those with the most evidence would come last otherwise."""
    states = {0: open_state(6, 10), 1: open_state(40, 42), 2: open_state(7, None)}
    assert nearest(states, 100.0, 1.0) == 1
    assert nearest({0: open_state(6, 10), 3: open_state(8, 12)}, 100.0, 1.0) == 0
    assert nearest(states, 1.0, 1.0) is None
    assert nearest({}, 100.0, 1.0) is None


@pytest.fixture
def by_cpu(quick):
    """Decided by CPU time, of which some starts have none."""
    return structs.replace(quick, objective=Objective(metric="cpu_s_per_request"))


def test_starts_without_a_figure_count_for_the_most_that_there_may_be(by_cpu, monkeypatch):
    monkeypatch.setattr("httpdyno.experiment.method.comparison.MAX_STARTS", 28)
    monkeypatch.setattr("httpdyno.experiment.method.comparison.can_be_decided", lambda *_: True)
    bench = GivenBench(
        log_ratio=scattered(0.0), is_silent=lambda number: number % 4 == 1, n_at_once=8
    )
    told = compared(by_cpu, bench, budget_s=math.inf, time_s=math.inf, is_last=True)
    assert (told.verdict, told.n_starts) == ("inconclusive", 28)
    assert len(told.per_start_ratio) == 21
    assert joined(told.reasons).endswith("28 starts are the most")


def test_a_comparison_whose_starts_hardly_ever_give_a_figure_ends(by_cpu):
    """One of sixty-seven: of four hundred starts not even the fewest figures are to be had."""
    bench = GivenBench(is_silent=bool)
    told = compared(by_cpu, bench, budget_s=math.inf, time_s=math.inf, is_last=True)
    assert (told.verdict, told.n_starts) == ("inconclusive", 67)
    assert "1 start of 67 gave a figure" in joined(told.reasons)
    assert f"and {MAX_STARTS} are the most" in joined(told.reasons)


@pytest.mark.parametrize("budget_s", [10_000.0, math.inf])
def test_a_start_without_a_figure_costs_one_more_and_ends_nothing(by_cpu, budget_s):
    bench = GivenBench(log_ratio=lambda number: 0.5 + 0.01 * (number % 2),
                       is_silent=lambda number: number == 2)  # fmt: skip
    told = compared(by_cpu, bench, budget_s=budget_s, time_s=budget_s / 100)
    assert (told.verdict, told.n_starts, len(told.per_start_ratio)) == ("better", 7, 6)


def test_where_half_of_the_starts_have_a_figure_a_decision_takes_twice_as_many(by_cpu):
    def seen(is_silent, n_starts):
        bench = GivenBench(log_ratio=scattered(0.8), is_silent=is_silent)
        told = compared(by_cpu, bench, time_s=n_starts + 0.1, is_last=True)
        assert len(told.per_start_ratio) == 10
        return told.needed_s

    whole_s = seen(lambda _number: False, 10)
    half_s = seen(lambda number: number // 2 % 2 == 1, 20)
    assert half_s == pytest.approx(2 * whole_s)


def off_by(ratio):
    def broken(cycles: Cycles, _n_ended: int) -> Cycles:
        return structs.replace(cycles, credit=cycles.credit * ratio)

    return broken


def test_a_doubt_that_chance_may_have_made_ends_nothing_before_twice_the_fewest_starts():
    """It passes with more starts, or it is told of them all."""
    terms = Terms(objective=Objective(), min_starts=6)
    starts = steady_starts("constant", 1.2, off_by(1.1))
    starts += [structs.replace(start, start=start.start + 8) for start in starts]
    early, late = claim(starts[:11], terms), claim(starts[:12], terms)
    assert [each.is_doubted for each in (early, late)] == [True, True]
    assert can_be_decided(early, MAX_STARTS)
    assert not can_be_decided(late, MAX_STARTS)
    assert early.starts_needed is None, "nobody knows what it takes"


def test_looks_at_servers_are_no_reason_to_refuse_a_budget(quick):
    """They take 60 s of the first start, and nothing of the five others that are needed."""
    arms = quick.start_configuration(), quick.start_configuration().replaced("good", 1)
    plan = compare_plan(quick, *arms, seed=1, budget_s=100.0)
    bench = GivenBench(log_ratio=scattered(0.0), look_s=30.0)
    session = Session(
        plan=plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    allowance = Allowance(
        time_s=session.left_s, limit_s=session.left_s, n_blocks=2, must_decide=True, is_last=True
    )
    result = run_comparison(session, session.begin("comparison", arms), arms, allowance)
    assert result.n_starts >= quick.method.min_starts
    assert session.looked_s(result.index) == 60.0
    assert session.spent_s <= 100.0
