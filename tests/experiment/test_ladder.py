import math

import numpy as np
import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, FinalDone, StartDone, StepDone
from httpdyno.report.shared.message import joined, text

GOOD = {0: 1.0, 1: 1.5, 2: 1.8}


def _throughput(values):
    return 400 * GOOD[values["good"]] * (0.7 if values["bad"] else 1.0)


def _run(plan, bench=None, store=None, watch=lambda _event: None):
    return run_plan(
        plan,
        bench=bench or FakeBench(throughput_per_s=_throughput),
        store=store or MemoryStore(),
        run_id="1",
        watch=watch,
    )


def test_a_ladder_keeps_what_is_better_and_nothing_else(study):
    outcome = _run(make_plan(study, seed=7))
    assert outcome.status == "complete"
    assert [(s.change, s.comparison.verdict, s.kept) for s in outcome.steps[:3]] == [
        ("good: 0 → 1", "better", True),
        ("good: 1 → 2", "better", True),
        ("bad: false → true", "worse", False),
    ]
    assert outcome.steps[3].comparison.verdict in {"equivalent", "inconclusive"}
    assert outcome.configuration.values == {"good": 2, "bad": False, "inert": "a"}
    final = outcome.final.ratios["throughput"]
    assert final.low < 1.8 < final.high
    assert outcome.final.n_starts >= 6
    assert outcome.steps[0].book_ratio == 1.5
    assert "+good 2" in outcome.overlay_diff


def test_the_running_total_is_the_product_of_what_was_kept(study):
    steps = _run(make_plan(study, seed=7)).steps
    kept = [s.comparison.ratios["throughput"].ratio for s in steps if s.kept]
    assert steps[-1].running_ratio == pytest.approx(math.prod(kept))


def test_the_final_claim_rests_on_starts_that_no_step_has_used(study):
    store = MemoryStore()
    outcome = _run(make_plan(study, seed=7), store=store)
    index = outcome.final.index
    assert index not in {s.comparison.index for s in outcome.steps}
    assert len(store.starts("1", index)) == outcome.final.n_starts


def test_all_of_the_budget_and_not_much_more_is_used(study):
    for budget_s in (200.0, 600.0):
        outcome = _run(make_plan(study, seed=3, budget_s=budget_s))
        assert outcome.duration_s <= budget_s * 1.05
        assert outcome.final is not None


def test_a_budget_for_some_steps_tries_those_and_names_the_others(study):
    store = MemoryStore()
    outcome = _run(make_plan(study, seed=3, budget_s=44.0), store=store)
    assert outcome.duration_s <= 44.0
    assert [s.change for s in outcome.steps] == ["good: 0 → 1", "good: 1 → 2"]
    assert outcome.final.n_starts >= 6
    [caveat] = [c for c in outcome.warnings if c.code == "experiment.steps_not_tried"]
    assert "bad → true, inert → b" in text(caveat.reason)
    assert [(step.knob, step.to) for step in outcome.not_tried] == [("bad", True), ("inert", "b")]
    assert outcome.needed_s > 0


def test_a_budget_in_which_nothing_can_be_proven_is_refused_with_the_time_it_takes(study):
    with pytest.raises(UsageError, match=r"too short: one step takes about \d+ s here") as caught:
        _run(make_plan(study, seed=3, budget_s=20.0))
    assert caught.value.hint.startswith("`--budget ")


class Slower(FakeBench):
    """A change makes its starts dearer than those of a calibration, which knows of none."""

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        is_change = request.arms[0] != request.arms[-1]
        return structs.replace(record, duration_s=record.duration_s * (2 if is_change else 1))


def test_a_first_step_that_is_dearer_than_expected_is_measured_whole_in_place_of_a_final(study):
    outcome = _run(make_plan(study, seed=3, budget_s=34.0), Slower(throughput_per_s=_throughput))
    [step] = outcome.steps
    assert (step.comparison.verdict, step.comparison.n_starts >= 6) == ("better", True)
    assert outcome.final.verdict == "not_measured"
    assert outcome.final.needed_s > 0
    assert "no time was left" in text(outcome.withdrawn)
    assert outcome.duration_s <= 34.0


def test_a_refused_configuration_is_a_step_not_an_error(study):
    bench = FakeBench(
        throughput_per_s=_throughput,
        status=lambda values: "refused" if values["good"] == 2 else "complete",
    )
    outcome = _run(make_plan(study, seed=1), bench)
    step = outcome.steps[1]
    assert (step.comparison.verdict, step.kept) == ("failed", False)
    assert step.comparison.b.status == "refused"
    assert "refused" in joined(step.comparison.reasons)
    assert step.comparison.n_starts == 1
    assert outcome.configuration.values["good"] == 1


