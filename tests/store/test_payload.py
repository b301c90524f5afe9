import json
import math

import pytest
from msgspec import structs
from tests.conformance.record import sample_outcome, sample_plan, sample_window

from httpdyno.errors import StoreError
from httpdyno.model import (
    ArmSummary,
    Closed,
    Configuration,
    Constant,
    Outcome,
    Plan,
    RatioInterval,
    SecondClaim,
    Sweep,
    SweepPoint,
    WindowRecord,
)
from httpdyno.store.payload import from_text, to_text


def test_a_bound_that_is_open_comes_back_as_infinity():
    interval = RatioInterval(ratio=1.0, low=0.0, high=float("inf"), confidence=0.95)
    assert from_text(to_text(interval), RatioInterval, "it") == interval


def test_a_plan_that_no_time_ends_comes_back_as_one():
    plan = sample_plan()
    endless = structs.replace(plan, study=structs.replace(plan.study, budget_s=math.inf))
    assert from_text(to_text(endless), Plan, "it") == endless


def test_text_that_is_not_ascii_stays_readable():
    assert "é" in to_text(sample_plan())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"seed": 1}',
        "[" * 100_000,
        '{"seed": ' + "9" * 5000 + "}",
        '{"study": {"workload": {"keep_alive": 0, "rate_per_s": []}}}',
        '{"workload": [7]}',
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_such_record_is_named(text):
    with pytest.raises(StoreError, match=r"the plan of run 3 cannot be read") as caught:
        from_text(text, Plan, "the plan of run 3")
    assert caught.value.hint


def test_what_a_measurement_no_longer_has_is_passed_over():
    window = sample_window()
    old = json.loads(to_text(window))
    old["measurement"]["busy_connection_s"] = 4.2
    assert from_text(json.dumps(old), WindowRecord, "it") == window


@pytest.mark.parametrize(
    ("keep_alive", "rate_per_s", "per_connection", "arrival"),
    [(True, None, 0, Closed()), (False, 250.0, 1, Constant(rate_per_s=250.0))],
)
def test_a_workload_of_the_first_format_is_still_read(
    keep_alive, rate_per_s, per_connection, arrival
):
    old = {
        "requests": [{"path": "/a"}],
        "connections": 3,
        "keep_alive": keep_alive,
        "rate_per_s": rate_per_s,
        "timeout_s": 2.0,
    }
    plan = json.loads(to_text(sample_plan()))
    plan["study"]["workload"] = old
    outcome = json.loads(to_text(sample_outcome("1")))
    outcome["plan"] = plan
    read = from_text(json.dumps(plan), Plan, "it").study.workload
    assert from_text(json.dumps(outcome), Outcome, "it").plan.study.workload == read
    assert (read.connections, read.timeout_s, read.requests[0].path) == (3, 2.0, "/a")
    assert read.requests_per_connection == per_connection
    assert read.arrival == arrival


def test_a_sweep_that_knew_throughput_alone_is_read_as_one_of_it():
    point = SweepPoint(
        level=4,
        arm=ArmSummary(configuration=Configuration(values={"workers": 4}), throughput_per_s=700.0),
        ratio_to_best=None,
        value=700.0,
        low=690.0,
        high=710.0,
    )
    sweep = Sweep(knob="workers", unit="", points=(point,), best=4, knee=4, rule="the smallest")
    outcome = structs.replace(sample_outcome("1"), sweep=sweep)
    old = json.loads(to_text(outcome))
    del old["sweep"]["metric"], old["sweep"]["points"][0]["value"]
    for end in ("low", "high"):
        old["sweep"]["points"][0][f"throughput_{end}_per_s"] = old["sweep"]["points"][0].pop(end)
    assert from_text(json.dumps(old), Outcome, "it") == outcome


def test_what_was_stored_before_there_was_a_second_metric_is_read_as_it_was_meant():
    outcome = json.loads(to_text(sample_outcome("1")))
    del outcome["final"]["second"]
    del outcome["steps"][0]["comparison"]["second"]
    del outcome["plan"]["study"]["objective"]["second_metric"]
    read = from_text(json.dumps(outcome), Outcome, "it")
    assert read.final is not None
    assert read.final.second is None
    assert read.steps[0].comparison.second is None
    # A run that goes on keeps to what it was begun with: the metric has all of the risk.
    objective = read.plan.study.objective
    assert objective.confidence_of(objective.metric) == objective.confidence


def test_a_second_claim_comes_back_as_it_was():
    whole = sample_outcome("1")
    claim = SecondClaim(metric="cpu_s_per_request", verdict="better", reason="it lies below 1")
    assert whole.final is not None
    told = structs.replace(whole, final=structs.replace(whole.final, second=claim))
    assert from_text(to_text(told), Outcome, "it") == told
