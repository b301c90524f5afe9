"""System calls as what decides: counts of starts, their verdicts, nought and no width."""

import json
import math

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.experiment.test_second_metric import ARMS, SPREAD, start_of

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import TargetError
from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import arm_summary, log_ratios
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.design.smoke_test import least_s, whole_s
from httpdyno.experiment.method.comparison import start_times
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.trial.afterwards import LEAST_COUNT_S
from httpdyno.model import Knob, Method, Objective, StartRecord, SystemCalls
from httpdyno.model.system_calls import calls_together
from httpdyno.reason import because
from httpdyno.report.shared.message import error_text, joined
from httpdyno.store.query import from_text, to_text

CALLS, OPENS = "calls_per_request", "calls_per_request of open"


def of(per_request, opens=2.0, n_answers=20):
    kinds = {"read": per_request - opens, "open": opens}
    by_kind = {kind: n for kind, n in kinds.items() if n}
    return SystemCalls(per_request=per_request, by_kind=by_kind, n_answers=n_answers)


def counted(number, a, b):
    return structs.replace(start_of(number, 1.0, 1.0), system_calls=(a, b))


def starts(factor, spread=SPREAD):
    return [
        counted(number, of(100.0), of(100.0 * factor * math.exp(noise)))
        for number, noise in enumerate(spread)
    ]


def compared(found, metric=CALLS, **more):
    return comparison(
        1, found, ARMS, Terms(objective=Objective(metric=metric, **more), min_starts=6)
    )


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "better"), (2.0, "worse")])
def test_fewer_are_better(factor, verdict):
    found = compared(starts(factor))
    assert (found.verdict, found.metric) == (verdict, CALLS)
    assert found.ratios[CALLS].ratio == pytest.approx(factor)
    assert "width" not in joined(found.reasons)


def test_each_start_gives_one_ratio_and_a_summary_all_of_them():
    found = starts(0.5)
    assert log_ratios(found, CALLS)[2] == pytest.approx(math.log(0.5))
    arm = arm_summary(found, 0, ARMS[0])
    assert arm.system_calls == SystemCalls(
        per_request=100.0, by_kind={"read": 98.0, "open": 2.0}, n_answers=120
    )


def test_starts_weigh_by_their_answers_and_those_without_a_count_by_nothing():
    found = calls_together([of(10.0, 0.0, n_answers=20), None, of(40.0, 4.0, n_answers=10)])
    assert found is not None
    assert found.n_answers == 30
    assert found.per_request == pytest.approx(20.0)
    assert found.of("open") == pytest.approx(4 / 3)
    assert calls_together([None]) is None


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "equivalent"), (0.75, "better")])
def test_a_ratio_that_never_varies_is_said_to_have_no_width(factor, verdict):
    found = compared(starts(factor, [0.0] * 6))
    assert found.verdict == verdict
    assert joined(found.reasons).endswith(
        "; the ratio is the same in all 6 starts, so its interval has no width"
    )
    assert found.ratios[CALLS].low == pytest.approx(found.ratios[CALLS].high)


def test_a_kind_that_one_does_without_has_no_ratio_and_both_figures():
    found = compared([counted(n, of(100.0, 3.0), of(97.0, 0.0)) for n in range(6)], OPENS)
    assert found.verdict == "not_measured"
    assert OPENS not in found.ratios
    assert joined(found.reasons) == (
        "no ratio: system calls per request of open is 0 in 6 of 6 starts (a 3.00, b 0.00)"
    )


def test_one_start_without_calls_of_a_kind_is_not_left_out_in_silence():
    some = [counted(n, of(100.0), of(100.0, float(n > 0))) for n in range(6)]
    found = compared(some, OPENS)
    assert (found.verdict, OPENS in found.ratios) == ("not_measured", False)
    assert "in 1 of 6 starts" in joined(found.reasons)


def test_a_kind_that_nobody_needs_is_said_to_be_none():
    found = compared([counted(n, of(98.0, 0.0), of(98.0, 0.0)) for n in range(6)], OPENS)
    assert joined(found.reasons) == "no ratio: system calls per request of open is 0 in every start"


def test_what_strace_could_not_count_is_no_figure_and_says_why():
    untraced = SystemCalls(untraced=because("telemetry.no_answer_traced"))
    found = compared([counted(n, of(98.0), untraced) for n in range(6)])
    assert found.verdict == "not_measured"
    assert joined(found.reasons).endswith("in 6 starts: no answer came while strace ran")
    assert found.b.system_calls is None