def test_a_starting_configuration_that_does_not_run_stops_the_study_and_is_stored(study):
    store = MemoryStore()
    bench = FakeBench(throughput_per_s=_throughput, status=lambda _values: "crashed")
    with pytest.raises(TargetError, match="starting configuration failed in 3 starts in a row"):
        _run(make_plan(study, seed=1), bench, store)
    assert store.outcomes[-1].status == "failed"


def test_faster_but_failing_requests_is_judged_at_once_and_not_kept(study):
    bench = FakeBench(
        throughput_per_s=_throughput,
        error_ratio=lambda values: 0.1 if values["good"] == 1 else 0.0,
    )
    step = _run(make_plan(study, seed=1), bench).steps[0]
    assert (step.comparison.verdict, step.kept, step.comparison.n_starts) == ("failed", False, 1)
    assert step.comparison.b.status == "infeasible"
    assert "GET / got status 500 in " in joined(step.comparison.reasons)
    assert "the limit is 0.1 %" in joined(step.comparison.reasons)


def test_a_few_failures_more_than_the_limit_take_a_whole_comparison_to_judge(study):
    bench = FakeBench(
        throughput_per_s=_throughput,
        error_ratio=lambda values: 0.0015 if values["good"] == 1 else 0.0,
    )
    step = _run(make_plan(study, seed=1), bench).steps[0]
    assert (step.comparison.verdict, step.kept) == ("failed", False)
    assert step.comparison.n_starts >= study.method.min_starts
    assert "of requests failed; the limit is 0.1 %" in joined(step.comparison.reasons)


def test_nothing_kept_is_no_final_claim(study):
    bench = FakeBench(throughput_per_s=lambda _values: 400.0)
    outcome = _run(make_plan(study, seed=1), bench)
    assert outcome.final is None
    assert outcome.configuration == study.start_configuration()


def test_an_interrupted_run_goes_on_with_what_is_stored_and_ends_the_same(study):
    plan = make_plan(study, seed=11)
    whole_store, store = MemoryStore(), MemoryStore()
    whole = _run(plan, store=whole_store)
    first = FakeBench(throughput_per_s=_throughput, interrupt_after=9)
    assert _run(plan, first, store).status == "interrupted"
    n_stored = len(store.complete)
    second = FakeBench(throughput_per_s=_throughput)
    resumed = _run(plan, second, store)
    assert n_stored == 9
    assert second.starts_measured == len(whole_store.complete) - n_stored
    assert resumed.status == "complete"
    assert resumed.steps == whole.steps
    assert resumed.final == whole.final


def test_comparing_a_configuration_with_itself_finds_no_difference(study):
    start = study.start_configuration()
    wrong = 0
    for seed in range(40):
        bench = FakeBench(throughput_per_s=_throughput, seed=seed, start_sd=0.03)
        outcome = _run(compare_plan(study, start, start, seed=seed, budget_s=120.0), bench)
        wrong += outcome.final.verdict in {"better", "worse"}
    assert wrong <= 4  # of 40 at 5 %: five or more would come up in under 5 % of such trials


def test_an_undecided_comparison_uses_its_budget_however_hopeless(study):
    """It has no other steps that the time could decide."""
    start = study.start_configuration()
    bench = FakeBench(
        throughput_per_s=lambda values: 402.0 if values["good"] else 400.0, start_sd=0.1
    )
    outcome = _run(compare_plan(study, start, start.replaced("good", 1), seed=1), bench)
    assert outcome.final.verdict == "inconclusive"
    one_start_s = outcome.duration_s / outcome.final.n_starts
    assert study.budget_s * 0.97 - one_start_s <= outcome.duration_s <= study.budget_s * 0.97


def test_the_events_tell_the_story_in_order(study):
    events: list[Event] = []
    _run(make_plan(study, seed=7), watch=events.append)
    assert sum(isinstance(e, StepDone) for e in events) == 4
    assert isinstance(events[-1], FinalDone)
    assert all(e.left_s >= 0 for e in events if isinstance(e, StartDone))


def _capped(values):
    """A limit hides what `good` brings, until `bad` (here a blessing) takes it away."""
    return 400 * GOOD[values["good"]] if values["bad"] else 200.0


def test_what_a_limit_hid_is_tried_again_when_the_limit_is_gone(study):
    outcome = _run(make_plan(study, seed=7), FakeBench(throughput_per_s=_capped))
    first = {s.change: s for s in outcome.steps if s.attempt == 1}
    again = {s.change: s for s in outcome.steps if s.attempt == 2}
    assert not first["good: 0 → 1"].kept
    assert first["bad: false → true"].kept
    assert again["good: 0 → 1"].kept
    assert again["good: 1 → 2"].kept
    assert outcome.configuration.values == {"good": 2, "bad": True, "inert": "a"}
    indices = [s.comparison.index for s in outcome.steps] + [outcome.final.index]
    assert len(set(indices)) == len(indices)


