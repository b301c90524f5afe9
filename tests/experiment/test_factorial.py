"""A factorial: every combination, and what each knob changes with and without each other."""

import math

import pytest
from msgspec import structs
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore
from tests.report.plain import plain_text

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.design.plan import factorial_arms, make_plan
from httpdyno.experiment.design.smoke_test import least_s
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.trial.afterwards import LooksToTake
from httpdyno.model import Cycles, Knob, SystemCalls
from httpdyno.report.shared.message import error_text, joined, text
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text


@pytest.fixture
def factorial(study):
    return structs.replace(
        study,
        method=structs.replace(study.method, kind="factorial"),
        knobs=(
            Knob(name="keep", start="off", levels=("on",)),
            Knob(name="mpm", start="prefork", levels=("event",)),
        ),
        budget_s=300.0,
    )


def _throughput(values):
    """What keeping connections brings is there with `event` already."""
    if values["mpm"] == "event":
        return 600.0
    return 500.0 if values["keep"] == "on" else 400.0


def _run(study, throughput_per_s=_throughput, **bench):
    fake = FakeBench(throughput_per_s=throughput_per_s, **bench)
    plan = make_plan(study, seed=5)
    return run_plan(plan, bench=fake, store=MemoryStore(), run_id="1", watch=lambda _event: None)


def test_each_effect_and_each_interaction_holds_its_true_ratio(factorial):
    found = _run(factorial).factorial
    assert found is not None
    truth = {("keep",): 1.25**0.5, ("mpm",): (1.5 * 1.2) ** 0.5, ("keep", "mpm"): 0.8}
    assert [each.knobs for each in found.effects] == list(truth)
    for each in found.effects:
        assert each.ratio is not None
        assert each.ratio.low < truth[each.knobs] < each.ratio.high
    assert [each.verdict for each in found.effects] == ["better", "better", "worse"]
    simple = {(s.knob, s.is_given_changed): s.ratio for s in found.simple}
    for key, true in {("keep", False): 1.25, ("keep", True): 1.0, ("mpm", False): 1.5}.items():
        ratio = simple[key]
        assert ratio is not None
        assert ratio.low < true < ratio.high


def test_the_best_combination_is_proven_on_fresh_starts(factorial):
    outcome = _run(factorial, lambda values: _throughput(values) * (1 + (values["keep"] == "on")))
    assert outcome.configuration.values == {"keep": "on", "mpm": "event"}
    assert outcome.final is not None
    assert outcome.final.verdict == "better"


def test_a_knob_that_brings_nothing_does_not_ride_along(factorial):
    outcome = _run(
        factorial, lambda values: 601.0 if values["keep"] == "on" else _throughput(values)
    )
    assert len(factorial.start_configuration().changes(outcome.configuration)) == 1
    nothing = _run(factorial, lambda _values: 400.0)
    assert nothing.final is None
    assert nothing.configuration == factorial.start_configuration()


def test_what_does_not_add_up_is_said_in_sentences(factorial):
    outcome = _run(factorial)
    text = plain_text(outcome_text(outcome))
    assert max(map(len, text.splitlines())) <= 80
    told = " ".join(text.split())
    assert "2 of 2 effects proven (keep → on 1.1" in told
    assert "less together" in told
    document = outcome_json(outcome)["factorial"]
    [first, second] = document["sentences"]
    assert first.startswith("keep → on: throughput 1.2")
    assert ") alone, " in first
    assert first.endswith(") with mpm → event")
    assert second.startswith("mpm → event: throughput 1.5")
    assert first in told
    assert first in outcome_html(outcome).replace("\N{NO-BREAK SPACE}", " ")
    assert document["levels"]["mpm"] == ["prefork", "event"]
    assert len(document["arms"]) == 4


def test_of_knobs_that_do_nothing_hardly_any_run_says_a_wrong_word(factorial):
    third = Knob(name="third", start=1, levels=(2,))
    study = structs.replace(factorial, knobs=(*factorial.knobs, third), budget_s=200.0)
    wrong = 0
    for seed in range(40):
        found = _run(study, lambda _values: 400.0, seed=seed, start_sd=0.03).factorial
        assert found is not None
        wrong += any(each.verdict in {"better", "worse"} for each in found.effects)
    assert wrong <= 4  # of 40 at 5 %: five or more would come up in under 5 % of such trials


def test_a_plan_says_how_many_combinations_there_are(factorial):
    plan = make_plan(factorial, seed=1)
    assert "knobs     keep → on, mpm → event: all 4 combinations" in plan_lines(plan)
    values = [tuple(arm.values.values()) for arm in factorial_arms(factorial)]
    assert values == [*(("off", "prefork"), ("on", "prefork"), ("off", "event"), ("on", "event"))]
    method = factorial.method
    window_s = method.warm_up_s + method.lead_in_s + method.window_s
    looks_s = LooksToTake(can_count=False).expected_s([factorial_arms(factorial)])
    assert looks_s > 0
    assert least_s(plan) == pytest.approx(6 * 4 * window_s + looks_s)


