"""The charts of a report: pure functions from results to SVG text.

Each takes its width: a report holds a wide and a narrow drawing, because a scaled-down one
can't be read. Altair is imported here, so import this module only when something is drawn.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from httpdyno.model import (
    ArmSummary,
    Comparison,
    LadderStep,
    Level,
    Outcome,
    Sweep,
    level_text,
)
from httpdyno.report.drawing import (
    AFTER,
    BEFORE,
    BOOK,
    INK,
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
from httpdyno.report.phrase import (
    bounds_text,
    deciding,
    interval_ratio_text,
    metric_name,
    plural,
)
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, quantile_s
from httpdyno.units import format_rate

_LEFT, _RIGHT = 200, 184
_CURVE_STEPS = 80
_PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)


def ladder_svg(outcome: Outcome, *, width: int = WIDE) -> str:
    """Return the ladder: each change starts where the kept ones before it ended."""
    rows = ladder_rows(outcome)
    values = [row[k] for row in rows for k in ("low", "high", "from", "book") if row[k]]
    is_wide = width >= WIDE
    low, high = padded([*values, 1.0], share=0.06 if is_wide else 0.02)
    x = alt.X(
        "from:Q",
        title=f"{metric_name(_metric(outcome))}, times the start (log scale)",
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
    layers += _ladder_labels(base, y, is_wide=is_wide)
    left, right = (_LEFT, _RIGHT) if is_wide else (4, 12)
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
        is_continued = 0 < index < len(outcome.steps)
        row |= {"row": index, "above": index - 1 if is_continued else None}
    return rows


def _step_row(step: LadderStep, running: float, book: float) -> dict[str, Any]:
    return _row(
        step.knob,
        f"{level_text(step.before)} → {level_text(step.after)}",
        step.comparison,
        running=running,
        book=book * step.book_ratio if step.book_ratio else None,
    )


def _row(
    name: str, change: str, comparison: Comparison, *, running: float, book: float | None
) -> dict[str, Any]:
    interval = deciding(comparison)
    bounded = interval is not None and interval.low > 0 and math.isfinite(interval.high)
    middle = running * interval.ratio if interval else None
    return {
        "name": name,
        "change": change,
        "verdict": comparison.verdict,
        "colour": VERDICT_COLOURS[comparison.verdict],
        "from": running,
        "middle": middle,
        "low": running * interval.low if interval and bounded else middle,
        "high": running * interval.high if interval and bounded else middle,
        "book": book,
        "ratio": f"{interval_ratio_text(interval)} ×" if interval else comparison.b.status,
        "bounds": f"{bounds_text(interval)}, {comparison.verdict}"
        if interval
        else comparison.verdict,
    }


def _ladder_labels(base: alt.Chart, y: alt.Y, *, is_wide: bool) -> list[alt.Chart]:
    if not is_wide:
        text = "datum.name + ': ' + datum.ratio + ', ' + datum.verdict"
        return [
            base.transform_calculate(label=text)
            .mark_text(align="left", dy=-17, fontSize=12, color=INK)
            .encode(x=alt.value(0), y=y, text="label:N")
        ]
    left: dict[str, Any] = {"align": "left", "color": INK, "dx": -_LEFT}
    right: dict[str, Any] = {"align": "left", "dx": 12}
    at_end: dict[str, Any] = {"x": alt.value("width"), "y": y}
    return [
        base.mark_text(**left, dy=-7, fontSize=13, fontWeight=600).encode(
            x=alt.value(0), y=y, text="name:N"
        ),
        base.mark_text(**{**left, "color": SOFT}, dy=8, fontSize=12).encode(
            x=alt.value(0), y=y, text="change:N"
        ),
        base.mark_text(**right, dy=-7, fontSize=13, fontWeight=600).encode(
            **at_end, text="ratio:N", color=alt.Color("colour:N", scale=None)
        ),
        base.mark_text(**right, dy=8, fontSize=12, color=SOFT).encode(**at_end, text="bounds:N"),
    ]


def strip_svg(comparison: Comparison, margin_ratio: float, *, width: int = NARROW) -> str:
    """Return one comparison's evidence: each start's ratio as a dot above the interval.

    Differences within ±`margin_ratio` are shaded: they are too small to matter.
    """
    interval = deciding(comparison)
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
    chart = alt.layer(*layers).properties(width=width - 24, height=54)
    label = f"{len(dots)} starts, interval {bounds_text(interval)}"
    return svg_of(chart, label, Frame(left=12, right=12, bottom=24))


def sweep_svg(sweep: Sweep, book: dict[Level, float], *, width: int = WIDE) -> str:
    """Return throughput over the levels, with intervals, the knee, and the book's curve."""
    rows = sweep_rows(sweep, book)
    x = _level_axis([row["level"] for row in rows], sweep)
    y = alt.Y(
        "throughput:Q",
        title="requests per second",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(format=",~f", tickCount=5, tickSize=0),
    )
    height = 300 if width >= WIDE else 220
    base = chart_of(rows)
    ran = base.transform_filter("datum.throughput != null")
    layers = [
        ran.mark_area(color=AFTER, opacity=0.14).encode(x=x, y="low:Q", y2="high:Q"),
        ran.mark_line(color=AFTER, strokeWidth=2.2).encode(x=x, y=y),
        ran.mark_rule(color=AFTER, strokeWidth=2).encode(x=x, y="low:Q", y2="high:Q"),
        ran.mark_point(size=60, filled=True, opacity=1, color=AFTER).encode(x=x, y=y),
        base.transform_filter("datum.book != null")
        .mark_line(
            color=BOOK,
            strokeDash=[5, 4],
            strokeWidth=1.6,
            point={"shape": "diamond", "filled": False, "size": 55, "color": BOOK},
        )
        .encode(x=x, y="book:Q"),
        base.transform_filter("datum.throughput == null")
        .mark_point(shape="cross", size=90, filled=True, angle=45, color="var(--worse)")
        .encode(x=x, y=alt.datum(0)),
        base.transform_filter("datum.throughput == null")
        .mark_text(dy=-14, fontSize=12, align="right", dx=6, color="var(--worse)")
        .encode(x=x, y=alt.datum(0), text="status:N"),
        base.transform_filter("datum.is_knee").mark_rule(color=INK, strokeDash=[3, 3]).encode(x=x),
        base.transform_filter("datum.is_knee")
        .mark_text(align="left", dx=7, fontSize=13, fontWeight=600, color=INK, text=_knee(sweep))
        .encode(x=x, y=alt.value(height - 12)),
    ]
    chart = alt.layer(*layers).properties(width=width, height=height)
    return svg_of(chart, f"throughput over {len(rows)} levels of {sweep.knob}")


