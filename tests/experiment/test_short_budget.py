"""A budget that a refusal tells works when it is given, also where others begin to use the CPUs."""

import re

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.experiment.design.plan import compare_plan, make_plan, versus_plan, with_budget
from httpdyno.experiment.design.smoke_test import check_budget, least_s
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.trial.budget import Ahead, require_time, starts_ahead, time_to_type
from httpdyno.model import Knob, Method
from httpdyno.units import duration_s


def _plan(study, kind):
    start = study.start_configuration()
    if kind == "compare":
        return compare_plan(study, start, start.replaced("good", 1), seed=3)
    if kind == "versus":
        candidates = {"b1": start.replaced("good", 1), "b2": start.replaced("bad", True)}
        return versus_plan(study, start, candidates, seed=3)
    method = Method(kind=kind, window_s=0.5, blocks_per_start=study.method.blocks_per_start)
    if kind == "sweep":
        knob = Knob(name="good", start=0, levels=(0, 1, 2))
        method = structs.replace(method, knob="good")
        return make_plan(structs.replace(study, knobs=(knob,), method=method), seed=3)
    if kind == "factorial":
        knobs = tuple(
            structs.replace(each, levels=each.levels[-1:], book_ratio=())
            for each in study.knobs[:2]
        )
        return make_plan(structs.replace(study, knobs=knobs, method=method), seed=3)
    return make_plan(structs.replace(study, method=method), seed=3)


class _Slower(FakeBench):
    """A bench on which each start takes so many times as long."""

    times = 1.0

    def measure_start(self, request, save):
        record = super().measure_start(request, save)
        return structs.replace(record, duration_s=record.duration_s * self.times)


def _run(plan, times=1.0):
    bench = _Slower(throughput_per_s=lambda values: 800.0 if values.get("good") else 400.0)
    bench.times = times
    check_budget(plan)
    return run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None)


@pytest.mark.parametrize("kind", ["compare", "versus", "ladder", "table", "sweep", "factorial"])
@pytest.mark.parametrize("share", [0.2, 1.01, 1.2])
def test_a_budget_that_is_told_works_when_given_on_a_machine_that_became_busy(study, kind, share):
    plan = _plan(study, kind)
    with pytest.raises(UsageError, match="too short: one") as refused:
        _run(with_budget(plan, share * least_s(plan)))
    told = re.findall(r"`--budget (\w+)`", refused.value.hint)
    assert len(told) == (2 if kind == "ladder" else 1)
    for budget in told:
        outcome = _run(with_budget(plan, duration_s(budget)), times=1.5)
        assert outcome.status == "complete"
        claimed = [*(step.comparison for step in outcome.steps), outcome.final]
        assert claimed
        assert all(each.n_starts >= 6 for each in claimed if each is not None)
    assert not outcome.not_tried


@each_row(
    ("needed_s", "text"), [(0.1, "5s"), (40.0, "75s"), (60.0, "2m"), (110.0, "3m30s"), (400, "12m")]
)
def test_a_time_to_type_is_round_and_longer_than_what_is_expected(needed_s, text):
    assert time_to_type(needed_s) == text
    assert duration_s(text) > needed_s


def test_what_one_start_takes_tells_the_budget_of_the_whole_plan():
    with pytest.raises(UsageError, match="leaves 500 ms for each of 6 starts") as refused:
        require_time(
            1.0, 0.5, 6, needed=Ahead(first=15, whole=40, n_steps=4).needed(4.0), cycle_s=0
        )
    assert refused.value.hint == (
        "`--budget 2m` is enough for one step and the final claim, `--budget 5m` for all 4, on a "
        "busy machine too"
    )


@pytest.mark.parametrize(
    ("met_s", "why"),
    [
        (0.14, "because a request with its pause takes 70.0 ms in the mean; the budget"),
        (1.9, "in the mean, and some users are kept waiting for 1.90 s; the budget"),
    ],
)
def test_a_start_that_is_long_for_its_latencies_says_for_which(met_s, why):
    needed = Ahead(first=15, whole=40, n_steps=4).needed(21.0)
    with pytest.raises(UsageError) as refused:
        require_time(21.0, 19.0, 6, needed=needed, cycle_s=0.07, met_s=met_s)
    assert why in str(refused.value)
    assert "more connections shorten windows" in refused.value.hint


@pytest.mark.parametrize("kind", ["compare", "versus", "ladder", "table", "sweep", "factorial"])
def test_windows_of_the_first_start_leave_room_for_the_others_of_the_first_claim(study, kind):
    bench = FakeBench(throughput_per_s=lambda _values: 400.0)
    plan = with_budget(_plan(study, kind), 600.0)
    run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None)
    first = bench.requests[0]
    assert starts_ahead(plan).first * first.windows_s <= 300.0
    assert all(each.windows_s < each.limit_s for each in bench.requests)
