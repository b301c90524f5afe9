"""What respawning costs: of rates, or of a stored sweep."""

import pytest
from msgspec import structs
from tests.report import sample

from httpdyno.errors import StoreError, UsageError
from httpdyno.inspection.under_load import respawn_cost
from httpdyno.model import PoolCurve, Respawn
from httpdyno.reason import because
from httpdyno.store import Store

BIRTHS = Respawn(serve_s=0.000_4, spawn_s=0.0024, spawn_low_s=0.002_118, spawn_high_s=0.002_691)


def stored(outcome):
    with Store.open() as store:
        run_id = store.create_run(outcome.plan, outcome.host)
        store.save_outcome(run_id, structs.replace(outcome, id=run_id, status="complete"))
    return run_id


def swept(pool):
    outcome = sample.sweep()
    assert outcome.sweep is not None
    return structs.replace(outcome, sweep=structs.replace(outcome.sweep, pool=pool))


def test_nothing_said_is_no_cost():
    assert respawn_cost([]) is None


def test_rates_are_fitted_as_the_formula_does():
    # By hand: 1/200 is 4 ms and a twentieth of 20 ms, 1/249 a five-thousandth of it.
    cost = respawn_cost(["20=200/s,5000=249.750249/s"])
    assert cost is not None
    assert cost.serve_s == pytest.approx(0.004)
    assert cost.spawn_s == pytest.approx(0.02)
    assert cost.spawn_low_s is None


def test_a_stored_sweep_brings_its_interval_along():
    assert respawn_cost([f"run:{stored(swept(PoolCurve(births=BIRTHS, n_levels=5)))}"]) == BIRTHS


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        (None, "swept `processes`, which shows no cost of replacing workers$"),
        (
            PoolCurve(reason=because("advice.births_free")),
            "replacing workers: replacing a worker costs nothing that shows: shorter lives are not "
            "slower$",
        ),
    ],
)
def test_a_sweep_that_tells_no_cost_is_refused_with_its_reason(pool, words):
    outcome = swept(pool)
    words = words.replace("processes", outcome.sweep.knob)
    with pytest.raises(UsageError, match=words) as caught:
        respawn_cost([f"run:{stored(outcome)}"])
    assert "httpdyno study run respawn" in caught.value.hint


def test_what_is_no_sweep_is_refused():
    with pytest.raises(UsageError, match="is no sweep with a result"):
        respawn_cost([f"run:{stored(sample.ladder())}"])


def test_a_run_that_nobody_stored_is_refused():
    with pytest.raises(StoreError, match="999"):
        respawn_cost(["run:999"])


def test_a_run_and_rates_together_are_refused():
    with pytest.raises(UsageError):
        respawn_cost(["run:1", "20=320/s"])
