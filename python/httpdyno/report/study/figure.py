"""The figures of a study's page, and a card of evidence for each comparison."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from httpdyno.metrics import named, of_ratio
from httpdyno.metrics.table import CALL_RATIOS
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Factorial,
    LadderStep,
    Outcome,
    level_text,
)
from httpdyno.report.shared import message
from httpdyno.report.shared.interval import (
    bounds_text,
    interval_ratio_text,
    is_telling,
    ratio_bounds_text,
    ratio_text,
)
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.svg import percentiles_svg
from httpdyno.report.shared.view import Drawn, Grid, drawn
from httpdyno.report.study import chart
from httpdyno.report.study.arms import answers_text, latency_text, worker_change
from httpdyno.report.study.finding import final_label, reference_name, row_name, versus_note
from httpdyno.report.study.json import book_ratios
from httpdyno.report.study.limit import limit_words
from httpdyno.report.study.sweep import level_cells
from httpdyno.report.study.verdict import (
    also_clauses,
    confidences_text,
    decider,
    deciding,
    has_run,
    mark,
    marks_text,
    needed_text,
    of_objective,
    said_ratios,
    second_clause,
    shown_ratios,
    status_badge,
    step_name,
    taken_word,
    verdict_badge,
    verdict_words,
    words_without_figure,
)
from httpdyno.units import format_bytes, format_percent, format_rate

# The figures of the page: two drawings, a caption, and the same as a table.

_BOOK_DIAMOND = "Open diamonds are the published figures that the study measures again."


def main_figure(outcome: Outcome) -> Drawn | None:
    """Return the ladder, the sweep's curve, or effects; None when nothing was measured."""
    if outcome.sweep is not None and outcome.sweep.points:
        return _sweep_figure(outcome)
    if outcome.factorial is not None:
        return _effects_figure(outcome.factorial)
    if not any(of_objective(step.comparison) for step in outcome.steps):
        return None
    title = "The ladder"
    caption = (
        "Each bar starts where the changes kept before it ended; its dot is what the change "
        "did, the line through the dot its interval. The last row is final against start, "
        "measured afresh."
    )
    if outcome.plan.reference is not None:
        title = f"Each against {reference_name(outcome)}"
        caption = (
            f"Each dot is what a {row_name(outcome)} did against {reference_name(outcome)}, "
            f"the line through it its interval: {versus_note(outcome)}."
        )
    elif outcome.final is None:
        caption = caption.rpartition(" The last row")[0]
    if any(step.book_ratio for step in outcome.steps):
        caption = f"{caption} {_BOOK_DIAMOND}"
    marks = marks_text(_compared(outcome), _beside(outcome))
    if marks:
        caption = f"{caption} In the table: {marks}."
    return drawn(
        title,
        caption,
        lambda width: chart.ladder_svg(outcome, width=width),
        _ladder_table(outcome),
    )


_LADDER_RATIOS = ("throughput", "cpu_per_request", "latency_p50", "latency_p99")


def _beside(outcome: Outcome) -> tuple[str, ...]:
    """Return the ratios that stand beside the deciding one in the ladder's table."""
    key = named(outcome.plan.study.objective.metric).ratio
    is_code = outcome.plan.study.fragments is not None
    return tuple(name for name in (CALL_RATIOS if is_code else _LADDER_RATIOS) if name != key)


def _compared(outcome: Outcome) -> list[Comparison]:
    """Return the comparisons that are rows of the ladder's table."""
    final = [] if outcome.final is None else [outcome.final]
    return [*(step.comparison for step in outcome.steps), *final]


def _ladder_table(outcome: Outcome) -> Grid:
    names = _beside(outcome)
    rows = [
        [
            step.change,
            verdict_words(step.comparison),
            interval_ratio_text(of_objective(step.comparison)),
            bounds_text(of_objective(step.comparison)),
            ratio_text(step.running_ratio) if outcome.plan.reference is None else NOTHING,
            *_ratios(step.comparison, names),
            ratio_text(step.book_ratio),
        ]
        for step in outcome.steps
    ]
    if outcome.final is not None:
        interval = of_objective(outcome.final)
        rows.append(
            [
                "final over start",
                verdict_words(outcome.final),
                interval_ratio_text(interval),
                bounds_text(interval),
                NOTHING,
                *_ratios(outcome.final, names),
                ratio_text(outcome.plan.study.book_ratio),
            ]
        )
    heads = {"throughput": "throughput", "cpu_per_request": "CPU/request"}
    heads |= {"cpu_per_call": "CPU/call", "wall_per_call": "wall/call"}
    beside = (heads.get(name, of_ratio(name).short) for name in names)
    head = ["change", "verdict", "ratio", "interval", "total", *beside, "book"]
    return Grid(head=head, rows=rows, text_columns=2)


