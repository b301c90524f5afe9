"""Runs that go on: what was measured side by side is taken as it was, and more time may change it.

Starts that were up at the same time were looked at together, so they are again; a look between them
might decide what the run did not.
"""

from dataclasses import dataclass

import pytest
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, StartDone
from httpdyno.report.shared.message import text


@dataclass(kw_only=True)
class Batches(FakeBench):
    """Starts come up together once a configuration is known."""

    n_at_once: int = 8

    def n_side_by_side(self, arms):
        """Return 1 for what was never started."""
        known = {arm.label() for request in self.requests for arm in request.arms}
        return self.n_at_once if {arm.label() for arm in arms} <= known else 1


def _bench(seed):
    def throughput_per_s(values):
        return 4_000 * 1.05 ** values["good"] * (0.97 if values["bad"] else 1.0)

    return Batches(throughput_per_s=throughput_per_s, start_sd=0.05, seed=seed)


def _told(outcome):
    steps = [
        (s.knob, s.after, s.kept, s.comparison.index, s.comparison.per_start_ratio)
        for s in outcome.steps
    ]
    return steps, outcome.final and outcome.final.per_start_ratio, outcome.configuration


def _run(plan, bench, store, watch=lambda _event: None):
    return run_plan(plan, bench=bench, store=store, run_id="1", watch=watch)


@pytest.mark.parametrize("seed", range(12))
def test_a_run_that_was_over_ends_the_same_without_a_new_start(study, seed):
    plan, store = make_plan(study, seed=seed, budget_s=200.0), MemoryStore()
    events: list[Event] = []
    whole = _run(plan, _bench(seed), store, events.append)
    looked = [event.n_starts for event in events if isinstance(event, StartDone)]
    bench = _bench(seed)
    again: list[Event] = []
    assert _told(_run(plan, bench, store, again.append)) == _told(whole)
    assert bench.starts_measured == 0
    assert [event.n_starts for event in again if isinstance(event, StartDone)] == looked


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("cut", [0.3, 0.6, 0.9])
def test_a_run_goes_on_with_more_time_whatever_that_decides(study, seed, cut):
    store = MemoryStore()
    _run(make_plan(study, seed=seed, budget_s=130.0), _bench(seed), store)
    del store.complete[int(cut * len(store.complete)) :]
    before = {id(start) for start in store.complete}
    outcome = _run(make_plan(study, seed=seed, budget_s=400.0), _bench(seed), store)
    assert outcome.status == "complete"
    kept = {id(start) for start in store.complete}
    assert before <= kept, "what was measured stays, used or not"
    used = {step.comparison.index for step in outcome.steps} | {0}
    used |= {outcome.final.index} if outcome.final else set()
    n_unused = sum(id(start) in before and start.comparison not in used for start in store.complete)
    words = [
        text(each.reason) for each in outcome.warnings if each.code == "experiment.unused_starts"
    ]
    assert [int(each.split()[0]) for each in words] == [n_unused] * bool(n_unused)
