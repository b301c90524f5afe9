"""How all charts look, and how they become still SVG without a browser or a network.

Colours are CSS variables, so that one drawing serves light, dark and print.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
INK, SOFT, FAINT, PAPER = "var(--ink)", "var(--soft)", "var(--line)", "var(--paper)"
BEFORE, AFTER, BOOK = "var(--before)", "var(--after)", "var(--book)"
VERDICT_COLOURS = {
    "better": "var(--better)",
    "worse": "var(--worse)",
    "equivalent": "var(--equivalent)",
    "inconclusive": "var(--inconclusive)",
    "failed": "var(--worse)",
    "not_measured": "var(--inconclusive)",
}
WIDE, NARROW = 840, 340
_RATIO_TICKS = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000),
    *(0.3, 0.7, 1.5, 3, 4, 7),
    *(0.6, 0.8, 0.9, 1.1, 1.2, 1.3),
    *(0.95, 1.05, 0.98, 1.02, 0.99, 1.01),
)
"""From coarse to fine; a chart takes those in its range until it has enough."""


def chart_of(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return a chart of these rows, without marks yet."""
    return alt.Chart(alt.InlineData(values=[dict(row) for row in rows]))


def ratio_ticks(low: float, high: float, *, wanted: int = 6) -> list[float]:
    """Return round ratios within [low, high], evenly enough spread on a log scale, 1 included."""
    gap = math.log(high / low) / (wanted * 1.6)
    chosen: list[float] = [1.0]
    for tick in _RATIO_TICKS:
        apart = all(abs(math.log(tick / other)) >= gap for other in chosen)
        if low <= tick <= high and apart:
            chosen.append(tick)
    return sorted(chosen)


def padded(values: Iterable[float], *, share: float = 0.06) -> tuple[float, float]:
    """Return a log domain around the values, never narrower than ±2 %."""
    finite = [math.log(v) for v in values if v and v > 0 and math.isfinite(v)]
    low, high = min([*finite, -0.02]), max([*finite, 0.02])
    pad = (high - low) * share
    return math.exp(low - pad), math.exp(high + pad)


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """The room around a plot whose labels are drawn by hand, in pixels."""

    left: int
    right: int
    bottom: int


def svg_of(chart: Chart, label: str, frame: Frame | None = None) -> str:
    """Return the chart as one SVG element that scales down but never up.

    Without a frame, the axes take their room from the chart's own width.
    """
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    if frame is None:
        padding, autosize = {"left": 0, "right": 6, "top": 6, "bottom": 4}, fit
    else:
        padding = {"left": frame.left, "right": frame.right, "top": 6, "bottom": frame.bottom}
        autosize = alt.AutoSizeParams(type="none")
    if isinstance(chart, alt.VConcatChart):
        autosize = alt.AutoSizeParams(type="pad")
    spec = chart.configure(
        autosize=autosize,
        background="transparent",
        font=FONT,
        padding=padding,
        view={"stroke": None},
        axis={
            "labelColor": SOFT,
            "titleColor": SOFT,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "labelFontSize": 12,
            "titlePadding": 10,
            "gridColor": FAINT,
            "domainColor": FAINT,
            "tickColor": FAINT,
        },
    ).to_dict(validate=False)  # checking our own spec would take as long as drawing it
    return _accessible(vl_convert.vegalite_to_svg(spec), label)


def _accessible(svg: str, label: str) -> str:
    """Return the drawing as one labelled image, without the inner roles of an interactive one."""
    opening, rest = svg.split(">", 1)
    rest = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", rest)
    size = re.search(r'width="([\d.]+)"', opening)
    style = f' style="max-width:{size[1]}px"' if size else ""
    opening = re.sub(r' (?:width|height)="[^"]*"', "", opening)
    safe = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return f'{opening} role="img" aria-label="{safe}"{style}>{rest}'
