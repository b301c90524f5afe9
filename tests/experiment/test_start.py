"""Starts that cannot be used: outcomes, tried again, and never the end for ever."""

import re
from typing import Any

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.errors import StoreError, TargetError
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, Notice
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import Method, Objective, RequestSpec, Workload
from httpdyno.model.knob import Knob
from httpdyno.report.shared.message import error_text, joined, text


class Failing(FakeBench):
    """Gives chosen arms another status in chosen starts."""

    fails: Any

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        statuses = self.fails(request, record.statuses)
        return structs.replace(
            record,
            statuses=statuses,
            details=tuple(
                () if each == "complete" else said(f"its last words: {each}") for each in statuses
            ),
        )


def _failing(fails, **more):
    bench = Failing(throughput_per_s=lambda values: 600.0 if values["good"] else 400.0, **more)
    bench.fails = fails
    return bench


def _run(plan, bench, store=None, watch=lambda _event: None):
    store = store or MemoryStore()
    return run_plan(plan, bench=bench, store=store, run_id="1", watch=watch)


@pytest.fixture
def plan(study):
    start = study.start_configuration()
    return compare_plan(study, start, start.replaced("good", 1), seed=1)


def test_a_reference_that_fails_once_is_tried_again(plan):
    bench = _failing(lambda r, s: ("hung", "complete") if r.start in {0, 3} else s)
    store = MemoryStore()
    events: list[Event] = []
    outcome = _run(plan, bench, store, events.append)
    assert outcome.final.verdict == "better"
    assert len(store.complete) == outcome.final.n_starts + 2
    [caveat] = [c for c in outcome.final.warnings if c.code == "experiment.dropped_starts"]
    assert "2 starts tried again, because hung: its last words" in text(caveat.reason)
    assert sum(isinstance(event, Notice) for event in events) == 2


def test_a_candidate_is_not_judged_by_a_start_in_which_the_reference_failed_too(plan):
    bench = _failing(lambda r, s: ("crashed", "crashed") if r.start == 0 else s)
    assert _run(plan, bench).final.verdict == "better"


def test_a_reference_that_fails_three_times_in_a_row_ends_the_run_and_resuming_measures(plan):
    is_broken = True
    bench = _failing(lambda _r, s: ("crashed", "complete") if is_broken else s)
    store = MemoryStore()
    with pytest.raises(TargetError) as raised:
        _run(plan, bench, store)
    assert "failed in 3 starts in a row: crashed: its last words" in error_text(raised.value)
    assert bench.starts_measured == len(store.complete) == 3
    with pytest.raises(TargetError, match="in 3 starts in a row"):
        _run(plan, bench, store)
    assert bench.starts_measured == 6, "what failed is measured again, not read again"
    is_broken = False
    outcome = _run(plan, bench, store)
    assert outcome.status == "complete"
    assert outcome.final.verdict == "better"


def test_a_start_that_was_disturbed_is_tried_again_and_says_nothing_of_the_candidate(study):
    bench = _failing(lambda r, s: ("unstable",) * len(s) if r.start == 1 else s)
    outcome = _run(make_plan(study, seed=1), bench)
    assert outcome.steps[0].comparison.verdict == "better"
    assert "experiment.dropped_starts" in {c.code for c in outcome.warnings}
    assert "experiment.dropped_starts" in {c.code for c in outcome.steps[0].comparison.warnings}


def test_a_machine_on_which_every_start_is_disturbed_ends_the_run_in_the_end(plan):
    bench = _failing(lambda _r, s: ("unstable",) * len(s))
    with pytest.raises(TargetError, match="disturbed in 10 starts in a row"):
        _run(plan, bench)
    assert bench.starts_measured == 10


def test_a_disturbed_round_of_a_sweep_fails_no_level(study):
    swept = structs.replace(
        study,
        knobs=(Knob(name="good", start=2, levels=(0, 1, 2)),),
        method=Method(kind="sweep", knob="good", window_s=0.5, blocks_per_start=2),
    )
    bench = _failing(lambda r, s: ("unstable",) * len(s) if r.start == 1 else s)
    outcome = _run(make_plan(swept, seed=1), bench)
    assert [point.arm.status for point in outcome.sweep.points] == ["complete"] * 3
    assert all(not request.left_out for request in bench.requests)


