"""Runs without a budget: decisions end them, or that none can be had."""

import math

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.conformance.method import MethodConformance
from tests.rows import each_row

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import UsageError
from httpdyno.experiment.decide.claim import Claim, Terms
from httpdyno.experiment.design.plan import (
    MAX_STARTS,
    compare_plan,
    make_plan,
    with_budget,
)
from httpdyno.experiment.method.comparison import can_be_decided
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, Notice, Stage, StartDone
from httpdyno.model import Knob, Method, Objective
from httpdyno.report.shared.message import joined, text

QUICK = Method(window_s=0.5, lead_in_s=0.1, blocks_per_start=2)


@pytest.fixture
def quick(study):
    """Short starts, and a budget that is soon over."""
    return structs.replace(study, method=QUICK, budget_s=20.0)


def run(plan, bench, store=None, events=None):
    watch = (lambda _event: None) if events is None else events.append
    return run_plan(plan, bench=bench, store=store or MemoryStore(), run_id="1", watch=watch)


def compared(study, gain, *, store=None, events=None, **noise):
    """Return what a comparison says that no time ends."""
    start = study.start_configuration()
    plan = compare_plan(study, start, start.replaced("good", 1), seed=1, budget_s=math.inf)
    return run(plan, bench_of(gain, **noise), store, events).final


def bench_of(gain, **noise):
    return FakeBench(throughput_per_s=lambda values: 4_000 * gain ** values["good"], **noise)


class TestPairUntilDecided(MethodConformance):
    @pytest.fixture
    def plan(self, quick):
        start = quick.start_configuration()
        return compare_plan(quick, start, start.replaced("good", 1), seed=1, budget_s=math.inf)

    @pytest.fixture
    def throughput_per_s(self):
        return lambda values: 4_000 * (1.03 if values["good"] else 1.0)


class TestLadderUntilDecided(MethodConformance):
    @pytest.fixture
    def plan(self, quick):
        return make_plan(quick, seed=11, budget_s=math.inf)

    @pytest.fixture
    def throughput_per_s(self):
        """A limit hides what `good` brings until `bad` takes it away, so steps are tried again."""
        return lambda values: 4_000 * (1 + 0.1 * values["good"]) if values["bad"] else 2_000.0

    def test_each_step_goes_on_until_it_is_decided(self, whole):
        verdicts = {step.comparison.verdict for step in whole.steps}
        assert verdicts <= {"better", "equivalent", "worse"}
        assert [step.kept for step in whole.steps if step.knob == "bad"] == [True]
        assert whole.final.verdict == "better"
        assert whole.not_tried == ()


def test_a_small_difference_goes_on_beyond_the_studys_budget_until_it_is_decided(quick):
    final = compared(quick, 1.03, start_sd=0.03)
    assert final.verdict == "better"
    assert final.duration_s > quick.budget_s


def test_a_large_difference_ends_at_the_fewest_starts(quick):
    final = compared(quick, 2.0)
    assert (final.verdict, final.n_starts) == ("better", quick.method.min_starts)


def test_no_difference_ends_as_equivalent_where_starts_are_alike(quick):
    final = compared(quick, 1.0, start_sd=0.005, window_sd=0.005)
    assert final.verdict == "equivalent"
    assert final.n_starts < MAX_STARTS


def test_what_is_out_of_reach_ends_undecided_with_what_it_would_take(quick):
    final = compared(quick, 1.0, start_sd=0.3)
    assert final.verdict == "inconclusive"
    assert quick.method.min_starts <= final.n_starts < MAX_STARTS
    assert f"after {final.n_starts} starts; out of reach: even at best it takes" in joined(
        final.reasons
    )
    assert joined(final.reasons).endswith(f"and {MAX_STARTS} are the most")
    assert "far too long" not in joined(final.reasons)
    assert final.needed_s is None, "more time would not decide it"


def test_no_comparison_takes_more_starts_than_the_most(quick, monkeypatch):
    """Starts side by side come in batches, of which the last has no more than are missing."""
    monkeypatch.setattr("httpdyno.experiment.method.comparison.MAX_STARTS", 28)
    monkeypatch.setattr("httpdyno.experiment.method.comparison.can_be_decided", lambda *_: True)
    final = compared(quick, 1.0, start_sd=0.3, n_at_once=8)
    assert (final.verdict, final.n_starts) == ("inconclusive", 28)
    assert joined(final.reasons).endswith("after 28 starts; 28 starts are the most")