def test_a_level_that_another_one_of_its_knob_superseded_is_not_tried_again(study):
    """Level 1 brings nothing, level 2 does; so 2 → 1 is no step that anybody asked for."""
    bench = FakeBench(throughput_per_s=lambda values: 800.0 if values["good"] == 2 else 400.0)
    outcome = _run(make_plan(study, seed=7), bench)
    first, second = outcome.steps[:2]
    assert (first.change, first.kept) == ("good: 0 → 1", False)
    assert (second.change, second.kept) == ("good: 0 → 2", True)
    assert all(step.attempt == 1 for step in outcome.steps)


def test_nothing_is_tried_again_when_nothing_later_was_kept(study):
    outcome = _run(make_plan(study, seed=7))
    assert all(step.attempt == 1 for step in outcome.steps)


def test_cheaper_requests_at_the_same_throughput_decide_where_a_tie_breaker_is_named(study):
    cheaper = FakeBench(
        throughput_per_s=lambda _values: 400.0,
        cpu_s_per_request=lambda values: 0.001 if values["bad"] else 0.002,
    )
    objective = structs.replace(study.objective, tie_breaker="cpu_s_per_request")
    outcome = _run(make_plan(structs.replace(study, objective=objective), seed=7), cheaper)
    step = next(s for s in outcome.steps if s.knob == "bad")
    assert step.kept
    assert step.comparison.n_starts >= 6
    assert step.comparison.decided_by == "cpu_s_per_request"
    assert "CPU per request decides" in joined(step.comparison.reasons)
    assert step.comparison.ratios["throughput"].confidence == pytest.approx(0.975)
    assert step.running_ratio == pytest.approx(1.0, abs=0.02)
    # The final claim is made on what decided the steps.
    assert (outcome.final.verdict, outcome.final.decided_by) == ("better", "cpu_s_per_request")
    assert outcome.configuration.values["bad"]


def test_an_equivalent_metric_leaves_its_tie_breaker_the_time_to_decide(study):
    bench = FakeBench(
        throughput_per_s=lambda _values: 400.0,
        # A third of what the CPU time of starts differs by: six starts cannot show it.
        cpu_s_per_request=lambda values: 0.00098 if values["bad"] else 0.001,
        start_sd=0.0,
        window_sd=0.0,
    )
    noisy = np.random.default_rng(4)
    exact = bench.cpu_s_per_request
    bench.cpu_s_per_request = lambda values: exact(values) * math.exp(noisy.normal(0, 0.09))
    objective = structs.replace(study.objective, tie_breaker="cpu_s_per_request")
    outcome = _run(make_plan(structs.replace(study, objective=objective), seed=7), bench)
    step = next(s for s in outcome.steps if s.knob == "bad")
    # Throughput is equal to the last digit: alone, it would end this at the sixth start.
    assert step.comparison.n_starts > 6
    assert step.comparison.verdict in {"better", "equivalent"}


def test_a_tie_breaker_does_not_overrule_the_metric(study):
    bench = FakeBench(
        throughput_per_s=lambda values: 400.0 * (0.8 if values["bad"] else 1.0),
        cpu_s_per_request=lambda values: 0.001 if values["bad"] else 0.002,
    )
    objective = structs.replace(study.objective, tie_breaker="cpu_s_per_request")
    outcome = _run(make_plan(structs.replace(study, objective=objective), seed=7), bench)
    step = next(s for s in outcome.steps if s.knob == "bad")
    assert (step.comparison.verdict, step.kept) == ("worse", False)


def test_a_tie_breaker_needs_proof_that_little_is_lost(study):
    """Throughput too noisy to exclude a large loss: what it costs may be more than it saves."""
    bench = FakeBench(
        throughput_per_s=lambda _values: 400.0,
        cpu_s_per_request=lambda values: 0.001 if values["bad"] else 0.002,
        start_sd=0.3,
    )
    objective = structs.replace(study.objective, tie_breaker="cpu_s_per_request")
    outcome = _run(make_plan(structs.replace(study, objective=objective), seed=7), bench)
    step = next(s for s in outcome.steps if s.knob == "bad")
    assert step.comparison.ratios["throughput"].low < 0.9
    assert step.comparison.ratios["cpu_per_request"].high < 1
    assert not step.kept


def test_a_limit_on_p99_binds_however_few_requests_there_are(study):
    objective = structs.replace(study.objective, max_p99_s=0.015)
    few = FakeBench(throughput_per_s=lambda values: _throughput(values) / 10)
    outcome = _run(make_plan(structs.replace(study, objective=objective), seed=7), few)
    assert outcome.steps[0].comparison.verdict == "failed"
    assert not outcome.steps[0].kept
    assert "broke a limit: p99 latency is" in joined(outcome.steps[0].comparison.reasons)


