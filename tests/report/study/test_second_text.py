"""What is said of a second metric, where it says something else and where it does not."""

import pytest
from msgspec import structs
from tests.report import sample, sample_figures, sample_second
from tests.report.page import parsed
from tests.report.plain import WIDTH, plain_text
from tests.rows import each_row

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import Comparison, Objective, Outcome, SecondClaim, Verdict
from httpdyno.report.shared.published import published
from httpdyno.report.study.finding import headline
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.method import method_sentences
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import ladder_table, outcome_text
from httpdyno.report.study.verdict import (
    brief_clause,
    differing_clause,
    mark,
    marks_text,
    second_clause,
)

CPU = "cpu_s_per_request"


def final_of(word: Verdict, ratio: float, half_width: float = 0.03) -> Comparison:
    """Return a comparison with that verdict and that ratio of the CPU time per request."""
    final = sample_second.compare_of(word, sample_figures.interval(ratio, half_width)).final
    assert final is not None
    return final


@each_row(
    ("word", "ratio", "clause"),
    [
        ("inconclusive", 0.911, "proven better: 0.91 × (0.88 … 0.94; 99 % confidence)"),
        ("equivalent", 0.911, "proven better: 0.91 × (0.88 … 0.94; 99 % confidence)"),
        ("better", 1.12, "proven worse: 1.12 × (1.08 … 1.16; 99 % confidence)"),
        ("not_measured", 1.12, "proven worse: 1.12 × (1.08 … 1.16; 99 % confidence)"),
    ],
)
def test_what_the_metric_does_not_say_is_one_plain_clause(
    word: Verdict, ratio: float, clause: str
) -> None:
    final = final_of(word, ratio)
    assert second_clause(final) == f"CPU per request is {clause}"
    assert differing_clause(final) == brief_clause(final) == f"; CPU per request is {clause}"


def test_what_the_metric_says_too_takes_no_sentence() -> None:
    final = final_of("better", 0.911)
    assert differing_clause(final) == ""
    assert brief_clause(final) == ", CPU per request too"
    assert second_clause(final) == (
        "CPU per request is better too: 0.91 × (0.88 … 0.94; 99 % confidence)"
    )


@pytest.mark.parametrize("word", ["inconclusive", "better"])
def test_what_is_not_proven_is_no_claim(word: Verdict) -> None:
    final = final_of(word, 0.99)
    assert final.second is not None
    assert final.second.verdict == "inconclusive"
    assert (second_clause(final), brief_clause(final), mark(final, "cpu_per_request")) == ("",) * 3
    assert "CPU per request 0.99 ×" in plain_text(
        outcome_text(structs.replace(sample_second.second_compare(), final=final))
    )


def test_a_tie_breaker_that_decided_is_not_told_twice() -> None:
    final = sample.tied_compare().final
    assert final is not None
    second = SecondClaim(
        metric=CPU, verdict="better", reasons=said("the whole interval lies below 1")
    )
    told = structs.replace(final, second=second)
    assert (second_clause(told), brief_clause(told)) == ("", "")
    outcome = structs.replace(sample.tied_compare(), final=told)
    assert headline(outcome) == headline(sample.tied_compare())
    assert mark(told, "cpu_per_request") == "*"


def test_a_candidate_that_failed_has_no_second_word() -> None:
    final = final_of("failed", 0.911)
    broken = structs.replace(final, b=structs.replace(final.b, status="crashed"))
    assert second_clause(broken) == ""


def test_a_run_that_settles_on_its_start_says_what_was_proven_all_the_same() -> None:
    whole = sample_second.second_ladder()
    withdrawn = structs.replace(
        whole, withdrawn=said("the start stays: no")[0], final=final_of("inconclusive", 0.911)
    )
    clause = "CPU per request is proven better: 0.91 × (0.88 … 0.94; 99 % confidence)"
    assert headline(withdrawn) == f"the start stays: no: 1.01 × (0.93 … 1.10); {clause}"
    hero = " ".join(parsed(outcome_html(withdrawn)).text).partition("throughput: ")[0]
    hero = hero.partition("Every step's evidence")[0]
    assert hero.count(clause) == 1


def test_a_mark_stands_before_the_figure_and_is_explained_under_the_table() -> None:
    steps = sample_second.second_ladder().steps
    lines = plain_text(ladder_table(steps)).splitlines()
    cells = {line.split()[0]: line.split() for line in lines if line[:1].isalpha()}
    assert "*0.41" in cells["state_dir"]
    assert "=1.00" in cells["access_file"]
    assert "0.99" in cells["asp_debug"]
    caption = " ".join(" ".join(lines).split()).partition("ratio: ")[2]
    assert "* proven better or worse, = proven equivalent (99 % confidence)" in caption
    assert max(map(len, lines)) <= WIDTH
    without = [structs.replace(steps[1].comparison, second=None)]
    assert marks_text(without, ["cpu_per_request"]) == ""
    assert marks_text([steps[0].comparison], ["cpu_per_request", "latency_p99"]) == (
        "* proven better or worse (99 % confidence)"
    )
    assert marks_text([steps[0].comparison], ["latency_p99"]) == ""


def with_confidence(comparison: Comparison, confidence: float) -> Comparison:
    """Return the comparison as if all of its intervals had that confidence."""
    ratios = {
        name: structs.replace(each, confidence=confidence)
        for name, each in comparison.ratios.items()
    }
    return structs.replace(comparison, ratios=ratios)