BOTH = {"keep": "on", "mpm": "event"}


def _refused(*gone):
    return lambda values: "refused" if values in gone else "complete"


def test_without_a_combination_what_can_be_told_is_told_and_of_which(factorial):
    outcome = _run(factorial, status=_refused(BOTH))
    found = outcome.factorial
    assert found.gone == (3,)
    [keep, mpm, pair] = found.effects
    # Of each knob what it brings where the other one is at its start.
    assert keep.ratio.low < 1.25 < keep.ratio.high
    assert mpm.ratio.low < 1.5 < mpm.ratio.high
    assert (
        joined(keep.reasons) == "where it runs both with and without it: with 1 of 2 of the others"
    )
    assert (pair.verdict, pair.ratio) == ("not_measured", None)
    assert outcome.configuration.values == {"keep": "off", "mpm": "event"}
    assert outcome.final.verdict == "better"
    told = " ".join(plain_text(outcome_text(outcome)).split())
    assert "without keep → on, mpm → event, which did not run" in told
    assert "keep → on, mpm → event refused: it refused; no effect has it" in told
    assert "keep × mpm: cannot be told: one of the four combinations does not run" in told
    assert outcome_json(outcome)["factorial"]["gone"] == [3]


def test_a_third_knob_leaves_every_effect_and_interaction_without_one_combination(factorial):
    third = Knob(name="third", start=1, levels=(2,))
    study = structs.replace(factorial, knobs=(*factorial.knobs, third))
    gone = {**BOTH, "third": 2}
    found = _run(study, status=_refused(gone)).factorial
    truth = [(1.25 * 1.25 * 1.0) ** (1 / 3), (1.5 * 1.5 * 1.2) ** (1 / 3), 1.0, 0.8, 1.0, 1.0]
    for each, true in zip(found.effects, truth, strict=True):
        assert each.ratio.low < true < each.ratio.high, each.knobs
    assert all(joined(each.reasons) for each in found.effects)


def test_a_start_that_does_not_run_leaves_effects_and_nothing_to_compare_with(factorial):
    outcome = _run(factorial, status=_refused({"keep": "off", "mpm": "prefork"}))
    assert [each.verdict for each in outcome.factorial.effects[:2]] != ["not_measured"] * 2
    assert outcome.final is None
    [doubt] = [
        each for each in outcome.warnings if each.code == "experiment.start_is_no_combination"
    ]
    assert "the start itself is no combination that will do (refused: it refused)" in text(
        doubt.reason
    )


def test_where_no_two_combinations_differ_in_one_knob_each_failure_is_named(factorial):
    alone = ({"keep": "on", "mpm": "prefork"}, {"keep": "off", "mpm": "event"})
    with pytest.raises(TargetError) as raised:
        _run(factorial, status=_refused(*alone))
    assert "no effect can be told: keep=on, mpm=prefork refused: " in error_text(raised.value)


def test_a_combination_without_answers_is_left_out_and_one_that_breaks_a_limit_is_told(factorial):
    def of_both(share):
        return lambda values: share if values == BOTH else 0.0

    told = " ".join(plain_text(outcome_text(_run(factorial, error_ratio=of_both(1.0)))).split())
    assert "keep → on, mpm → event unstable: no right answers" in told
    outcome = _run(factorial, error_ratio=of_both(0.02))
    told = " ".join(plain_text(outcome_text(outcome)).split())
    assert "keep → on, mpm → event infeasible: 2 % of requests failed" in told
    assert outcome.factorial.gone == ()
    assert outcome.configuration.values == {"keep": "off", "mpm": "event"}


def test_a_tie_breaker_decides_where_a_knob_shows_no_difference(factorial):
    objective = structs.replace(factorial.objective, tie_breaker="cpu_s_per_request")
    study = structs.replace(factorial, objective=objective)
    outcome = _run(
        study,
        lambda values: 600.0 if values["mpm"] == "event" else 400.0,
        cpu_s_per_request=lambda values: 0.7 if values["keep"] == "on" else 1.0,
    )
    [keep, mpm, _pair] = outcome.factorial.effects
    assert (keep.verdict, keep.decided_by) == ("better", "cpu_s_per_request")
    assert keep.tie.ratio == pytest.approx(0.7)
    assert (mpm.verdict, mpm.decided_by) == ("better", "")
    assert outcome.configuration.values == BOTH
    told = " ".join(plain_text(outcome_text(outcome)).split())
    assert "keep → on CPU per request 0.7" in told
    assert "better by CPU" in told