def test_they_break_ties_and_are_told_beside():
    tied = compared(starts(0.5), "throughput_per_s", tie_breaker=CALLS)
    assert (tied.verdict, tied.decided_by) == ("better", CALLS)
    told = compared(starts(0.5), "throughput_per_s", also=(CALLS, OPENS))
    assert [each.verdict for each in told.also] == ["better", "equivalent"]


def test_starts_of_earlier_versions_have_none():
    start = start_of(0, 1.0, 1.0)
    whole = counted(0, of(10.0), None)
    assert from_text(to_text(whole), StartRecord, "it") == whole
    old = json.loads(to_text(start))
    assert (old.pop("system_calls"), old.pop("counted_s")) == ([], 0.0)
    assert from_text(json.dumps(old), StartRecord, "it") == start
    assert CALLS not in compared([start] * 6, "throughput_per_s", also=(CALLS,)).ratios


def test_what_counting_takes_is_no_part_that_starts_side_by_side_share():
    start = structs.replace(start_of(0, 1.0, 1.0), duration_s=10.0)
    counting = structs.replace(start, duration_s=13.0, counted_s=3.0)
    plain, with_count = start_times([start], 4), start_times([counting], 4)
    assert with_count.overhead_s == pytest.approx(plain.overhead_s + 3.0)
    assert with_count.block_s == plain.block_s


def test_the_time_that_the_first_claim_needs_has_a_count_for_each_server_of_each_start(study):
    a = study.start_configuration()
    plain = compare_plan(study, a, a.replaced("good", 1), seed=1)
    asked = structs.replace(study, objective=Objective(also=(CALLS,)))
    counting = structs.replace(plain, study=asked)
    assert any("each counts system calls" in line for line in plan_lines(counting))
    assert not any("system calls" in line for line in plan_lines(plain))
    assert least_s(counting) == pytest.approx(least_s(plain) + 6 * 2 * LEAST_COUNT_S)
    record = structs.replace(start_of(0, 1.0, 1.0), duration_s=4.0)
    with_count = structs.replace(record, duration_s=6.0, counted_s=2.0)
    plan, plan_counting = (make_plan(each, seed=1) for each in (study, asked))
    least, most = whole_s(plan, record, can_count=False)
    counting_least, counting_most = whole_s(plan_counting, with_count, can_count=True)
    n_starts = 3 + 6 * (len(plan.steps) + 1)
    assert counting_most - most == pytest.approx(2.0 * n_starts)
    assert counting_least - least == pytest.approx(2.0 * n_starts), "no two count at a time"


def test_a_whole_run_decides_by_them_within_its_budget(study):
    study = structs.replace(study, objective=Objective(metric=CALLS))
    a = study.start_configuration()
    bench = FakeBench(
        throughput_per_s=lambda _values: 400.0,
        system_calls=lambda values: of(60.0 if values["good"] else 80.0),
        count_each_s=1.0,
    )
    found = run_plan(
        compare_plan(study, a, a.replaced("good", 1), seed=1, budget_s=120.0),
        bench=bench,
        store=MemoryStore(),
        run_id="1",
        watch=lambda _event: None,
    )
    assert found.final is not None
    assert found.final.verdict == "better"
    assert found.final.ratios[CALLS].ratio == pytest.approx(0.75)
    assert found.final.duration_s <= 120.0


def test_a_later_round_in_which_a_level_takes_none_is_not_left_out_in_silence(study):
    """The curve would be of the rounds that came out otherwise."""

    class Late(FakeBench):
        def measure_start(self, request, save):
            record = super().measure_start(request, save)
            opens = 0.0 if request.start == 7 else 2.0 + request.start % 2
            return structs.replace(record, system_calls=(of(9.0, opens), of(9.0, 3.0)))

    knob = Knob(name="workers", start=64, levels=(1, 64))
    study = structs.replace(
        study,
        knobs=(knob,),
        method=Method(kind="sweep", knob="workers", window_s=0.5, blocks_per_start=2),
        objective=Objective(metric=OPENS),
    )
    bench = Late(throughput_per_s=lambda _values: 500.0)
    plan = make_plan(study, seed=5)
    with pytest.raises(TargetError) as raised:
        run_plan(plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None)
    assert "is 0 in 1 of 8 starts" in error_text(raised.value)
    assert bench.starts_measured == 8
