import math

import pytest
from msgspec import structs
from tests.conformance.record import sample_outcome, sample_plan
from tests.rows import each_row

from httpdyno.errors import StoreError
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    Outcome,
    Plan,
    RatioInterval,
    SecondClaim,
)
from httpdyno.store.query import from_text, to_text


def test_a_bound_that_is_open_comes_back_as_infinity():
    interval = RatioInterval(ratio=1.0, low=0.0, high=float("inf"), confidence=0.95)
    assert from_text(to_text(interval), RatioInterval, "it") == interval


def test_a_plan_that_no_time_ends_comes_back_as_one():
    plan = sample_plan()
    endless = structs.replace(plan, study=structs.replace(plan.study, budget_s=math.inf))
    assert from_text(to_text(endless), Plan, "it") == endless


def test_text_that_is_not_ascii_stays_readable():
    assert "é" in to_text(sample_plan())


@each_row(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"seed": 1}',
        "[" * 100_000,
        '{"seed": ' + "9" * 5000 + "}",
        '{"workload": [7]}',
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_such_record_is_named(text):
    with pytest.raises(StoreError, match=r"the plan of run 3 cannot be read") as caught:
        from_text(text, Plan, "the plan of run 3")
    assert caught.value.hint


def test_a_second_claim_comes_back_as_it_was():
    whole = sample_outcome("1")
    claim = SecondClaim(
        metric="cpu_s_per_request", verdict="better", reasons=said("it lies below 1")
    )
    assert whole.final is not None
    told = structs.replace(whole, final=structs.replace(whole.final, second=claim))
    assert from_text(to_text(told), Outcome, "it") == told
