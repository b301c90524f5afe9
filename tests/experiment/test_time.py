"""How a ladder spends its time: nothing is given up half-measured, and its guess is honest."""

from dataclasses import dataclass

import pytest
from msgspec import structs

from httpdyno.experiment.event import Event, Stage, StartDone
from httpdyno.experiment.planning import make_plan
from httpdyno.experiment.run import run_plan
from httpdyno.testing.bench import FakeBench
from httpdyno.testing.memory_store import MemoryStore


@dataclass(kw_only=True)
class DearBench(FakeBench):
    """Starts cost more than the calibration's: fewer, longer windows; more processes."""

    dearer_s: float = 1.5

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        more_s = self.dearer_s if request.comparison else 0.0
        return structs.replace(record, duration_s=record.duration_s + more_s)


def _run(study, budget_s, throughput):
    seen: list[Event] = []
    outcome = run_plan(
        make_plan(study, seed=3, budget_s=budget_s),
        bench=DearBench(throughput_per_s=throughput, window_sd=0.2, start_sd=0.1),
        store=MemoryStore(),
        run_id="1",
        watch=seen.append,
    )
    return outcome, seen


@pytest.mark.parametrize("budget_s", [60.0, 90.0, 110.0])
@pytest.mark.parametrize("gain", [1.0, 1.5])
def test_a_step_that_was_begun_has_its_fewest_starts(study, budget_s, gain):
    outcome, _ = _run(study, budget_s, lambda values: 400 * gain ** values["good"])
    assert outcome.steps
    assert [s.comparison.n_starts >= 6 for s in outcome.steps] == [True] * len(outcome.steps)
    assert outcome.duration_s <= budget_s * 1.05


@pytest.mark.parametrize("budget_s", [60.0, 90.0, 110.0])
def test_the_time_left_is_never_more_than_the_budget_has(study, budget_s):
    _, seen = _run(study, budget_s, lambda values: 400 * 1.5 ** values["good"])
    guesses = [e.elapsed_s + e.left_s for e in seen if isinstance(e, Stage | StartDone)]
    assert max(guesses) <= budget_s