@each_row(("at_best", "can_be"), [(MAX_STARTS, True), (MAX_STARTS + 1, False), (None, False)])
def test_what_luck_could_decide_within_the_most_starts_goes_on(at_best, can_be):
    state = Claim(verdict="inconclusive", reasons=(), n_starts=10, starts_at_best=at_best)
    assert can_be_decided(state, MAX_STARTS) == can_be


def test_a_ladder_ends_though_a_step_is_out_of_reach(quick):
    """It is not begun again and again with time that has no end."""
    bench = FakeBench(
        throughput_per_s=lambda values: 4_000 * 3.0 ** bool(values["good"]), start_sd=0.3
    )
    events: list[Event] = []
    outcome = run(make_plan(quick, seed=2, budget_s=math.inf), bench, events=events)
    assert outcome.status == "complete"
    open_steps = [step for step in outcome.steps if step.comparison.verdict == "inconclusive"]
    assert open_steps
    assert all("out of reach" in joined(step.comparison.reasons) for step in open_steps)
    assert [step.change for step in outcome.steps if step.kept] == ["good: 0 → 1"]
    assert (outcome.final.verdict, outcome.not_tried) == ("better", ())
    [words] = [text(event.reason) for event in events if isinstance(event, Notice)]
    assert words.endswith(f"or more can be proven in {MAX_STARTS} starts")
    assert all(event.left_s is None or math.isfinite(event.left_s) for event in looks(events))


def looks(events):
    return [event for event in events if isinstance(event, Stage | StartDone)]


def test_an_equivalent_metric_waits_for_its_tie_breaker_no_longer_than_it_can_be_decided(quick):
    """Its own starts are long there, so they say nothing of how long it goes on."""
    objective = structs.replace(quick.objective, tie_breaker="cpu_s_per_request")
    study = structs.replace(quick, objective=objective)
    noisy = FakeBench(
        throughput_per_s=lambda _values: 4_000, start_sd=0.0, window_sd=0.0, drift_sd=0.0
    )
    draws = iter(range(10_000))
    noisy.cpu_s_per_request = lambda _values: 0.001 * (1 + 0.4 * math.sin(17.0 * next(draws)))
    start = study.start_configuration()
    plan = compare_plan(study, start, start.replaced("good", 1), seed=1, budget_s=math.inf)
    events: list[Event] = []
    final = run(plan, noisy, events=events).final
    assert (final.verdict, final.decided_by) == ("equivalent", "")
    assert study.method.min_starts < final.n_starts < MAX_STARTS
    last = [event for event in events if isinstance(event, StartDone)][-2]
    assert (last.verdict, last.open_metric) == ("equivalent", "cpu_s_per_request")
    assert last.left_s > 0


def test_a_tie_breaker_that_has_spoken_does_not_keep_a_metric_going_that_is_out_of_reach(quick):
    """It shows no difference at once, so it will not decide."""
    objective = structs.replace(quick.objective, tie_breaker="cpu_s_per_request")
    final = compared(structs.replace(quick, objective=objective), 1.0, start_sd=0.3)
    assert (final.verdict, final.decided_by) == ("inconclusive", "")
    assert final.ratios["cpu_per_request"].high < 1.001
    assert final.n_starts < MAX_STARTS
    assert "out of reach" in joined(final.reasons)


def test_a_cut_comparison_stands_by_what_it_found_and_goes_on_with_a_budget(quick):
    start = quick.start_configuration()
    plan = compare_plan(quick, start, start.replaced("good", 1), seed=1, budget_s=math.inf)
    store = MemoryStore()
    noise = {"start_sd": 0.03}
    cut = run(plan, bench_of(1.01, interrupt_after=9, **noise), store)
    assert (cut.status, cut.final.verdict, cut.final.n_starts) == ("interrupted", "inconclusive", 9)
    assert "most" not in joined(cut.final.reasons)
    more = with_budget(plan, cut.duration_s + 10.0)
    bench = bench_of(1.01, **noise)
    whole = run(more, bench, store)
    assert whole.status == "complete"
    assert 0 < bench.starts_measured <= 10
    assert whole.duration_s <= more.study.budget_s


