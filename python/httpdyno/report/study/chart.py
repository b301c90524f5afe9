"""The ladder, the evidence of one comparison, and starts side by side, as SVG text.

Each takes its width: a report holds a wide and a narrow drawing, because a scaled-down one
can't be read. Altair is imported here, so import this module only when something is drawn.
"""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from httpdyno.metrics import named
from httpdyno.model import ArmSummary, Comparison, LadderStep, Outcome
from httpdyno.report.shared.drawing import (
    AFTER,
    BEFORE,
    BOOK,
    NARROW,
    SOFT,
    VERDICT_COLOURS,
    WIDE,
    Frame,
    chart_of,
    padded,
    ratio_ticks,
    svg_of,
)
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.row_label import LINE_LENGTH, room, row_labels
from httpdyno.report.study.verdict_text import (
    bounds_text,
    interval_ratio_text,
    of_objective,
    step_name,
    verdict_words,
)
from httpdyno.units import format_rate


def ladder_svg(outcome: Outcome, *, width: int = WIDE) -> str:
    """Return the ladder: each change starts where the kept ones before it ended."""
    rows = ladder_rows(outcome)
    values = [row[k] for row in rows for k in ("low", "high", "from", "book") if row[k]]
    is_wide = width >= WIDE
    low, high = padded([*values, 1.0], share=0.06 if is_wide else 0.02)
    x = alt.X(
        "from:Q",
        title=f"{named(_metric(outcome)).label}, times the start (log scale)",
        scale=alt.Scale(type="log", domain=[low, high], nice=False, zero=False),
        axis=alt.Axis(values=ratio_ticks(low, high), format="~g", tickSize=0),
    )
    y = alt.Y(
        "row:Q", axis=None, scale=alt.Scale(domain=[len(rows) - 0.5, -0.5], nice=False, zero=False)
    )
    base = chart_of(rows)
    ran = base.transform_filter("datum.middle != null")
    colour = alt.Color("colour:N", scale=None)
    layers = [
        chart_of([{"one": 1}]).mark_rule(color=SOFT, strokeDash=[3, 3]).encode(x="one:Q"),
        base.transform_filter("datum.above != null")
        .mark_rule(color=SOFT, strokeWidth=1, strokeDash=[1, 3])
        .encode(x="from:Q", y=alt.Y("above:Q", axis=None), y2="row:Q"),
        ran.mark_rule(strokeWidth=10, opacity=0.28).encode(x=x, x2="middle:Q", y=y, color=colour),
        ran.mark_rule(strokeWidth=3).encode(x="low:Q", x2="high:Q", y=y, color=colour),
        ran.mark_point(shape="circle", size=70, filled=True, opacity=1).encode(
            x="middle:Q", y=y, color=colour
        ),
        base.transform_filter("datum.book > 0")
        .mark_point(shape="diamond", size=70, filled=False, strokeWidth=1.8, color=BOOK)
        .encode(x="book:Q", y=y),
    ]
    layers += row_labels(base, y, is_wide=is_wide)
    left, right = room(is_wide=is_wide)
    chart = alt.layer(*layers).properties(
        width=width - left - right, height=len(rows) * (42 if is_wide else 50)
    )
    frame = Frame(left=left, right=right, bottom=44)
    return svg_of(chart, f"ladder of {plural(len(outcome.steps), 'change')}", frame)


def _metric(outcome: Outcome) -> str:
    return outcome.plan.study.objective.metric


def ladder_rows(outcome: Outcome) -> list[dict[str, Any]]:
    """Return what the ladder chart draws: cumulative ratios of each step and of the whole."""
    rows: list[dict[str, Any]] = []
    running, book = 1.0, 1.0
    for step in outcome.steps:
        rows.append(_step_row(step, running, book))
        running = step.running_ratio
        book *= step.book_ratio or 1.0
    if outcome.final is not None and outcome.steps:
        rows.append(
            _row(
                "final over start",
                "measured afresh",
                outcome.final,
                running=1.0,
                book=outcome.plan.study.book_ratio,
            )
        )
    for index, row in enumerate(rows):
        is_ladder = outcome.plan.reference is None
        is_continued = is_ladder and 0 < index < len(outcome.steps)
        row |= {"row": index, "above": index - 1 if is_continued else None}
    return rows


def _step_row(step: LadderStep, running: float, book: float) -> dict[str, Any]:
    return _row(
        step_name(step),
        f"{plural(len(step.changed), 'knob')} at once" if step.candidate else step.change_lines[0],
        step.comparison,
        running=running,
        book=book * step.book_ratio if step.book_ratio else None,
    )


