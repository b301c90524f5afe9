"""Steps whose metric is decided, and whose tie breaker is not."""

import math

import numpy as np
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, StepDone


def test_an_equivalent_step_goes_on_while_its_tie_breaker_is_open(study):
    """Where workers wait, what saves CPU time shows in no throughput, and takes longer to show."""
    noisy = np.random.default_rng(11)
    bench = FakeBench(
        throughput_per_s=lambda values: 400.0 * (0.5 if values["bad"] else 1.0),
        # So noisy that some starts can neither show a difference of it nor that there is none.
        cpu_s_per_request=lambda _values: 0.001 * math.exp(noisy.normal(0, 0.05)),
        start_sd=0.0,
        window_sd=0.0,
    )
    good, bad, inert = study.knobs
    knobs = (structs.replace(good, levels=(1,), book_ratio=()), bad, inert)
    objective = structs.replace(study.objective, tie_breaker="cpu_s_per_request")
    study = structs.replace(study, knobs=knobs, objective=objective)
    events: list[Event] = []
    plan = make_plan(study, seed=3, budget_s=300.0)
    run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=events.append)
    tried = [event.step.comparison for event in events if isinstance(event, StepDone)]
    went_on = [each for each in tried if [one.index for one in tried].count(each.index) > 1]
    first, again = went_on[:2]
    assert first.verdict == "equivalent"
    assert again.index == first.index, "it goes on where it was"
    assert again.n_starts > first.n_starts
