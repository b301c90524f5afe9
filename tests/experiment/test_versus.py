"""Several candidates, each against the same reference."""

import math

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.conformance.method import MethodConformance

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import UsageError
from httpdyno.experiment.design.plan import (
    compare_plan,
    make_plan,
    versus_plan,
    with_budget,
)
from httpdyno.experiment.design.smoke_test import least_s
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, StepDone
from httpdyno.experiment.trial.look import LOOK_S
from httpdyno.report.shared.message import joined
from httpdyno.stats.sequence import ratio_interval


def _throughput(values):
    return 400.0 * {0: 1.0, 1: 1.3, 2: 1.6}[values["good"]] * (0.7 if values["bad"] else 1.0)


def _slightly(values):
    return 420.0 if values["good"] else 400.0


@pytest.fixture
def versus(study):
    a = study.start_configuration()
    return versus_plan(
        study,
        a,
        {
            "b1": a.replaced("good", 1),
            "both": a.with_values({"good": 2, "bad": True}),
            "b3": a.replaced("good", 2),
            "b4": a.replaced("inert", "b"),
        },
        seed=5,
    )


def _run(plan, bench=None, watch=lambda _event: None):
    return run_plan(
        plan,
        bench=bench or FakeBench(throughput_per_s=_throughput),
        store=MemoryStore(),
        run_id="1",
        watch=watch,
    )


def test_each_candidate_has_a_verdict_against_the_reference_and_none_builds_on_another(versus):
    events: list[Event] = []
    outcome = _run(versus, watch=events.append)
    assert outcome.status == "complete"
    assert [(step.name, step.comparison.verdict) for step in outcome.steps[:1]] == [
        ("b1", "better")
    ]
    verdicts = {step.name: step.comparison.verdict for step in outcome.steps}
    assert (verdicts["both"], verdicts["b3"]) == ("better", "better")
    assert verdicts["b4"] in {"equivalent", "inconclusive"}
    assert list(verdicts) == ["b1", "both", "b3", "b4"]
    for step in outcome.steps:
        assert step.comparison.a.configuration == versus.reference
        assert step.comparison.n_starts >= 6
    assert outcome.configuration.values == {"good": 2, "bad": False, "inert": "a"}
    assert outcome.final is None
    assert "+good 2" in outcome.overlay_diff
    assert not any(e.is_of_ladder for e in events if isinstance(e, StepDone))


def test_the_risk_of_a_wrong_word_is_shared_out(versus):
    shared = versus.objective
    assert 4 * (1 - shared.confidence) <= 1 - versus.study.objective.confidence + 1e-12
    assert 4 * (1 - shared.confidence) == pytest.approx(0.05, rel=0.01)
    [first, *_] = _run(versus).steps
    interval = first.comparison.ratios["throughput"]
    assert interval.confidence == shared.confidence_of("throughput_per_s")
    logs = [math.log(each) for each in first.comparison.per_start_ratio]
    known = ratio_interval(logs, confidence=shared.confidence)
    assert known is not None
    assert (interval.low, interval.high) == pytest.approx((known.low, known.high))


def test_one_plan_alone_shares_nothing(study):
    plan = make_plan(study, seed=1)
    assert plan.objective == study.objective


def test_time_that_one_does_not_use_goes_to_the_others(versus):
    outcome = _run(with_budget(versus, 200.0))
    assert outcome.duration_s <= 200.0 * 1.05
    # The inert one cannot be decided soon, and has what the others left.
    by_name = {step.name: step.comparison for step in outcome.steps}
    assert by_name["b4"].duration_s > by_name["b1"].duration_s


def test_a_budget_that_cannot_hold_the_fewest_starts_of_all_is_refused(versus):
    one = structs.replace(versus, steps=versus.steps[:1])
    # The reference is looked at once, beside the first of them.
    assert least_s(versus) == pytest.approx(4 * least_s(one) - 3 * LOOK_S)
    with pytest.raises(
        UsageError, match=r"one comparison takes .* 6 starts of both, and there are 4"
    ):
        _run(with_budget(versus, 60.0))


def test_later_ones_that_take_longer_leave_the_verdicts_that_are_there(versus):
    class Slowing(FakeBench):
        def measure_start(self, request, save):
            record = super().measure_start(request, save)
            slow = 3 if request.comparison == len(versus.steps) else 1
            return structs.replace(record, duration_s=record.duration_s * slow)

    outcome = _run(with_budget(versus, 150.0), Slowing(throughput_per_s=_throughput))
    assert outcome.status == "complete"
    verdicts = [step.comparison.verdict for step in outcome.steps]
    assert verdicts == ["better", "better", "better", "not_measured"]
    assert outcome.steps[3].comparison.needed_s


