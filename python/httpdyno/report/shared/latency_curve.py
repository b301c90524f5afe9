"""Latency by percentile as a curve: of a study's arms, or of a load test.

It needs altair: import it only when something is drawn.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from httpdyno.model import ArmSummary, HistogramData
from httpdyno.report.shared.drawing import AFTER, BEFORE, WIDE, chart_of, svg_of
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, quantile_s

_CURVE_STEPS = 80
_PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)


def arm_percentiles_svg(arms: Sequence[tuple[str, ArmSummary]], *, width: int = WIDE) -> str:
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
