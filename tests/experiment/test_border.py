"""Comparisons that end on one side of some ratios: aimed at what somebody says of them."""

import math

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.experiment.design.plan import compare_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import Event, StartDone
from httpdyno.model import Method
from httpdyno.stats.verdict import holds_border

FEWEST = 6
SPREAD = 0.04
QUICK = Method(window_s=0.5, lead_in_s=0.1, blocks_per_start=2)


@pytest.fixture
def compared(study):
    """Return what a comparison of a known ratio says, and what was told of it on the way."""
    quick = structs.replace(study, method=QUICK, budget_s=400.0)
    start = quick.start_configuration()

    def run(ratio, borders, *, store=None, **bench):
        plan = compare_plan(quick, start, start.replaced("good", 1), seed=1, borders=borders)
        events: list[Event] = []
        fake = FakeBench(
            throughput_per_s=lambda values: 40_000 * ratio ** values["good"],
            **{"start_sd": SPREAD / math.sqrt(2), "window_sd": 0.002, **bench},
        )
        outcome = run_plan(
            plan, bench=fake, store=store or MemoryStore(), run_id="1", watch=events.append
        )
        return outcome, [event for event in events if isinstance(event, StartDone)]

    return run


@pytest.mark.parametrize(
    ("ratio", "borders"), [(2.0, (1.05, 1.5, 3.0)), (0.5, (0.8, 1.25)), (1.0, (0.8, 1.25))]
)
def test_far_from_all_borders_the_fewest_starts_do(compared, ratio, borders):
    """Though nothing is decided of a ratio of 1 by then: nobody asks."""
    outcome, told = compared(ratio, borders)
    assert outcome.final.n_starts == FEWEST
    assert not holds_border(outcome.final.ratios["throughput"], borders)
    assert told[-1].decides_in_s == 0.0


def test_near_a_border_it_goes_on_though_one_is_proven_better(compared):
    borders = (1.05, 1.5)
    outcome, told = compared(1.46, borders)
    final = outcome.final
    assert told[0].left_s > 0
    assert FEWEST < final.n_starts < 100
    assert final.verdict == "better"
    assert final.ratios["throughput"].high <= 1.5
    before = [event for event in told[:-1] if event.n_starts >= FEWEST]
    assert before
    assert all(holds_border(event.interval, borders) for event in before)


def test_on_a_border_its_time_ends_it(compared):
    outcome, _told = compared(1.5, (1.5,))
    assert holds_border(outcome.final.ratios["throughput"], (1.5,))
    assert outcome.status == "complete"
    assert 300 < outcome.duration_s <= 400


def test_without_borders_it_ends_with_its_verdict(compared):
    outcome, _told = compared(1.46, ())
    assert outcome.final.n_starts == FEWEST


def test_a_candidate_that_fails_ends_it_at_once(compared):
    outcome, _told = compared(2.0, (1.5,), status=lambda v: "hung" if v["good"] else "complete")
    assert (outcome.final.verdict, outcome.final.n_starts) == ("failed", 1)


def test_a_run_that_goes_on_takes_what_is_stored_and_ends_where_it_would_have(compared):
    store = MemoryStore()
    cut, _ = compared(1.44, (1.05, 1.5), store=store, interrupt_after=7)
    assert (cut.status, cut.final.n_starts) == ("interrupted", 7)
    again, _ = compared(1.44, (1.05, 1.5), store=store)
    whole, _ = compared(1.44, (1.05, 1.5))
    assert again.final == whole.final