def test_a_candidate_that_is_refused_leaves_the_others_their_verdicts(versus):
    bench = FakeBench(
        throughput_per_s=_throughput,
        status=lambda values: "refused" if values["bad"] else "complete",
    )
    outcome = _run(versus, bench)
    verdicts = {step.name: step.comparison.verdict for step in outcome.steps}
    assert verdicts["both"] == "failed"
    assert (verdicts["b1"], verdicts["b3"]) == ("better", "better")


def test_one_beyond_a_limit_has_no_word_but_that(versus):
    # Beyond the limit of 0.1 %, by fewer than luck may do.
    bench = FakeBench(
        throughput_per_s=_throughput,
        error_ratio=lambda values: 0.002 if values["good"] == 1 else 0.0,
    )
    step = _run(versus, bench).steps[0]
    assert (step.comparison.verdict, step.kept) == ("failed", False)
    assert step.comparison.b.status == "infeasible"
    assert joined(step.comparison.reasons).startswith("the candidate broke a limit: 0.3")
    assert joined(step.comparison.reasons).endswith(" % of requests failed; the limit is 0.1 %")


@pytest.mark.parametrize("is_one", [True, False])
@pytest.mark.parametrize("throughput", [_throughput, lambda _values: 400.0])
@pytest.mark.parametrize("limit", [{"max_p99_s": 1e-6}, {"max_memory_bytes": 38 << 20}])
def test_a_limit_holds_for_every_word_of_one_candidate_as_of_several(
    study, limit, throughput, is_one
):
    limited = structs.replace(study, objective=structs.replace(study.objective, **limit))
    a = limited.start_configuration()
    b = a.replaced("good", 2)
    bench = FakeBench(throughput_per_s=throughput, pss_bytes=lambda _values: 43 << 20)
    if is_one:
        told = _run(compare_plan(limited, a, b, seed=5), bench).final
    else:
        several = {"b1": a.replaced("good", 1), "b2": b}
        told = _run(versus_plan(limited, a, several, seed=5), bench).steps[1].comparison
    assert (told.verdict, told.b.status) == ("failed", "infeasible")
    assert joined(told.reasons).startswith("the candidate broke a limit: ")


def test_without_a_limit_of_time_each_goes_on_until_it_is_decided(study):
    a = study.start_configuration()
    pair = {"b1": a.replaced("good", 1), "b2": a.replaced("inert", "b")}
    plan = with_budget(versus_plan(study, a, pair, seed=3), math.inf)
    bench = FakeBench(throughput_per_s=_slightly, start_sd=0.01)
    verdicts = [step.comparison.verdict for step in _run(plan, bench).steps]
    assert verdicts == ["better", "equivalent"]


def test_of_candidates_that_are_all_the_same_hardly_any_run_says_a_wrong_word(study):
    a = study.start_configuration()
    same = {"b1": a.replaced("good", 1), "b2": a.replaced("bad", True), "b3": a.replaced("good", 2)}
    wrong = 0
    for seed in range(40):
        bench = FakeBench(throughput_per_s=lambda _values: 400.0, seed=seed, start_sd=0.03)
        plan = with_budget(versus_plan(study, a, same, seed=seed), 150.0)
        verdicts = {step.comparison.verdict for step in _run(plan, bench).steps}
        wrong += bool(verdicts & {"better", "worse"})
    assert wrong <= 4  # of 40 at 5 %: five or more would come up in under 5 % of such trials


def test_where_none_is_better_it_stays_with_the_reference(versus):
    outcome = _run(versus, FakeBench(throughput_per_s=lambda _values: 400.0))
    assert outcome.configuration == versus.reference
    assert outcome.overlay_diff == ""


def test_the_plan_says_with_what_confidence_each_is_held(versus):
    lines = plan_lines(versus)
    assert "each      with 98.75% confidence, so that all 4 verdicts have 95% together" in lines
    assert "both      good=2, bad=true" in lines


class TestVersus(MethodConformance):
    @pytest.fixture
    def plan(self, versus):
        return with_budget(versus, 250.0)

    @pytest.fixture
    def throughput_per_s(self):
        return _throughput

    def test_the_final_claim_rests_on_starts_that_nothing_was_chosen_by(self, whole, store):
        """There is none: what each candidate proves rests on starts of its own."""
        assert whole.final is None
        indices = [step.comparison.index for step in whole.steps]
        assert len(set(indices)) == len(indices)
        for step in whole.steps:
            assert len(store.starts("1", step.comparison.index)) >= step.comparison.n_starts