def test_a_start_keeps_what_its_arms_were(plan):
    store = MemoryStore()
    _run(plan, _failing(lambda _r, s: s), store)
    assert all(start.configurations == plan.compare for start in store.complete)


def test_stored_starts_of_other_configurations_are_not_taken_for_these(plan, study):
    store = MemoryStore()
    _run(plan, _failing(lambda _r, s: s), store)
    other = compare_plan(study, plan.compare[1], plan.compare[0], seed=1)
    with pytest.raises(StoreError, match=r"measured good=0, .* where good=1, "):
        _run(other, _failing(lambda _r, s: s), store)


@pytest.fixture
def failing_study(study):
    """Half of what is asked for is answered with 500."""
    workload = Workload(requests=(RequestSpec(path="/x"),))
    return structs.replace(study, workload=workload)


def test_failing_requests_of_the_start_end_a_run_that_names_them(failing_study):
    bench = FakeBench(throughput_per_s=lambda _values: 400.0, error_ratio=lambda _values: 0.5)
    start = failing_study.start_configuration()
    for plan in (
        make_plan(failing_study, seed=1),
        compare_plan(failing_study, start, start, seed=1),
    ):
        with pytest.raises(TargetError) as raised:
            _run(plan, bench)
        told = error_text(raised.value)
        assert re.search(r"GET /x got status 500 in \d+ of \d+ requests; ", told)


def test_failing_requests_within_the_limit_are_no_reason_to_stop(failing_study):
    study = structs.replace(failing_study, objective=Objective(max_error_ratio=0.5))
    bench = FakeBench(throughput_per_s=lambda _values: 400.0, error_ratio=lambda _values: 0.5)
    assert _run(make_plan(study, seed=1), bench).status == "complete"


@pytest.mark.parametrize(("error_ratio", "limit"), [(1.0, 0.001), (0.33, 0.2)])
def test_a_candidate_that_breaks_the_limit_is_judged_at_once(plan, error_ratio, limit):
    plan = structs.replace(
        plan, study=structs.replace(plan.study, objective=Objective(max_error_ratio=limit))
    )
    bench = FakeBench(
        throughput_per_s=lambda _values: 400.0,
        error_ratio=lambda values: error_ratio * values["good"],
    )
    final = _run(plan, bench).final
    assert (final.verdict, final.n_starts, final.b.status) == ("failed", 1, "infeasible")
    assert "GET / got status 500" in joined(final.reasons)
    assert final.b.statuses["500"] == final.b.errors["wrong_status"] > 0


def test_arms_of_which_no_answer_lies_in_a_window_are_not_measured_and_it_says_why(plan):
    class Late(FakeBench):
        def measure_start(self, request, save):
            record = super().measure_start(request, save)
            late = tuple(
                structs.replace(w, measurement=structs.replace(w.measurement, measured_completed=0))
                for w in record.windows
            )
            return structs.replace(record, windows=late)

    bench = Late(throughput_per_s=lambda _values: 4.0)
    final = _run(plan, bench).final
    assert (final.verdict, final.n_starts) == ("not_measured", 2)
    assert "answers take up to 2.28 s; a longer `method.window` may do" in joined(final.reasons)
    assert "throughput" not in final.ratios


def test_no_ratio_is_made_of_requests_that_were_never_answered(plan):
    """What timed out has a latency, which bounds it from below; it is no figure of an answer."""

    class TimedOut(FakeBench):
        def measure_start(self, request, save):
            record = super().measure_start(request, save)
            none = tuple(
                structs.replace(
                    w, measurement=structs.replace(w.measurement, completed=0, measured_completed=0)
                )
                if w.arm == 1
                else w
                for w in record.windows
            )
            return structs.replace(record, windows=none)

    final = _run(plan, TimedOut(throughput_per_s=lambda _values: 400.0)).final
    assert (final.verdict, final.ratios) == ("failed", {})