def test_a_tie_breaker_does_not_buy_what_costs_much(factorial):
    objective = structs.replace(factorial.objective, tie_breaker="cpu_s_per_request")
    study = structs.replace(factorial, objective=objective)
    outcome = _run(
        study,
        lambda values: 300.0 if values["keep"] == "on" else 400.0,
        cpu_s_per_request=lambda values: 0.2 if values["keep"] == "on" else 1.0,
    )
    assert outcome.factorial.effects[0].verdict == "worse"
    assert outcome.configuration.values["keep"] == "off"


def test_a_budget_that_cannot_hold_the_fewest_rounds_is_refused(factorial):
    with pytest.raises(UsageError, match=r"one round of all 4 combinations .* takes 6 of them"):
        _run(structs.replace(factorial, budget_s=60.0))


def test_less_is_better_of_what_a_request_costs(factorial):
    objective = structs.replace(factorial.objective, metric="cpu_s_per_request")
    study = structs.replace(factorial, objective=objective)
    outcome = _run(study, cpu_s_per_request=lambda values: 1 / _throughput(values))
    assert outcome.factorial is not None
    assert [e.verdict for e in outcome.factorial.effects] == ["better", "better", "worse"]
    assert outcome.configuration.values["mpm"] == "event"


def test_a_start_in_which_a_combination_takes_no_calls_is_not_left_out_in_silence(factorial):
    metric = "calls_per_request of open"
    objective = structs.replace(factorial.objective, metric=metric, second_metric="")
    n_seen = 0

    def calls(values):
        nonlocal n_seen
        n_seen += values == {"keep": "on", "mpm": "event"}
        opens = 0.0 if n_seen == 2 and values["mpm"] == "event" else 2.0
        return SystemCalls(per_request=9.0, by_kind={"open": opens}, n_answers=20)

    outcome = _run(structs.replace(factorial, objective=objective), system_calls=calls)
    found = outcome.factorial
    assert found is not None
    assert joined(found.unclaimed) == (
        "no ratio: system calls per request of open is 0 in some starts"
    )
    assert {each.verdict for each in found.effects} == {"inconclusive"}
    assert outcome.configuration == outcome.plan.study.start_configuration()


class _Contradicting(FakeBench):
    """Users' cycles of the last combination make another throughput than what was credited."""

    factor = 1.0

    def measure_start(self, request, save):
        start = super().measure_start(request, save)
        windows = []
        for each in start.windows:
            seen = each.measurement
            n, factor = seen.measured_completed, self.factor if each.arm == 3 else 1.0
            cycles = Cycles(
                credit=float(n),
                n_users=8,
                begun=n,
                begun_right=n,
                begun_s=8 * seen.measured_s * factor,
                begun_s2=0.0,
                longest_s=0.1,
            )
            known = structs.replace(seen, cycles=cycles)
            windows.append(structs.replace(each, measurement=known))
        return structs.replace(start, windows=tuple(windows))


def _contradicted(factorial, factor):
    bench = _Contradicting(throughput_per_s=_throughput)
    bench.factor = factor
    plan = make_plan(factorial, seed=5)
    outcome = run_plan(
        plan, bench=bench, store=MemoryStore(), run_id="1", watch=lambda _event: None
    )
    assert outcome.factorial is not None
    return outcome


def test_an_effect_has_in_it_what_its_combinations_may_be_off_by(factorial):
    """Half of one of four in an effect, all of it in an interaction."""
    outcome = _contradicted(factorial, 1.1)
    found, plain = outcome.factorial, _contradicted(factorial, 1.0).factorial
    assert found.n_starts == plain.n_starts
    for wide, narrow, part in zip(found.effects, plain.effects, (0.5, 0.5, 1), strict=True):
        by = part * math.log(1.1)
        assert math.log(narrow.ratio.low / wide.ratio.low) == pytest.approx(by)
        assert math.log(wide.ratio.high / narrow.ratio.high) == pytest.approx(by)
        assert "Little's law" in joined(wide.reasons)
    assert found.unclaimed == ()
    assert [each.verdict for each in found.effects] == ["better", "better", "worse"]
    [told] = [
        text(each.reason) for each in outcome.warnings if each.code == "experiment.little_of_many"
    ]
    assert "so a ratio of two is known no better than by that: its interval is wider" in told
    assert "up to 10 %" in told


def test_of_a_doubt_without_a_size_no_effect_is_claimed(factorial):
    outcome = _contradicted(factorial, 0.0)
    found = outcome.factorial
    assert "began in a window, so its throughput cannot be checked" in joined(found.unclaimed)
    assert {each.verdict for each in found.effects} == {"inconclusive"}
    assert outcome.configuration == factorial.start_configuration()
