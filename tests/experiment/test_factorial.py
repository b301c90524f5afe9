"""A factorial: every combination, and what each knob changes with and without each other."""

import pytest
from msgspec import structs
from tests.report.plain import plain_text

from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.looks_to_take import LooksToTake
from httpdyno.experiment.planning import factorial_arms, make_plan, plan_lines
from httpdyno.experiment.rehearsal import least_s
from httpdyno.experiment.run import run_plan
from httpdyno.model import Knob
from httpdyno.report.study.html import outcome_html
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.text import outcome_text
from httpdyno.testing.bench import FakeBench
from httpdyno.testing.memory_store import MemoryStore


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
    assert document["knobs"][1] == {"knob": "mpm", "start": "prefork", "to": "event"}
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


def test_a_combination_that_does_not_run_is_named(factorial):
    def status(values):
        return "refused" if values == {"keep": "on", "mpm": "event"} else "complete"

    with pytest.raises(TargetError, match="combination keep=on, mpm=event refused: it refused"):
        _run(factorial, status=status)


def test_a_combination_without_answers_is_named_and_one_that_breaks_a_limit_is_told(factorial):
    def of_both(share):
        return lambda values: share if values == {"keep": "on", "mpm": "event"} else 0.0

    with pytest.raises(TargetError, match="combination keep=on, mpm=event unstable: no right"):
        _run(factorial, error_ratio=of_both(1.0))
    outcome = _run(factorial, error_ratio=of_both(0.02))
    told = " ".join(plain_text(outcome_text(outcome)).split())
    assert "keep → on, mpm → event infeasible: 2 % of requests failed" in told
    assert outcome.configuration.values == {"keep": "off", "mpm": "event"}


def test_a_budget_that_cannot_hold_the_fewest_rounds_is_refused(factorial):
    with pytest.raises(UsageError, match="takes 6 rounds of all 4 combinations"):
        _run(structs.replace(factorial, budget_s=60.0))


def test_less_is_better_of_what_a_request_costs(factorial):
    objective = structs.replace(factorial.objective, metric="cpu_s_per_request")
    study = structs.replace(factorial, objective=objective)
    outcome = _run(study, cpu_s_per_request=lambda values: 1 / _throughput(values))
    assert outcome.factorial is not None
    assert [e.verdict for e in outcome.factorial.effects] == ["better", "better", "worse"]
    assert outcome.configuration.values["mpm"] == "event"
