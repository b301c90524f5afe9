"""Whole runs of studies about code, on programs whose truth is known."""

import pytest
from tests.conformance.memory_store import MemoryStore
from tests.experiment.code import CodeBench, FakeProgram, code_study

from httpdyno.cli.plan_text import plan_lines
from httpdyno.errors import TargetError
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.design.smoke_test import least_s
from httpdyno.experiment.method.run import run_plan
from httpdyno.report.shared.message import error_text, joined
from httpdyno.servers.adapter import NotRunning, own_words

COSTS = {"function": 40.0, "method": 60.0, "alias": 40.0, "join": 20.0, "nothing": 0.05}


def ran(plan, bench=None):
    return run_plan(
        plan,
        bench=bench or CodeBench(costs_ns=COSTS),
        store=MemoryStore(),
        run_id="1",
        watch=lambda _event: None,
    )


def compared(a, b, bench=None, budget_s=60.0):
    study = code_study("method", "alias", "join", "nothing")
    start = study.start_configuration()
    arms = (start.replaced("body", a), start.replaced("body", b))
    final = ran(compare_plan(study, *arms, seed=2, budget_s=budget_s), bench).final
    assert final is not None
    return final


@pytest.mark.parametrize(("b", "ratio"), [("method", 1.5), ("join", 0.5)])
def test_the_ratio_is_that_of_the_bodies_without_their_loop(b, ratio):
    final = compared("function", b)
    found = final.ratios["cpu_per_call"]
    assert final.verdict == ("worse" if ratio > 1 else "better")
    assert found.low < ratio < found.high
    assert found.high < ratio * 1.1
    assert final.b.calls is not None
    assert final.b.calls.cpu_s * 1e9 == pytest.approx(COSTS[b], rel=0.05)
    # Nothing was requested, so nothing is said of requests.
    assert set(final.ratios) == {"cpu_per_call", "wall_per_call"}
    assert (final.b.throughput_per_s, final.b.cpu_s_per_request) == (0.0, 0.0)


def test_what_costs_the_same_is_not_told_apart():
    assert compared("function", "alias").verdict in {"equivalent", "inconclusive"}


@pytest.mark.parametrize("pair", [("function", "nothing"), ("nothing", "function")])
def test_what_is_not_clearly_above_the_empty_body_is_refused(pair):
    final = compared(*pair)
    assert final.verdict == "not_measured"
    assert f"{'ab'[pair.index('nothing')]} is not clearly above the empty body" in joined(
        final.reasons
    )
    # Not of those starts alone in which it came out above: they are chosen by what they say.
    assert final.ratios == {}
    # It ends then: more of the same would not help.
    assert final.n_starts <= 6


def test_a_table_has_a_row_for_each_body_and_fails_no_other_by_one_that_dies():
    def make(costs_ns, dice):
        return FakeProgram(
            costs_ns=costs_ns,
            noise_sd=0.01,
            dice=dice,
            broken={"join": NotRunning(status="crashed", detail=own_words("killed"))},
        )

    study = code_study("method", "join", "alias")
    outcome = ran(make_plan(study, seed=3), CodeBench(costs_ns=COSTS, make=make))
    verdicts = {step.after: step.comparison.verdict for step in outcome.steps}
    assert outcome.status == "complete"
    assert (verdicts["method"], verdicts["join"]) == ("worse", "failed")
    assert not any(caveat.code == "experiment.shared_cores" for caveat in outcome.warnings)


def test_without_its_reference_a_study_ends_with_the_program_s_words():
    def make(costs_ns, dice):
        broken = {
            "function": NotRunning(
                status="refused", detail=own_words("there is no body `function`")
            )
        }
        return FakeProgram(costs_ns=costs_ns, dice=dice, broken=broken)

    with pytest.raises(TargetError) as raised:
        ran(make_plan(code_study("method"), seed=3), CodeBench(costs_ns=COSTS, make=make))
    assert "there is no body `function`" in error_text(raised.value)


def test_a_program_that_says_otherwise_is_doubted():
    def make(costs_ns, dice):
        return FakeProgram(costs_ns=costs_ns, noise_sd=0.01, dice=dice, said=0.5)

    final = compared("function", "method", CodeBench(costs_ns=COSTS, make=make))
    assert [caveat.code for caveat in final.warnings] == ["experiment.said_apart"]


def test_the_plan_names_program_and_batches_and_no_requests():
    plan = make_plan(code_study("method"), seed=1)
    text = "\n".join(plan_lines(plan))
    assert "program   perl bodies.pl" in text
    assert "taken off empty, the empty body" in text
    assert "batches   30.0 ms of calls each" in text
    assert "connections" not in text
    # No server is looked at, so windows are all that the fewest starts take.
    assert least_s(plan) == pytest.approx(6 * 2 * 0.05)
