"""A study's outcome as JSON: the record, published, with a headline and what it settled on."""

from typing import Any

from httpdyno.model import Comparison, Factorial, LadderStep, Level, Outcome, Plan
from httpdyno.report.shared.published import SCHEMA_VERSION, Beside, published
from httpdyno.report.study.finding import headline, interaction_sentences
from httpdyno.report.study.phases import settling_json
from httpdyno.report.study.verdict import shown_ratios

_STUDY = ("title", "objective", "method", "fragments", "book_figure", "book_ratio")
"""What is published of a study; the rest is its file's."""

_BESIDE: Beside = {
    # What reports may show of them.
    Comparison: lambda each: {"ratios": shown_ratios(each)},
    Factorial: lambda each: {"sentences": interaction_sentences(each)},
    LadderStep: lambda each: {"change": each.change, "changes": each.changes},
}


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome in built-in types, ready for any JSON writer."""
    return {
        "schema_version": SCHEMA_VERSION,
        "study": outcome.plan.study.name,
        "headline": headline(outcome),
        **published(outcome, without=("plan", "not_tried"), beside=_BESIDE),
        "plan": _plan(outcome.plan),
        "not_tried": [step.whole_label for step in outcome.not_tried],
        "settling": settling_json(outcome),
    }


def _plan(plan: Plan) -> dict[str, Any]:
    study, start = plan.study, plan.study.start_configuration()
    return {
        **{name: published(getattr(study, name)) for name in _STUDY},
        **published(plan, without=("study", "steps", "inputs")),
        "adapter": study.server.adapter,
        "budget_s": None if study.is_until_decided else study.budget_s,
        # That of the start: with other configurations knobs of the load set some of it.
        "workload": None if study.fragments else published(study.load_of(start)),
        "steps": [step.whole_label for step in plan.steps],
        "start": published(start),
        "confidence_of_each": plan.objective.confidence,
    }


def book_ratios(outcome: Outcome) -> dict[Level, float]:
    """Return the founding documents' ratio of each level of a sweep that has one."""
    return {s.to: s.book_ratio for s in outcome.plan.steps if s.book_ratio is not None}