def cost_svg(sweep: Sweep, *, width: int = WIDE) -> str:
    """Return what each level costs: p99 latency above, CPU per request below."""
    rows = [
        {
            "level": row["level"],
            "p99": point.latency_p99_s * 1e3,
            "cpu": point.arm.cpu_s_per_request * 1e3,
            "is_knee": row["is_knee"],
        }
        for row, point in zip(sweep_rows(sweep, {}), sweep.points, strict=True)
        if point.ratio_to_best is not None
    ]
    if not rows:
        return ""
    base, x = chart_of(rows), _level_axis([row["level"] for row in rows], sweep)
    panels = [
        alt.layer(
            base.mark_line(color=AFTER, strokeWidth=2.2, point={"size": 50, "color": AFTER}).encode(
                x=x if is_last else x.axis(labels=False, title=None, grid=False),
                y=alt.Y(
                    f"{field}:Q",
                    title=title,
                    axis=alt.Axis(format=",~f", tickCount=4, tickSize=0, minExtent=44),
                ),
            ),
            base.transform_filter("datum.is_knee")
            .mark_rule(color=INK, strokeDash=[3, 3])
            .encode(x=x),
        ).properties(width=width - 76, height=110)
        for field, title, is_last in (
            ("p99", "p99 latency, ms", False),
            ("cpu", "CPU/request, ms", True),
        )
    ]
    return svg_of(alt.vconcat(*panels, spacing=14), f"what the levels of {sweep.knob} cost")


def _knee(sweep: Sweep) -> str:
    return f"knee {level_text(sweep.knee)}"


def _level_axis(levels: Sequence[Level], sweep: Sweep) -> alt.X:
    """Return a log axis where levels are numbers that span much, else one place for each."""
    title = f"{sweep.knob}, {sweep.unit}" if sweep.unit else sweep.knob
    numbers = [float(v) for v in levels if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) == len(levels) and min(numbers) > 0 and max(numbers) / min(numbers) >= 10:  # noqa: PLR2004
        return alt.X(
            "level:Q",
            title=f"{title} (log scale)",
            scale=alt.Scale(type="log", base=2, nice=False, padding=14),
            axis=alt.Axis(values=numbers, format="~g", grid=False, tickSize=4, labelOverlap=True),
        )
    return alt.X("level:O", sort=None, title=title, axis=alt.Axis(labelAngle=0, tickSize=4))