def _ratios(comparison: Comparison, names: Sequence[str]) -> list[str]:
    ratios = {k: each for k, each in shown_ratios(comparison).items() if is_telling(each)}
    return [mark(comparison, name) + interval_ratio_text(ratios.get(name)) for name in names]


def _sweep_figure(outcome: Outcome) -> Drawn | None:
    sweep = outcome.sweep
    if sweep is None:
        return None
    # The published figures are throughputs.
    book = book_ratios(outcome) if sweep.metric == "throughput_per_s" else {}
    word = taken_word(sweep)
    caption = (
        f"Lines through the dots are intervals. {word.capitalize()}: {message.text(sweep.rule)}."
    )
    if book and sweep.is_of_words:
        caption += " Open diamonds are the published figures, scaled to the same best."
    elif book:
        caption += " The dashed curve is the published one, scaled to the same best."
    heads = tuple(level_cells(sweep, sweep.points[0], book))
    rows = [
        [level_text(point.level), point.arm.status, *level_cells(sweep, point, book).values()]
        if has_run(point)
        else [level_text(point.level), status_badge(point.arm.status), *[NOTHING] * len(heads)]
        for point in sweep.points
    ]
    return drawn(
        "The levels" if sweep.is_of_words else "The curve",
        caption,
        lambda width: chart.sweep_svg(sweep, book, width=width),
        Grid(head=[sweep.knob, "status", *heads], rows=rows, text_columns=2),
    )


def _effects_figure(found: Factorial) -> Drawn | None:
    caption = (
        "Each dot is what a change does on the mean over the others, the line through it its "
        "interval; of two knobs it is by what the one does more with the other than without it. "
        "In the rows beneath, a ring is what a change does without the other, a dot what it does "
        "with it."
    )
    return drawn(
        "Effects and interactions",
        caption,
        lambda width: chart.effects_svg(found, width=width),
    )


def cost_figure(outcome: Outcome) -> Drawn | None:
    """Return what a sweep's levels cost besides; None for other studies."""
    sweep = outcome.sweep
    if sweep is None:
        return None
    what = "what is taken" if sweep.is_of_words else "the knee"
    caption = f"What a level costs besides; the dotted line is {what}."
    return drawn(
        "What it costs",
        caption,
        lambda width: chart.cost_svg(sweep, width=width),
    )


def latency_figure(arms: list[tuple[str, ArmSummary]]) -> Drawn | None:
    """Return both arms' percentile curves; None when neither has a sample."""
    names = ("mean", "p50", "p90", "p99", "p999", "max")
    table = Grid(
        head=["", *(name.replace("p999", "p99.9") for name in names)],
        rows=[[arm_name, *(latency_text(arm, name) for name in names)] for arm_name, arm in arms],
    )
    caption = (
        "How long the slowest requests took: at p99, one in a hundred took longer. A curve ends "
        "where fewer than ten requests lie beyond it."
    )
    return drawn(
        "Latency",
        caption,
        lambda width: percentiles_svg([(name, arm.latency) for name, arm in arms], width=width),
        table,
    )


def starts_figure(arms: list[tuple[str, ArmSummary]]) -> Drawn | None:
    """Return each start's throughput in both arms; None when there was none."""
    n_starts = max((len(arm.start_throughputs_per_s) for _, arm in arms), default=0)
    table = Grid(
        head=["", *(f"start {i + 1}" for i in range(n_starts))],
        rows=[
            [name, *(format_rate(rate) for rate in arm.start_throughputs_per_s)]
            for name, arm in arms
        ],
    )
    caption = "Each dot is one life of the server's processes, from start to stop."
    return drawn("Throughput", caption, lambda width: chart.starts_svg(arms, width=width), table)


# The evidence of each comparison as a card of the sheet, and what was not kept.

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
    why = "" if failed else joined(comparison.reasons)
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
