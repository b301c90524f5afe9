"""The drawings of a load test's page, as SVG text.

Altair is imported here, so import this module only when something is drawn.
"""

import math
from dataclasses import dataclass
from typing import Any

import altair as alt

from httpdyno.model import HistogramData, LoadOutcome
from httpdyno.report.load.course import course, tail_name
from httpdyno.report.load.histogram_text import bars
from httpdyno.report.load.tables import phase_means_s
from httpdyno.report.shared.drawing import AFTER, BEFORE, BOOK, SOFT, WIDE, Frame, chart_of, svg_of

_WORSE = "var(--worse)"
_ERROR_FREE = 0
_MOST_BARS = {True: 44, False: 24}
_LABEL_ROOM, _LABEL_HEIGHT = 84, 15
"""Pixels for the names at the lines' ends."""
_LINE_STYLE: dict[str, Any] = {"strokeWidth": 1.8}
_LINE_STYLES: dict[str, dict[str, Any]] = {"offered": {"strokeWidth": 5, "opacity": 0.45}}
"""What was offered is seen behind what was completed, where the two are the same."""
_TICKS = (1.0, 2.0, 5.0)
PHASE_COLOURS = {
    "client_queue": BOOK,
    "connect": BEFORE,
    "tls": SOFT,
    "first_byte": AFTER,
    "transfer": "var(--pale)",
}
"""The client's, the connection's, the server's."""


def throughput_svg(outcome: LoadOutcome, *, width: int = WIDE) -> str:
    """Return right answers and errors per second over time; in open loop what was offered too."""
    points = course(outcome.measurement)
    if not points:
        return ""
    lines = {"completed": ("completed_per_s", AFTER)}
    if outcome.workload.is_open_loop:
        lines = {"offered": ("offered_per_s", BEFORE), **lines}
    if any(point.errors_per_s > _ERROR_FREE for point in points):
        lines["errors"] = ("errors_per_s", _WORSE)
    rows = [
        {"t": point.t_s, "line": name, "value": getattr(point, field)}
        for name, (field, _) in lines.items()
        for point in points
    ]
    most = max(row["value"] for row in rows)
    scale = _Scale(title="requests per second", low=0.0, high=most * 1.08 or 1.0)
    colours = {name: colour for name, (_, colour) in lines.items()}
    return _over_time(rows, scale, colours, outcome, width=width)


def latency_svg(outcome: LoadOutcome, *, width: int = WIDE) -> str:
    """Return median, tail and maximum of the requests that ended in each interval."""
    points = course(outcome.measurement)
    tail = tail_name(points)
    colours = {"max": SOFT, tail: BOOK, "p50": AFTER}
    # A missing value breaks its line: no straight line across what nobody knows.
    rows: list[dict[str, Any]] = [
        {"t": point.t_s, "line": name, "value": _ms(point.figures_s.get(name))}
        for name in colours
        for point in points
        if name
    ]
    values = [row["value"] for row in rows if row["value"] is not None]
    if not values:
        return ""
    low, high = min(values), max(values)
    scale = _Scale(title="latency, ms (log scale)", low=low * 0.8, high=high * 1.25, is_log=True)
    colours = {name: colour for name, colour in colours.items() if name}
    return _over_time(rows, scale, colours, outcome, width=width)