def sweep_rows(sweep: Sweep, book: dict[Level, float]) -> list[dict[str, Any]]:
    """Return what the sweep chart draws; the book's curve is scaled to meet this one's best."""
    rates = [p.arm.throughput_per_s for p in sweep.points if p.ratio_to_best is not None]
    scale = max(rates, default=0.0) / max(book.values(), default=1.0)
    numeric = all(isinstance(p.level, (int, float)) for p in sweep.points)
    return [
        {
            "level": point.level if numeric else level_text(point.level),
            "throughput": point.arm.throughput_per_s if point.ratio_to_best else None,
            "low": point.throughput_low_per_s,
            "high": point.throughput_high_per_s,
            "book": book[point.level] * scale if point.level in book else None,
            "status": point.arm.status,
            "is_knee": point.level == sweep.knee,
        }
        for point in sweep.points
    ]


def latency_svg(arms: Sequence[tuple[str, ArmSummary]], *, width: int = WIDE) -> str:
    """Return percentile curves, the reference first; each ends where its sample does."""
    rows = latency_rows(arms)
    if not rows:
        return ""
    ticks = [1 / (1 - q) for q in _PERCENTILES if 1 / (1 - q) <= max(r["x"] for r in rows) * 1.5]
    x = alt.X(
        "x:Q",
        title="percentile of requests",
        scale=alt.Scale(type="log", nice=False, domain=[1, max(ticks[-1], rows[-1]["x"], 100)]),
        axis=alt.Axis(
            values=ticks,
            tickSize=4,
            labelExpr="datum.value < 1.5 ? '0' : 'p' + format(100 - 100 / datum.value, '~g')",
        ),
    )
    low, high = min(r["ms"] for r in rows), max(r["ms"] for r in rows)
    is_log = high / max(low, 1e-9) > 8  # noqa: PLR2004 - a linear axis would hide the faster one
    y = alt.Y(
        "ms:Q",
        title=f"latency, ms{' (log scale)' if is_log else ''}",
        scale=alt.Scale(type="log", nice=False, domain=[low * 0.8, high * 1.5])
        if is_log
        else alt.Scale(zero=True, domainMax=high * 1.15),
        axis=alt.Axis(format=",~f", tickSize=0, **_ms_ticks(low, high, is_log=is_log)),
    )
    colours = alt.Color(
        "arm:N",
        scale=alt.Scale(domain=[name for name, _ in arms], range=[BEFORE, AFTER]),
        legend=None,
    )
    base = chart_of(rows)
    layers = [
        base.transform_filter(f"datum.arm == '{arms[0][0]}'")
        .mark_line(strokeWidth=4.5, opacity=0.65, interpolate="monotone")
        .encode(x=x, y=y, color=colours),
        base.transform_filter(f"datum.arm != '{arms[0][0]}'")
        .mark_line(strokeWidth=2.2, interpolate="monotone")
        .encode(x=x, y=y, color=colours),
        *(
            base.transform_filter(f"datum.label == '{side}'")
            .mark_text(align="right", dy=dy, fontSize=13, fontWeight=600)
            .encode(x="x:Q", y="ms:Q", text="arm:N", color=colours)
            for side, dy in (("above", -11), ("below", 15))
        ),
    ]
    chart = alt.layer(*layers).properties(width=width, height=260 if width >= WIDE else 200)
    return svg_of(chart, f"latency by percentile of {' and '.join(n for n, _ in arms)}")


def _ms_ticks(low: float, high: float, *, is_log: bool) -> dict[str, Any]:
    if not is_log:
        return {"tickCount": 5}
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high * 1.5)) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return {"values": [tick for tick in ticks if low * 0.8 <= tick <= high * 1.5]}


def latency_rows(arms: Iterable[tuple[str, ArmSummary]]) -> list[dict[str, Any]]:
    """Return percentile curves as points, up to where ten requests still lie beyond."""
    curves: list[list[dict[str, Any]]] = []
    for name, arm in arms:
        n = count(arm.latency)
        if n < 2 * MIN_TAIL_COUNT:
            continue
        furthest = math.log10(n / MIN_TAIL_COUNT)
        steps = (10 ** (furthest * i / _CURVE_STEPS) for i in range(_CURVE_STEPS + 1))
        curves.append(
            [
                {"arm": name, "x": x, "ms": quantile_s(arm.latency, 1 - 1 / x) * 1e3, "label": ""}
                for x in steps
            ]
        )
    by_height = sorted(curves, key=lambda curve: float(curve[-1]["ms"]))
    for curve in by_height:
        curve[-1]["label"] = "above" if curve is by_height[-1] else "below"
    return [row for curve in curves for row in curve]


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