def test_too_few_requests_for_a_percentile_decide_nothing_by_it(study):
    objective = structs.replace(study.objective, metric="latency_p999_s")
    outcome = _run(make_plan(structs.replace(study, objective=objective), seed=7))
    assert outcome.steps[0].comparison.verdict == "not_measured"
    assert "too few requests for its p99.9 latency" in joined(outcome.steps[0].comparison.reasons)


def test_a_comparison_that_cannot_have_its_starts_is_refused_with_the_time_it_takes(study):
    start = study.start_configuration()
    with pytest.raises(
        UsageError, match=r"one comparison takes about \d+ s here, 6 starts"
    ) as caught:
        _run(compare_plan(study, start, start, seed=1, budget_s=3.0))
    assert caught.value.hint.startswith("`--budget ")


def test_a_compared_configuration_that_breaks_a_limit_is_doubted_and_not_settled_on(study):
    start = study.start_configuration()
    bench = FakeBench(
        throughput_per_s=_throughput,
        error_ratio=lambda values: 0.0015 if values["good"] == 2 else 0.0,
    )
    plan = compare_plan(study, start, start.replaced("good", 2), seed=1)
    outcome = _run(plan, bench)
    assert outcome.final.verdict == "failed"
    assert outcome.configuration == start
    assert "experiment.final_breaks_limit" in {caveat.code for caveat in outcome.warnings}


def test_resuming_keeps_what_was_found_until_it_is_found_again(study):
    plan, store = make_plan(study, seed=11), MemoryStore()
    _run(plan, FakeBench(throughput_per_s=_throughput, interrupt_after=15), store)
    before = store.outcomes[-1]
    assert before.steps
    n_saved = len(store.outcomes)
    _run(plan, store=store)
    assert all(len(outcome.steps) >= 1 for outcome in store.outcomes[n_saved:])
    assert store.outcomes[-1].began_at == before.began_at


def test_latency_as_the_objective_decides_the_other_way_round(study):
    objective = structs.replace(study.objective, metric="latency_p50_s")
    outcome = _run(make_plan(structs.replace(study, objective=objective), seed=7))
    assert outcome.steps[0].comparison.verdict == "better"
    assert outcome.steps[0].comparison.ratios["latency_p50"].high < 1


def test_the_plan_says_what_will_be_done(study):
    lines = plan_lines(make_plan(study, seed=7))
    assert "step 2    good → 2" in lines
    assert any(line.startswith("budget") and "seed 7" in line for line in lines)


SLIGHT = 1.02
"""What the first step brings: more than one start in five can show, and less than six can."""


def _slight(values):
    return 400 * (SLIGHT if values["good"] else 1.0) * (0.5 if values["bad"] else 1.0)


@pytest.fixture
def slight(study):
    good, bad, inert = study.knobs
    knobs = (structs.replace(good, levels=(1,), book_ratio=()), bad, inert)
    return make_plan(structs.replace(study, knobs=knobs), seed=3, budget_s=300.0)


def test_an_undecided_step_goes_on_with_the_time_that_is_left(slight):
    store = MemoryStore()
    events: list[Event] = []
    bench = FakeBench(throughput_per_s=_slight, start_sd=0.02)
    outcome = _run(slight, bench, store, events.append)
    tried = [event.step for event in events if isinstance(event, StepDone)]
    first, again = [step for step in tried if step.knob == "good"][:2]
    assert first.comparison.verdict == "inconclusive"
    assert again.comparison.index == first.comparison.index, "it goes on where it was"
    n_first = first.comparison.n_starts
    assert again.comparison.per_start_ratio[:n_first] == first.comparison.per_start_ratio
    assert again.comparison.n_starts > n_first
    # Told once, with all its starts.
    assert [step.knob for step in outcome.steps].count("good") == 1
    assert outcome.duration_s <= 300.0 * 1.05


def test_a_run_that_was_cut_while_a_step_went_on_ends_as_the_whole_one(slight):
    whole = _run(slight, FakeBench(throughput_per_s=_slight, start_sd=0.02))
    store = MemoryStore()
    bench = FakeBench(throughput_per_s=_slight, start_sd=0.02)
    _run(slight, bench, store)
    # The last starts of the step that went on, and what came later, were never measured.
    index = next(step.comparison.index for step in whole.steps if step.knob == "good")
    mine = [start for start in store.complete if start.comparison == index]
    is_kept = {id(start) for start in mine[:-2]}
    others = [s for s in store.complete if s.comparison != index and s.stage != "final"]
    store.complete = [*others, *(start for start in mine if id(start) in is_kept)]
    again = _run(slight, FakeBench(throughput_per_s=_slight, start_sd=0.02), store)
    told = [
        [(s.knob, s.comparison.index, s.comparison.per_start_ratio) for s in outcome.steps]
        for outcome in (whole, again)
    ]
    assert told[0] == told[1]
