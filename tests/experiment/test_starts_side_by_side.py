"""Runs whose starts are up side by side: the same evidence, asked for in fewer calls."""

from dataclasses import dataclass, field

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.errors import UsageError
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, Notice, StartDone
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.report.shared.message import text


@dataclass(kw_only=True)
class Batches(FakeBench):
    """Notes which starts were asked for together."""

    batches: list[list[int]] = field(default_factory=list)
    silent: frozenset[int] = frozenset()
    """Starts whose reference falls silent."""

    def n_side_by_side(self, arms):
        """Return 1 for what was never started."""
        known = {arm.label() for request in self.requests for arm in request.arms}
        return self.n_at_once if {arm.label() for arm in arms} <= known else 1

    def measure_starts(self, requests, save):
        self.batches.append([request.start for request in requests])
        return super().measure_starts(requests, save)

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        if request.start not in self.silent:
            return record
        return structs.replace(record, statuses=("hung", "complete"), details=("silent", ""))


def bench_of(gain=1.06, **more):
    return Batches(
        throughput_per_s=lambda values: 400.0 * (gain if values["good"] else 1.0), **more
    )


def run(plan, bench, store=None, events=None):
    watch = (lambda _event: None) if events is None else events.append
    return run_plan(plan, bench=bench, store=store or MemoryStore(), run_id="1", watch=watch)


@pytest.fixture
def plan(study):
    start = study.start_configuration()
    return compare_plan(study, start, start.replaced("good", 1), seed=1, budget_s=120.0)


def test_the_first_start_is_alone_and_the_others_come_up_together(plan):
    bench = bench_of(n_at_once=4)
    final = run(plan, bench).final
    assert bench.batches[:3] == [[0], [1, 2, 3, 4], [5]]
    alone = bench_of()
    same = run(plan, alone).final
    assert max(map(len, alone.batches)) == 1
    both = min(final.n_starts, same.n_starts)
    assert final.per_start_ratio[:both] == same.per_start_ratio[:both]
    assert (final.verdict, same.verdict) == ("better", "better")


def test_no_more_starts_are_begun_than_a_decision_is_expected_to_take(plan):
    bench = bench_of(gain=1.03, n_at_once=8)
    events: list[Event] = []
    final = run(plan, bench, events=events).final
    looks = [event.n_starts for event in events if isinstance(event, StartDone)]
    assert looks[:2] == [1, 6], "the fewest, before there is anything to look at"
    assert final.n_starts == looks[-1] == sum(map(len, bench.batches))


def test_what_was_killed_amid_a_batch_is_measured_anew(plan):
    whole = run(plan, bench_of(n_at_once=4)).final
    store = MemoryStore()
    cut = run(plan, bench_of(n_at_once=4, interrupt_after=3), store)
    assert cut.status == "interrupted"
    # None of the batch ended: its servers are gone, and its windows with them.
    assert [start.start for start in store.complete] == [0]
    assert [start.start for start in store.starts("1") if not start.is_complete] == [1, 2, 3, 4]
    again = bench_of(n_at_once=4)
    final = run(plan, again, store).final
    assert again.batches[0] == [1], "nothing is known of the servers in a new process"
    assert final.per_start_ratio == whole.per_start_ratio


def test_a_start_of_a_batch_that_fails_is_tried_again_and_the_others_count(plan):
    bench = bench_of(n_at_once=4, silent=frozenset({2}))
    store = MemoryStore()
    final = run(plan, bench, store).final
    assert len(store.complete) == final.n_starts + 1
    assert [caveat.code for caveat in final.warnings] == ["experiment.dropped_starts"]
    assert final.verdict == "better"


def test_starts_that_one_thing_met_at_the_same_time_are_one_failure(plan):
    """Ten times in a row this process may stand still: not ten starts of two batches."""

    class Asleep(Batches):
        def measure_starts(self, requests, save):
            records = super().measure_starts(requests, save)
            if not 2 <= len(self.batches) <= 4:
                return records
            still = {
                "statuses": ("unstable",) * 2,
                "details": (said("httpdyno itself stood still"),) * 2,
            }
            return [structs.replace(each, **still) for each in records]

    bench = Asleep(throughput_per_s=lambda values: 600.0 if values["good"] else 400.0, n_at_once=4)
    events: list[Event] = []
    final = run(plan, bench, events=events).final
    assert (final.verdict, final.n_starts) == ("better", 6)
    told = [text(event.reason) for event in events if isinstance(event, Notice)]
    assert told == ["4 starts tried again: httpdyno itself stood still"] * 3


def test_a_candidate_that_falls_silent_in_a_batch_is_told_and_not_measured_again(plan):
    class Cut(Batches):
        def measure_starts(self, requests, save):
            records = super().measure_starts(requests, save)
            if len(records) == 1:
                return records
            cut = {"statuses": ("unstable", "unstable"), "details": ("cut short",) * 2}
            silent = {"statuses": ("complete", "hung"), "details": ("", "it said nothing")}
            return [
                structs.replace(each, **(silent if number == 2 else cut))
                for number, each in enumerate(records)
            ]

    bench = Cut(throughput_per_s=lambda _values: 400.0, n_at_once=4)
    final = run(plan, bench).final
    assert (final.verdict, final.b.status, final.n_starts) == ("failed", "hung", 2)
    assert bench.batches == [[0], [1, 2, 3, 4]]


def test_a_budget_holds_what_starts_cost_side_by_side(plan):
    """By the first start alone the fewest would take 6 times 17.3 s."""

    @dataclass(kw_only=True)
    class Slow(Batches):
        def measure_starts(self, requests, save):
            records = super().measure_starts(requests, save)
            return [
                structs.replace(each, duration_s=each.duration_s + 12.0 / len(records))
                for each in records
            ]

    def throughput_per_s(values):
        return 400.0 * (1.5 if values["good"] else 1.0)

    within = structs.replace(plan, study=structs.replace(plan.study, budget_s=62.0))
    assert (
        run(within, Slow(throughput_per_s=throughput_per_s, n_at_once=5)).final.verdict == "better"
    )
    with pytest.raises(UsageError, match=r"a budget of 62\.0 s is too short"):
        run(within, Slow(throughput_per_s=throughput_per_s))


def test_a_ladder_calibrates_with_starts_side_by_side(study):
    bench = bench_of(gain=1.5, n_at_once=4)
    outcome = run(make_plan(study, seed=7), bench)
    assert bench.batches[:2] == [[0], [1, 2]]
    assert [step.kept for step in outcome.steps][:1] == [True]
    assert outcome.final.verdict == "better"