def _row(
    name: str, change: str, comparison: Comparison, *, running: float, book: float | None
) -> dict[str, Any]:
    verdict = comparison.verdict
    interval = of_objective(comparison)
    bounded = interval is not None and interval.low > 0 and math.isfinite(interval.high)
    middle = running * interval.ratio if interval else None
    words = verdict_words(comparison)
    claim = f"{interval_ratio_text(interval)} ×, {words}" if interval else words
    whole = f"{name} {change}: {claim}"
    return {
        "line": whole if len(whole) <= LINE_LENGTH else f"{name}: {claim}",
        "name": name,
        "change": change,
        "verdict": verdict,
        "colour": VERDICT_COLOURS[verdict],
        "from": running,
        "middle": middle,
        "low": running * interval.low if interval and bounded else middle,
        "high": running * interval.high if interval and bounded else middle,
        "book": book,
        "ratio": f"{interval_ratio_text(interval)} ×" if interval else words,
        "bounds": f"{bounds_text(interval)}, {words}" if interval else "",
    }


def strip_svg(comparison: Comparison, margin_ratio: float) -> str:
    """Return one comparison's evidence: each start's ratio as a dot above the interval.

    Differences within ±`margin_ratio` are shaded: they are too small to matter. It is the
    objective's metric, also where that tied and its tie breaker decided.
    """
    interval = of_objective(comparison)
    if interval is None:
        return ""
    bounded = interval.low > 0 and math.isfinite(interval.high)
    ends = [interval.low, interval.high] if bounded else []
    low, high = padded([*comparison.per_start_ratio, *ends, interval.ratio, 1.0])
    scale = alt.Scale(type="log", domain=[low, high], nice=False, zero=False)
    axis = alt.Axis(
        values=ratio_ticks(low, high, wanted=4), format="~g", tickSize=0, grid=False, labelPadding=8
    )
    dots = [{"x": ratio, "y": 0.7} for ratio in comparison.per_start_ratio]
    margin = 1 + margin_ratio
    shade = {"low": max(low, 1 / margin), "high": min(high, margin)}
    whole = [{"low": ends[0], "high": ends[1], "mid": interval.ratio}] if ends else []
    colour = VERDICT_COLOURS[comparison.verdict]
    row = alt.Y("y:Q", scale=alt.Scale(domain=[0, 1]), axis=None)
    layers = [
        chart_of([shade])
        .mark_rect(color=SOFT, opacity=0.16)
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        chart_of([{"one": 1}]).mark_rule(color=SOFT, strokeDash=[3, 3]).encode(x="one:Q"),
        chart_of(dots)
        .mark_point(size=46, filled=True, opacity=0.55, color=colour)
        .encode(x=alt.X("x:Q", scale=scale, axis=axis, title=None), y=row),
        chart_of(whole)
        .mark_rule(strokeWidth=4, color=colour)
        .encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=alt.value(40)),
        chart_of(whole)
        .mark_tick(color=colour, thickness=3, height=16)
        .encode(x="mid:Q", y=alt.value(40)),
    ]
    chart = alt.layer(*layers).properties(width=NARROW - 24, height=54)
    label = f"{len(dots)} starts, interval {bounds_text(interval)}"
    return svg_of(chart, label, Frame(left=12, right=12, bottom=24))


def starts_svg(arms: Sequence[tuple[str, ArmSummary]], *, width: int = WIDE) -> str:
    """Return each start's throughput as a dot, by arm."""
    rows = [
        {"arm": name, "rate": rate, "text": format_rate(rate)}
        for name, arm in arms
        for rate in arm.start_throughputs_per_s
    ]
    if not rows:
        return ""
    x = alt.X(
        "rate:Q",
        title="requests per second, each start a dot",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(format=",~f", tickCount=5, tickSize=0),
    )
    y = alt.Y(
        "arm:N",
        sort=None,
        title=None,
        axis=alt.Axis(domain=False, tickSize=0, labelPadding=10, labelFontSize=13),
    )
    colours = alt.Color(
        "arm:N",
        scale=alt.Scale(domain=[name for name, _ in arms], range=[BEFORE, AFTER]),
        legend=None,
    )
    chart = (
        chart_of(rows)
        .mark_point(size=90, filled=True, opacity=0.5)
        .encode(x=x, y=y, color=colours)
        .properties(width=width, height=alt.Step(34))
    )
    return svg_of(chart, f"throughput of {len(rows)} starts")
