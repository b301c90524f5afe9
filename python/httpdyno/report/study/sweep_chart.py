"""The curves of a sweep: its metric over its levels, and what each costs.

As with `chart`, import it only when something is drawn.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from httpdyno.metrics import named
from httpdyno.model import Level, Sweep, level_text
from httpdyno.report.shared.drawing import AFTER, BOOK, INK, WIDE, Chart, chart_of, svg_of
from httpdyno.report.study.verdict_text import (
    has_run,
    p99_of,
    point_bounds,
    taken_word,
)
from httpdyno.units import format_bytes, format_count, format_percent, format_rate


def sweep_svg(sweep: Sweep, book: dict[Level, float], *, width: int = WIDE) -> str:
    """Return the metric over the levels, with intervals, the knee, and the book's curve.

    Between levels that are words nothing is drawn.
    """
    rows = sweep_rows(sweep, book)
    x = _level_axis([row["level"] for row in rows], sweep)
    y = alt.Y(
        "value:Q",
        title=_unit(sweep.metric)[1],
        scale=alt.Scale(zero=True),
        axis=alt.Axis(format=",~f", tickCount=5, tickSize=0),
    )
    height = 300 if width >= WIDE else 220
    base = chart_of(rows)
    ran = base.transform_filter("datum.value != null")
    bounded = ran.transform_filter("datum.low != null")
    between = [
        bounded.mark_area(color=AFTER, opacity=0.14).encode(x=x, y="low:Q", y2="high:Q"),
        ran.mark_line(color=AFTER, strokeWidth=2.2).encode(x=x, y=y),
    ]
    diamond: dict[str, Any] = {"shape": "diamond", "filled": False, "size": 55, "color": BOOK}
    published = base.transform_filter("datum.book != null")
    layers = [
        *([] if sweep.is_of_words else between),
        bounded.mark_rule(color=AFTER, strokeWidth=2).encode(x=x, y="low:Q", y2="high:Q"),
        ran.mark_point(size=60, filled=True, opacity=1, color=AFTER).encode(x=x, y=y),
        (
            published.mark_point(**diamond)
            if sweep.is_of_words
            else published.mark_line(color=BOOK, strokeDash=[5, 4], strokeWidth=1.6, point=diamond)
        ).encode(x=x, y="book:Q"),
        base.transform_filter("datum.value == null")
        .mark_point(shape="cross", size=90, filled=True, angle=45, color="var(--worse)")
        .encode(x=x, y=alt.datum(0)),
        base.transform_filter("datum.value == null")
        .mark_text(dy=-14, fontSize=12, align="right", dx=6, color="var(--worse)")
        .encode(x=x, y=alt.datum(0), text="status:N"),
        base.transform_filter("datum.is_knee").mark_rule(color=INK, strokeDash=[3, 3]).encode(x=x),
        base.transform_filter("datum.is_knee")
        .mark_text(align="left", dx=7, fontSize=13, fontWeight=600, color=INK, text=_knee(sweep))
        .encode(x=x, y=alt.value(height - 12)),
    ]
    chart = alt.layer(*layers).properties(width=width, height=height)
    return svg_of(chart, f"{named(sweep.metric).label} over {len(rows)} levels of {sweep.knob}")


def cost_svg(sweep: Sweep, *, width: int = WIDE) -> str:
    """Return what each level costs: p99 latency above, CPU per request below.

    Where the curve is of one of them that stands above it, and throughput here.
    """
    rows = [
        {
            "level": row["level"],
            "p99": None if p99_of(point) is None else point.latency_p99_s * 1e3,
            "cpu": point.arm.cpu_s_per_request * 1e3,
            "rate": point.arm.throughput_per_s,
            "is_knee": row["is_knee"],
        }
        for row, point in zip(sweep_rows(sweep, {}), sweep.points, strict=True)
        if has_run(point)
    ]
    fields = {"p99": "p99 latency, ms", "cpu": "CPU/request, ms", "rate": "requests per second"}
    of = {"p99": "latency_p99_s", "cpu": "cpu_s_per_request", "rate": "throughput_per_s"}
    drawn = [
        field
        for field in fields
        if of[field] != sweep.metric and any(row[field] is not None for row in rows)
    ]
    if not rows or not drawn:
        return ""
    base, x = chart_of(rows), _level_axis([row["level"] for row in rows], sweep)
    panels = [
        _cost_panel(
            base,
            x if field == drawn[-1] else x.axis(labels=False, title=None, grid=False),
            alt.Y(
                f"{field}:Q",
                title=fields[field],
                axis=alt.Axis(format=",~f", tickCount=4, tickSize=0, minExtent=44),
            ),
            is_line=not sweep.is_of_words,
        ).properties(width=width - 76, height=110)
        for field in drawn
    ]
    return svg_of(alt.vconcat(*panels, spacing=14), f"what the levels of {sweep.knob} cost")


def _cost_panel(base: alt.Chart, x: alt.X, y: alt.Y, *, is_line: bool) -> Chart:
    line = base.mark_point(size=50, filled=True, opacity=1, color=AFTER)
    if is_line:
        line = base.mark_line(color=AFTER, strokeWidth=2.2, point={"size": 50, "color": AFTER})
    knee = base.transform_filter("datum.is_knee").mark_rule(color=INK, strokeDash=[3, 3])
    return alt.layer(line.encode(x=x, y=y), knee.encode(x=x))


def _knee(sweep: Sweep) -> str:
    return f"{taken_word(sweep)} {level_text(sweep.knee)}"


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
    unit, _ = _unit(sweep.metric)
    rates = [p.value / unit for p in sweep.points if has_run(p)]
    scale = max(rates, default=0.0) / max(book.values(), default=1.0)
    numeric = all(isinstance(p.level, (int, float)) for p in sweep.points)
    return [
        {
            "level": point.level if numeric else level_text(point.level),
            "value": point.value / unit if has_run(point) else None,
            "low": None if bounds is None else bounds[0] / unit,
            "high": None if bounds is None else bounds[1] / unit,
            "book": book[point.level] * scale if point.level in book else None,
            "status": point.arm.status,
            "is_knee": point.level == sweep.knee,
        }
        for point in sweep.points
        for bounds in [point_bounds(point)]
    ]


def _unit(metric: str) -> tuple[float, str]:
    """Return the unit that a metric is drawn in, and the words of its axis."""
    write = named(metric).write
    if write is format_rate:
        return 1.0, "requests per second"
    if write is format_bytes:
        return 1e6, f"{named(metric).label}, MB"
    if write is format_count:
        return 1.0, named(metric).label
    if write is format_percent:
        return 1e-2, f"{named(metric).label}, %"
    return 1e-3, f"{named(metric).label}, ms"
