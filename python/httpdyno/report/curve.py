"""The curves of a report: a sweep over its levels, and latency by percentile.

As with `chart`, import it only when something is drawn.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from httpdyno.model import (
    ArmSummary,
    HistogramData,
    Level,
    Sweep,
    level_text,
)
from httpdyno.report.drawing import AFTER, BEFORE, BOOK, INK, WIDE, Chart, chart_of, svg_of
from httpdyno.report.phrase import has_run, p99_of, throughput_bounds
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, quantile_s

_CURVE_STEPS = 80
_PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)


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
    bounded = ran.transform_filter("datum.low != null")
    layers = [
        bounded.mark_area(color=AFTER, opacity=0.14).encode(x=x, y="low:Q", y2="high:Q"),
        ran.mark_line(color=AFTER, strokeWidth=2.2).encode(x=x, y=y),
        bounded.mark_rule(color=AFTER, strokeWidth=2).encode(x=x, y="low:Q", y2="high:Q"),
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
            "p99": None if p99_of(point) is None else point.latency_p99_s * 1e3,
            "cpu": point.arm.cpu_s_per_request * 1e3,
            "is_knee": row["is_knee"],
        }
        for row, point in zip(sweep_rows(sweep, {}), sweep.points, strict=True)
        if has_run(point)
    ]
    fields = {"p99": "p99 latency, ms", "cpu": "CPU/request, ms"}
    drawn = [field for field in fields if any(row[field] is not None for row in rows)]
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
        ).properties(width=width - 76, height=110)
        for field in drawn
    ]
    return svg_of(alt.vconcat(*panels, spacing=14), f"what the levels of {sweep.knob} cost")


def _cost_panel(base: alt.Chart, x: alt.X, y: alt.Y) -> Chart:
    line = base.mark_line(color=AFTER, strokeWidth=2.2, point={"size": 50, "color": AFTER})
    knee = base.transform_filter("datum.is_knee").mark_rule(color=INK, strokeDash=[3, 3])
    return alt.layer(line.encode(x=x, y=y), knee.encode(x=x))


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
    rates = [p.arm.throughput_per_s for p in sweep.points if has_run(p)]
    scale = max(rates, default=0.0) / max(book.values(), default=1.0)
    numeric = all(isinstance(p.level, (int, float)) for p in sweep.points)
    return [
        {
            "level": point.level if numeric else level_text(point.level),
            "throughput": point.arm.throughput_per_s if has_run(point) else None,
            "low": (throughput_bounds(point) or (None, None))[0],
            "high": (throughput_bounds(point) or (None, None))[1],
            "book": book[point.level] * scale if point.level in book else None,
            "status": point.arm.status,
            "is_knee": point.level == sweep.knee,
        }
        for point in sweep.points
    ]


def latency_svg(arms: Sequence[tuple[str, ArmSummary]], *, width: int = WIDE) -> str:
    """Return the arms' percentile curves, the reference first."""
    return percentiles_svg([(name, arm.latency) for name, arm in arms], width=width)


def percentiles_svg(
    curves: Sequence[tuple[str, HistogramData]],
    *,
    width: int = WIDE,
    colours: Sequence[str] = (BEFORE, AFTER),
) -> str:
    """Return percentile curves; each ends where its sample does.

    Args:
        curves: Name and distribution of each; the first is drawn thick, behind the others.
        width: In pixels.
        colours: One for each curve.
    """
    rows = percentile_rows(curves)
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
    colour = alt.Color(
        "arm:N",
        scale=alt.Scale(domain=[name for name, _ in curves], range=list(colours)),
        legend=None,
    )
    base = chart_of(rows)
    behind = curves[0][0] if len(curves) > 1 else ""
    layers = [
        base.transform_filter(f"datum.arm == '{behind}'")
        .mark_line(strokeWidth=3.5, opacity=0.7, interpolate="monotone")
        .encode(x=x, y=y, color=colour),
        base.transform_filter(f"datum.arm != '{behind}'")
        .mark_line(strokeWidth=2.2, interpolate="monotone")
        .encode(x=x, y=y, color=colour),
        *(
            base.transform_filter(f"datum.label == '{side}'")
            .mark_text(align="right", dy=dy, fontSize=13, fontWeight=600)
            .encode(x="x:Q", y="ms:Q", text="arm:N", color=colour)
            for side, dy in (("above", -11), ("below", 15))
        ),
    ]
    chart = alt.layer(*layers).properties(width=width, height=260 if width >= WIDE else 200)
    return svg_of(chart, f"latency by percentile of {' and '.join(n for n, _ in curves)}")


def _ms_ticks(low: float, high: float, *, is_log: bool) -> dict[str, Any]:
    if not is_log:
        return {"tickCount": 5}
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high * 1.5)) + 1)
    ticks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return {"values": [tick for tick in ticks if low * 0.8 <= tick <= high * 1.5]}


def latency_rows(arms: Iterable[tuple[str, ArmSummary]]) -> list[dict[str, Any]]:
    """Return the arms' percentile curves as points."""
    return percentile_rows([(name, arm.latency) for name, arm in arms])


def percentile_rows(curves: Iterable[tuple[str, HistogramData]]) -> list[dict[str, Any]]:
    """Return percentile curves as points, up to where ten requests still lie beyond."""
    drawn: list[list[dict[str, Any]]] = []
    for name, data in curves:
        n = count(data)
        if n < 2 * MIN_TAIL_COUNT:
            continue
        furthest = math.log10(n / MIN_TAIL_COUNT)
        steps = (10 ** (furthest * i / _CURVE_STEPS) for i in range(_CURVE_STEPS + 1))
        drawn.append(
            [
                {"arm": name, "x": x, "ms": quantile_s(data, 1 - 1 / x) * 1e3, "label": ""}
                for x in steps
            ]
        )
    by_height = sorted(drawn, key=lambda curve: float(curve[-1]["ms"]))
    for curve in by_height:
        curve[-1]["label"] = "above" if curve is by_height[-1] else "below"
    return [row for curve in drawn for row in curve]