def test_a_comparison_that_was_cut_before_anything_can_be_claimed_claims_nothing(quick):
    start = quick.start_configuration()
    plan = compare_plan(quick, start, start.replaced("good", 1), seed=1, budget_s=math.inf)
    cut = run(plan, bench_of(3.0, interrupt_after=5))
    assert (cut.status, cut.final) == ("interrupted", None)


def test_a_cut_comparison_says_that_its_candidate_breaks_a_limit(quick):
    objective = structs.replace(quick.objective, max_p99_s=0.001)
    study = structs.replace(quick, objective=objective)
    start = study.start_configuration()
    plan = compare_plan(study, start, start.replaced("good", 1), seed=1, budget_s=math.inf)
    cut = run(plan, bench_of(1.01, interrupt_after=9, start_sd=0.03))
    assert (cut.status, cut.final.verdict) == ("interrupted", "failed")
    assert "experiment.final_breaks_limit" in {caveat.code for caveat in cut.warnings}


@pytest.fixture
def slow_ladder(quick):
    """One step, and a final claim that both take many starts."""
    knobs = (structs.replace(quick.knobs[0], levels=(1,), book_ratio=()),)
    return make_plan(structs.replace(quick, knobs=knobs), seed=2, budget_s=math.inf)


def test_a_ladder_that_is_cut_in_its_final_claim_says_what_that_proves_so_far(slow_ladder):
    store, noise = MemoryStore(), {"start_sd": 0.04}
    bench = bench_of(1.04, **noise)
    whole = run(slow_ladder, bench)
    n_final = whole.final.n_starts
    assert n_final > 8, "it takes more than the fewest starts"
    cut_bench = bench_of(1.04, interrupt_after=bench.starts_measured - 2, **noise)
    cut = run(slow_ladder, cut_bench, store)
    assert (cut.status, cut.final.n_starts) == ("interrupted", n_final - 2)
    assert (cut.final.verdict, cut.final.index) == ("inconclusive", whole.final.index)
    assert "most" not in joined(cut.final.reasons)
    assert (cut.configuration, cut.withdrawn) == (whole.steps[0].comparison.a.configuration, None)
    resumed = run(slow_ladder, bench_of(1.04, **noise), store)
    assert (resumed.status, resumed.final) == ("complete", whole.final)
    early = bench_of(1.04, interrupt_after=bench.starts_measured - n_final + 5, **noise)
    assert run(slow_ladder, early).final is None, "nothing is claimed of five starts"


def test_a_run_of_a_budget_goes_on_until_decided(quick):
    start = quick.start_configuration()
    plan = compare_plan(quick, start, start.replaced("good", 1), seed=1)
    store = MemoryStore()
    short = run(plan, bench_of(1.03, start_sd=0.03), store).final
    assert short.verdict == "inconclusive"
    whole = run(with_budget(plan, math.inf), bench_of(1.03, start_sd=0.03), store).final
    assert whole.verdict == "better"
    assert whole.per_start_ratio[: short.n_starts] == short.per_start_ratio


def test_a_sweep_is_refused_because_nothing_ends_it(quick):
    swept = structs.replace(
        quick,
        knobs=(Knob(name="workers", start=1, levels=(1, 2)),),
        method=structs.replace(QUICK, kind="sweep", knob="workers"),
    )
    with pytest.raises(UsageError, match="`--until-decided` would never end it") as caught:
        make_plan(swept, seed=1, budget_s=math.inf)
    assert "`--budget`" in caught.value.hint
    start = swept.start_configuration()
    pair = compare_plan(swept, start, start.replaced("workers", 2), seed=1, budget_s=math.inf)
    assert pair.study.is_until_decided, "two of its levels can be decided"


def test_the_plan_says_what_ends_it(quick):
    lines = plan_lines(make_plan(quick, seed=7, budget_s=math.inf))
    assert f"budget    until decided, or out of reach of {MAX_STARTS} starts, seed 7" in lines


def test_terms_of_a_budget_know_no_most_starts():
    assert Terms(objective=Objective(), min_starts=6).most_starts is None
