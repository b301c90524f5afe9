"""Latency by percentile as a curve: of a study's arms, of a load test, of servers in turns."""

import math
from collections.abc import Iterable, Sequence

from httpdyno.model import HistogramData
from httpdyno.report.shared.svg import (
    AFTER,
    BEFORE,
    WIDE,
    Axis,
    Plot,
    drawing,
    label_places,
    number_text,
)
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, quantile_s

_CURVE_STEPS = 80
_PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
_NAMES_ROOM = 14
_LOG_FROM = 8
"""Highest over lowest: a linear axis would hide the faster one."""


def percentiles_svg(
    curves: Sequence[tuple[str, HistogramData]],
    *,
    width: int = WIDE,
    colours: Sequence[str] = (BEFORE, AFTER),
) -> str:
    """Return percentile curves; each ends where its sample does. Empty where none has one.

    Args:
        curves: Name and distribution of each; the first is drawn thick, behind the others.
        width: In pixels.
        colours: One for each curve.
    """
    drawn = {name: points for name, data in curves if (points := percentile_points(data))}
    if not drawn:
        return ""
    furthest = max(points[-1][0] for points in drawn.values())
    values = [ms for points in drawn.values() for _, ms in points]
    ticks = tuple(1 / (1 - q) for q in _PERCENTILES if 1 / (1 - q) <= furthest * 1.5)
    x = Axis(
        low=1,
        high=max(ticks[-1], furthest, 100),
        title="percentile of requests",
        ticks=ticks,
        label=_percentile_name,
        is_log=True,
    )
    plot = Plot(
        x=x,
        y=_latency_axis(min(values), max(values)),
        width=width,
        height=260 if width >= WIDE else 200,
    )
    for number, (name, _) in enumerate(curves):
        if name in drawn:
            is_behind = number == 0 and len(curves) > 1
            width_, opacity = (3.5, 0.7) if is_behind else (2.2, 1.0)
            plot.line(drawn[name], colours[number], width=width_, opacity=opacity)
    _name_curves(plot, drawn, dict(zip((name for name, _ in curves), colours, strict=False)))
    return drawing(f"latency by percentile of {' and '.join(name for name, _ in curves)}", plot)


def _name_curves(
    plot: Plot, drawn: dict[str, list[tuple[float, float]]], colours: dict[str, str]
) -> None:
    """Write each curve's name at its end: that of the highest above it, of the others below."""
    ends = {name: points[-1] for name, points in drawn.items()}
    highest = max(ends, key=lambda name: ends[name][1])
    wanted = {
        name: plot.down(ms) + (-10 if name == highest else 18) for name, (_, ms) in ends.items()
    }
    for name, down in label_places(wanted, plot.height).items():
        place = (plot.left(ends[name][0]), down)
        plot.text(
            name, px=place, anchor="end", colour=colours[name], size=13, is_bold=True, has_halo=True
        )


def _latency_axis(low: float, high: float) -> Axis:
    if high / max(low, 1e-9) > _LOG_FROM:
        return Axis.logarithmic(low * 0.8, high * 1.5, "latency, ms (log scale)")
    return Axis.linear(high * 1.1, "latency, ms")


def _percentile_name(x: float) -> str:
    return "0" if x < 1.5 else f"p{number_text(round(100 - 100 / x, 6))}"  # noqa: PLR2004


def percentile_points(data: HistogramData) -> list[tuple[float, float]]:
    """Return a percentile curve up to where ten requests still lie beyond it.

    As (1 / (1 − q), milliseconds); empty where the sample is too small.
    """
    n = count(data)
    if n < 2 * MIN_TAIL_COUNT:
        return []
    furthest = math.log10(n / MIN_TAIL_COUNT)
    steps: Iterable[float] = (10 ** (furthest * i / _CURVE_STEPS) for i in range(_CURVE_STEPS + 1))
    return [(x, quantile_s(data, 1 - 1 / x) * 1e3) for x in steps]
