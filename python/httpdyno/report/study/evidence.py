"""The evidence of each comparison as a card of the sheet, and what was not kept."""

from collections.abc import Iterator, Mapping
from typing import Any

from httpdyno.metrics import named
from httpdyno.metrics.table import CALL_RATIOS, of_ratio
from httpdyno.model import Comparison, LadderStep, Outcome, level_text
from httpdyno.report.study import chart
from httpdyno.report.study.also_text import also_clauses, said_ratios
from httpdyno.report.study.finding import final_label
from httpdyno.report.study.http_answers import answers_text
from httpdyno.report.study.limit import limit_words
from httpdyno.report.study.second_text import confidences_text, second_clause
from httpdyno.report.study.verdict_text import (
    decider,
    deciding,
    is_telling,
    needed_text,
    of_objective,
    ratio_bounds_text,
    ratio_text,
    shown_ratios,
    step_name,
    verdict_badge,
    words_without_figure,
)
from httpdyno.report.study.worker_text import worker_change
from httpdyno.units import format_bytes, format_percent

_FACTS = ("throughput", "cpu_per_request", "latency_p50", "latency_p99", *CALL_RATIOS)


def evidence(outcome: Outcome) -> list[dict[str, Any]]:
    """Return a card for each comparison, the final one last."""
    margin_ratio = outcome.plan.study.objective.margin_ratio
    is_ladder = outcome.plan.reference is None
    limits = limit_words(outcome)
    cards = [
        _step_card(step, limits, margin_ratio=margin_ratio, is_ladder=is_ladder)
        for step in outcome.steps
    ]
    if outcome.final is not None:
        is_all_at_once = outcome.plan.study.method.is_all_at_once
        is_ladder = outcome.plan.command != "compare" and not is_all_at_once
        line = "all kept changes together" if is_ladder else "two configurations"
        cards.append(
            {
                "knob": final_label(outcome),
                "title": "",
                "before": line,
                "after": "",
                **_card(outcome.final, limits, margin_ratio=margin_ratio),
            }
        )
    return cards


def drawn_confidence(outcome: Outcome) -> str:
    """Return `96 %`: of the intervals that the cards draw; `97.5 % or 96 %` where they differ.

    They do where a tie breaker has a say in the steps but not in the final claim.
    """
    compared = [step.comparison for step in outcome.steps]
    if outcome.final is not None:
        compared.append(outcome.final)
    drawn = [interval.confidence for each in compared if (interval := of_objective(each))]
    objective = outcome.plan.study.objective
    known = drawn or [objective.confidence_of(objective.metric)]
    return confidences_text(known)


def _step_card(
    step: LadderStep,
    limits: Mapping[str, str],
    *,
    margin_ratio: float,
    is_ladder: bool,
) -> dict[str, Any]:
    return {
        "knob": step_name(step),
        "title": step.title,
        "before": ", ".join(step.change_lines) if step.candidate else level_text(step.before),
        "after": "" if step.candidate else level_text(step.after),
        **_card(
            step.comparison,
            limits,
            margin_ratio=margin_ratio,
            kept=step.kept if is_ladder else None,
            book_ratio=step.book_ratio,
        ),
    }


def _card(
    comparison: Comparison,
    limits: Mapping[str, str],
    *,
    margin_ratio: float,
    kept: bool | None = None,
    book_ratio: float | None = None,
) -> dict[str, Any]:
    interval, said = of_objective(comparison), said_ratios(comparison)
    name = named(decider(comparison)).label
    figure = f"{name} {ratio_bounds_text(deciding(comparison))}" if interval else ""
    if comparison.decided_by:
        figure += f"; {named(comparison.metric).label} {ratio_bounds_text(interval)}"
    failed = words_without_figure(comparison) if comparison.verdict == "failed" else ""
    kept_words = {True: "kept", False: "not kept", None: ""}[kept]
    why = "" if failed else comparison.reason
    told = (second_clause(comparison), *also_clauses(comparison))
    parts = (figure, why, needed_text(comparison), *told, kept_words)
    facts = [
        (of_ratio(name).label, ratio_bounds_text(shown_ratios(comparison)[name]))
        for name in _FACTS
        if name not in said and is_telling(shown_ratios(comparison).get(name))
    ]
    facts += _before_and_after(comparison, limits)
    if book_ratio is not None:
        facts.append(("published", f"{ratio_text(book_ratio)} ×"))
    if "between_starts" in comparison.noise:
        spread = format_percent(comparison.noise["between_starts"])
        facts.append(("starts differ by", f"±{spread}"))
    return {
        "verdict": comparison.verdict,
        "badge": verdict_badge(comparison),
        "svg": chart.strip_svg(comparison, margin_ratio) if interval else "",
        "drawn": f"drawn: {named(comparison.metric).label}" if comparison.decided_by else "",
        "sentence": "; ".join(part for part in parts if part),
        "words": failed,
        "answers": _failed_answers(comparison),
        "facts": facts,
    }


def _before_and_after(
    comparison: Comparison, limits: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield what limited both servers, and their memory: of a change that was not kept, too."""
    a, b = comparison.a, comparison.b
    words = (limits.get(a.configuration.label()), limits.get(b.configuration.label()))
    if words[0] and words[1]:
        yield "limited by", _from_to(words[0], words[1])
    is_code = a.calls is not None or b.calls is not None
    if a.pss_bytes is not None and b.pss_bytes is not None and not is_code:
        yield "memory", _from_to(format_bytes(a.pss_bytes), format_bytes(b.pss_bytes))
        if worker := worker_change(a, b):
            yield "a worker", worker


def _from_to(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _failed_answers(comparison: Comparison) -> list[str]:
    """Return both arms' answers where requests failed in one of them."""
    if not comparison.a.errors and not comparison.b.errors:
        return []
    arms = (("before", comparison.a), ("after", comparison.b))
    return [f"{name}: {answers_text(arm)}" for name, arm in arms]


def skipped(outcome: Outcome) -> list[dict[str, str]]:
    """Return what was not kept or not tried, in a few words each: the cards have the evidence."""
    tried = [
        {
            "verdict": step.comparison.verdict,
            "badge": verdict_badge(step.comparison),
            "change": step.change,
            "why": needed_text(step.comparison),
        }
        for step in outcome.steps
        if not step.kept
    ]
    left = [
        {
            "verdict": "not_measured",
            "badge": "not tried",
            "change": step.label,
            "why": "",
        }
        for step in outcome.not_tried
    ]
    return [*tried, *left]