def _ms(value_s: float | None) -> float | None:
    return value_s * 1e3 if value_s else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scale:
    """The values of a drawing over time."""

    title: str
    low: float
    high: float
    is_log: bool = False

    def axis(self) -> alt.Y:
        kind: dict[str, Any] = {"type": "log"} if self.is_log else {}
        ticks: dict[str, Any] = {"tickCount": 5}
        if self.is_log:
            ticks = {"values": _log_ticks(self.low, self.high)}
        return alt.Y(
            "value:Q",
            title=self.title,
            scale=alt.Scale(domain=[self.low, self.high], nice=False, **kind),
            axis=alt.Axis(format=",~f", tickSize=0, **ticks),
        )

    def pixel(self, value: float, height: int) -> float:
        """Return how far below the top a value lies."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return height * (1 - (value - low) / (high - low))


def _over_time(
    rows: list[dict[str, Any]],
    scale: _Scale,
    colours: dict[str, str],
    outcome: LoadOutcome,
    *,
    width: int,
) -> str:
    """Return one line for each name, which stands at its end."""
    x = alt.X(
        "t:Q",
        title="seconds from the start",
        scale=alt.Scale(domain=[0, outcome.measurement.measured_s], nice=False),
        axis=alt.Axis(format=",~f", grid=False, tickCount=8 if width >= WIDE else 5, tickSize=4),
    )
    height = 210 if width >= WIDE else 170
    lines = [
        chart_of([row for row in rows if row["line"] == name])
        .mark_line(color=colours[name], **_LINE_STYLES.get(name, _LINE_STYLE))
        .encode(x=x, y=scale.axis())
        for name in colours
    ]
    names = [
        chart_of([{"name": name}])
        .mark_text(align="left", dx=7, fontSize=12.5, fontWeight=600, color=colours[name])
        .encode(x=alt.value("width"), y=alt.value(pixel), text="name:N")
        for name, pixel in _label_pixels(rows, scale, height).items()
    ]
    room = {"left": 66, "right": _LABEL_ROOM, "bottom": 44}
    chart = alt.layer(*lines, *names).properties(
        width=width - room["left"] - room["right"], height=height
    )
    return svg_of(chart, f"{scale.title} over time", Frame(**room))


def _label_pixels(rows: list[dict[str, Any]], scale: _Scale, height: int) -> dict[str, float]:
    """Return where each line's name stands: at its last value, but clear of the others."""
    last = {row["line"]: row["value"] for row in rows if row["value"] is not None}
    wanted = sorted((scale.pixel(value, height), name) for name, value in last.items())
    placed: dict[str, float] = {}
    below = -math.inf
    for pixel, name in wanted:
        below = max(pixel, below + _LABEL_HEIGHT)
        placed[name] = below
    # What was pushed out at the bottom goes up again, and pushes the others.
    above = height + 4.0
    for name in reversed(list(placed)):
        placed[name] = above = min(placed[name], above)
        above -= _LABEL_HEIGHT
    return placed


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in _TICKS]
    inside = [tick for tick in ticks if low <= tick <= high]
    return inside if len(inside) <= 10 else [t for t in inside if _is_decade(t)]  # noqa: PLR2004


def _is_decade(tick: float) -> bool:
    return math.isclose(math.log10(tick) % 1, 0, abs_tol=1e-9)


def distribution_svg(data: HistogramData, *, width: int = WIDE) -> str:
    """Return how many requests took how long, in bars on a log scale."""
    is_wide = width >= WIDE
    seen = bars(data, at_most=_MOST_BARS[is_wide])
    if len(seen) < 2:  # noqa: PLR2004 - all took the same
        return ""
    rows = [{"low": bar.low_s * 1e3, "high": bar.high_s * 1e3, "n": bar.n} for bar in seen]
    low, high = rows[0]["low"], rows[-1]["high"]
    x = alt.X(
        "low:Q",
        title="latency, ms (log scale)",
        scale=alt.Scale(type="log", domain=[low, high], nice=False),
        axis=alt.Axis(format=",~f", grid=False, tickSize=4, values=_log_ticks(low, high)),
    )
    y = alt.Y(
        "n:Q",
        title="requests",
        scale=alt.Scale(zero=True),
        axis=alt.Axis(format=",~f", tickCount=4, tickSize=0),
    )
    chart = (
        chart_of(rows)
        .mark_bar(color=AFTER, opacity=0.75, stroke="var(--paper)", strokeWidth=1)
        .encode(x=x, x2="high:Q", y=y, y2=alt.datum(0))
        .properties(width=width, height=180 if is_wide else 150)
    )
    return svg_of(chart, f"distribution of {sum(bar.n for bar in seen):,} latencies")


def phases_svg(outcome: LoadOutcome, *, width: int = WIDE) -> str:
    """Return the mean time of completed requests as one bar, divided by phase."""
    means_s = phase_means_s(outcome.measurement)
    if not means_s:
        return ""
    rows: list[dict[str, Any]] = []
    reached_ms = 0.0
    for name, mean_s in means_s.items():
        low_ms, reached_ms = reached_ms, reached_ms + mean_s * 1e3
        rows.append({"low": low_ms, "high": reached_ms, "colour": PHASE_COLOURS[name]})
    x = alt.X(
        "low:Q",
        title="mean time of a completed request, ms",
        scale=alt.Scale(domain=[0, reached_ms], nice=False),
        axis=alt.Axis(format=",~f", grid=False, tickCount=6, tickSize=4),
    )
    room = {"left": 8, "right": 14, "bottom": 44}
    chart = (
        chart_of(rows)
        .mark_rect()
        .encode(x=x, x2="high:Q", color=alt.Color("colour:N", scale=None))
        .properties(width=width - room["left"] - room["right"], height=40)
    )
    return svg_of(chart, "mean time by phase", Frame(**room))
