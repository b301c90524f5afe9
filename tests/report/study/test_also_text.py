"""What is told of further metrics that were asked for."""

import io

import pytest
from msgspec import structs
from rich.console import Console
from tests.report import sample_trouble
from tests.report.sample import ladder
from tests.report.sample_figures import with_figures
from tests.report.sample_second import OBJECTIVE, second_alone, second_compare
from tests.rows import each_row

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.metrics.table import named
from httpdyno.model import Outcome, RatioInterval, SecondClaim, Verdict
from httpdyno.report.shared.published import published
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.method import method_sentences
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text
from httpdyno.report.study.verdict import step_name

P99 = "latency_p99_s"
SLOWER = RatioInterval(ratio=1.214, low=1.102, high=1.337, confidence=0.995)


def asked(
    outcome: Outcome, verdict: Verdict, reason: str = "so it lies", metric: str = P99
) -> Outcome:
    """Return the outcome of a study that asks for the p99, or another metric, too."""
    assert outcome.final is not None
    claim = SecondClaim(metric=metric, verdict=verdict, reasons=said(reason))
    ratios = {**outcome.final.ratios, named(metric).ratio: SLOWER}
    final = structs.replace(outcome.final, ratios=ratios, also=(claim,))
    objective = structs.replace(OBJECTIVE, also=(metric,))
    study = structs.replace(outcome.plan.study, objective=objective)
    plan = structs.replace(outcome.plan, study=study)
    return structs.replace(outcome, final=final, plan=plan)


def shown(outcome: Outcome) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    with console.capture() as capture:
        console.print(outcome_text(outcome))
    return capture.get()


def page(outcome: Outcome) -> str:
    return outcome_html(outcome).replace("\N{NO-BREAK SPACE}", " ")


@each_row("verdict", ["better", "worse", "equivalent", "inconclusive"])
def test_each_is_told_whatever_its_verdict(verdict):
    outcome = asked(second_compare(), verdict)
    line = f"p99 latency: {verdict}, 1.21 × (1.10 … 1.34; 99.5 % confidence)"
    assert shown(outcome).count("p99 latency") == 1, "not among the other figures too"
    assert line in shown(outcome)
    assert f"p99 latency is {verdict}: 1.21 ×" in page(outcome)
    document = outcome_json(outcome)
    assert list(document["final"]["also"]) == [
        {"metric": P99, "verdict": verdict, "reasons": published(said("so it lies"))}
    ]
    assert document["final"]["ratios"]["latency_p99"]["confidence"] == 0.995


def test_one_request_is_told_by_its_name_with_its_own_column():
    outcome = asked(second_compare(), "worse", metric="latency_p90_s of search")
    assert outcome.final is not None
    arm = with_figures(outcome.final.a, **{"latency_p90_s of search": 0.0421})
    outcome = structs.replace(outcome, final=structs.replace(outcome.final, a=arm))
    assert "p90 latency of search: worse, 1.21 × (1.10 … 1.34; 99.5 % confidence)" in shown(outcome)
    assert "p90 of search" in shown(outcome)
    assert "42.1 ms" in shown(outcome)
    assert "p90 latency of search is worse: 1.21 ×" in page(outcome)
    ratios = outcome_json(outcome)["final"]["ratios"]
    assert ratios["latency_p90 of search"]["ratio"] == 1.214


def test_what_has_no_figure_says_why():
    outcome = asked(second_compare(), "not_measured", "a start holds 240 requests")
    assert "p99 latency: not measured, a start holds 240 requests" in shown(outcome)
    assert "p99 latency is not measured: a start holds 240 requests" in page(outcome)


def test_it_is_told_where_the_metric_itself_has_no_figure():
    assert "p99 latency: worse, 1.21 ×" in shown(asked(second_alone(), "worse"))


def test_of_a_candidate_that_failed_nothing_is_told():
    outcome = asked(second_compare(), "worse")
    assert outcome.final is not None
    final = structs.replace(outcome.final, verdict="failed")
    assert "p99 latency: worse" not in shown(structs.replace(outcome, final=final))


def test_the_method_says_with_what_confidence_all_are_right():
    _, second = method_sentences(asked(second_compare(), "worse"))
    assert "of throughput with 96 % confidence" in second
    assert "of CPU per request, which decides nothing, with 99.5 %" in second
    assert "of p99 latency, which decides nothing, with 99.5 %" in second
    assert "so that with 95 % all are right" in second


@pytest.mark.parametrize("whole", [sample_trouble.versus(), ladder()], ids=["rows", "ladder"])
def test_each_row_says_it_of_its_own(whole):
    claim = SecondClaim(
        metric="handshakes_full_per_request", verdict="worse", reasons=said("so it lies")
    )
    ratios = {"handshakes_full_per_request": SLOWER}
    steps = tuple(
        structs.replace(
            step,
            comparison=structs.replace(
                step.comparison, ratios={**step.comparison.ratios, **ratios}, also=(claim,)
            ),
        )
        for step in whole.steps
    )
    text = " ".join(shown(structs.replace(whole, steps=steps)).split())
    told = "full TLS handshakes per request: worse, 1.21 × (1.10 … 1.34; 99.5 % confidence)"
    able = [step for step in steps if step.comparison.verdict != "failed"]
    assert [f"{step_name(step)}, {told}" in text for step in able] == [True] * len(able)
    assert text.count(told) == len(able)


def test_what_is_counted_are_many():
    text = page(asked(second_compare(), "worse", metric="handshakes_full_per_request"))
    assert "full TLS handshakes per request are worse: 1.21 ×" in text


def test_the_method_says_that_servers_came_up_in_turn_where_that_is_timed():
    first, _ = method_sentences(asked(second_compare(), "worse", metric="ready_s"))
    assert "once they had come up one after the other" in first
    assert "come up" not in method_sentences(asked(second_compare(), "worse"))[0]