def test_marks_name_every_confidence_of_the_rows_that_have_them() -> None:
    """A tie breaker that kept no step has half of the risk in the steps, and a fifth at last."""
    whole = sample_second.second_ladder()
    assert whole.final is not None
    step = with_confidence(whole.steps[0].comparison, 0.975)
    unmarked = with_confidence(whole.steps[1].comparison, 0.5)
    assert marks_text([step, unmarked, whole.final], ["cpu_per_request"]) == (
        "* proven better or worse (97.5 % or 99 % confidence)"
    )
    rows = (structs.replace(whole.steps[0], comparison=step),)
    page = " ".join(parsed(outcome_html(structs.replace(whole, steps=rows))).text)
    assert "* proven better or worse (97.5 % or 99 % confidence)" in page


def test_a_throughput_beside_the_cost_is_marked_in_its_own_column() -> None:
    step = sample_second.second_ladder().steps[0]
    second = SecondClaim(metric="throughput_per_s", verdict="better", reasons=said("so it lies"))
    by_cpu = structs.replace(step.comparison, metric=CPU, second=second)
    text = plain_text(ladder_table([structs.replace(step, comparison=by_cpu)]))
    row = next(line for line in text.splitlines() if line.startswith("state_dir"))
    assert row.split()[-3:] == ["0.45", "*2.43", "2.16"]
    assert second_clause(by_cpu).startswith("throughput is better too: 2.43 × (")


def test_the_document_has_the_second_claim_and_its_interval_also_without_a_first() -> None:
    for outcome in (sample_second.second_compare(), sample_second.second_alone()):
        final = outcome_json(outcome)["final"]
        assert final["second"] == {
            "metric": CPU,
            "verdict": "better",
            "reasons": published(said("so its interval lies")),
        }
        ratio = final["ratios"]["cpu_per_request"]
        assert (ratio["ratio"], ratio["confidence"]) == (0.911, 0.99)
    assert [*final["ratios"]] == ["cpu_per_request"], (
        "nothing else is shown where the metric has no figure"
    )


@each_row(
    ("objective", "words"),
    [
        (
            Objective(),
            "anytime-valid: with 95 % confidence it holds the truth however often one looks; diff",
        ),
        (
            Objective(second_metric=CPU),
            "of throughput with 96 % confidence and of CPU per request, which decides nothing, "
            "with 99 %, so that with 95 % both are right; nothing is claimed by other ratios; diff",
        ),
        (
            Objective(tie_breaker=CPU, second_metric=CPU),
            "of throughput with 97.5 % confidence and of CPU per request, the tie breaker, "
            "with 97.5 %, so that with 95 % both are right",
        ),
    ],
)
def test_how_the_risk_is_shared_is_said_with_the_method(objective: Objective, words: str) -> None:
    whole = sample.ladder()
    study = structs.replace(whole.plan.study, objective=objective)
    asked = structs.replace(whole, plan=structs.replace(whole.plan, study=study))
    assert words in method_sentences(asked)[1]


TIED = Objective(tie_breaker=CPU, second_metric=CPU)


def method_of(outcome: Outcome, objective: Objective) -> str:
    """Return how the figures of the outcome were made, had its study that objective."""
    study = structs.replace(outcome.plan.study, objective=objective)
    plan = structs.replace(outcome.plan, study=study)
    return method_sentences(structs.replace(outcome, plan=plan))[1]


def test_a_final_claim_that_no_tie_breaker_decides_has_a_confidence_of_its_own() -> None:
    whole = sample_second.second_ladder()
    assert whole.final is not None
    words = (
        "; in the final claim, because the tie breaker decided no step, of throughput with 96 % "
        "confidence and of CPU per request, which decides nothing there, with 99 %; differences"
    )
    assert words in method_of(whole, TIED)
    # A run from before there was a second claim, whose final is throughput's alone.
    alone = structs.replace(with_confidence(whole.final, 0.95), second=None)
    words = "decided no step, of throughput alone, with 95 % confidence; differences"
    assert words in method_of(structs.replace(whole, final=alone), TIED)
    same = structs.replace(whole, final=with_confidence(whole.final, 0.975))
    assert "final claim" not in method_of(same, TIED)
    assert "final claim" not in method_of(whole, sample_second.OBJECTIVE)


def test_a_curve_has_a_confidence_of_its_own() -> None:
    curve = "often one looks, on the curve with 95 % confidence for all levels together"
    whole = sample.sweep()
    assert whole.final is not None
    words = method_of(whole, sample_second.OBJECTIVE)
    assert (
        f"{curve}; for knee over start, it holds the truth however often one looks, of throughput "
        "with 96 % confidence and of CPU per request, which decides nothing, with 99 %, so that "
    ) in words
    only = structs.replace(whole, final=None)
    assert f"{curve}; differences within" in method_of(only, sample_second.OBJECTIVE)


def test_the_page_names_the_confidence_of_the_bars_that_it_draws() -> None:
    whole = sample_second.second_ladder()
    assert "the bar below is the 96 % interval" in " ".join(parsed(outcome_html(whole)).text)
    mixed_step = with_confidence(whole.steps[0].comparison, 0.975)
    mixed = structs.replace(whole, steps=(structs.replace(whole.steps[0], comparison=mixed_step),))
    text = " ".join(parsed(outcome_html(mixed)).text)
    assert "the bar below is the 97.5 % or 96 % interval" in text
