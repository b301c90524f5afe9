"""The charts of a load test's page, as SVG text; empty where there is nothing to draw."""

from collections.abc import Sequence
from dataclasses import replace

from httpdyno.model import HistogramData, LoadOutcome
from httpdyno.report.load.tables import PHASES, course, phase_means_s, tail_name
from httpdyno.report.load.text import bars
from httpdyno.report.shared.distribution import time_text
from httpdyno.report.shared.svg import (
    AFTER,
    BEFORE,
    BOOK,
    SOFT,
    WIDE,
    WORSE,
    Axis,
    Plot,
    Room,
    drawing,
    label_places,
    nice_ticks,
)
from httpdyno.units import format_duration

_MOST_BARS = {True: 44, False: 24}
_NAMES_ROOM = 84
"""Pixels for the names at the lines' ends."""
PHASE_COLOURS = {
    "client_queue": BOOK,
    "connect": BEFORE,
    "tls": SOFT,
    "first_byte": AFTER,
    "transfer": "var(--pale)",
}
"""The client's, the connection's, the server's."""

Line = Sequence[tuple[float, float | None]]


def throughput_svg(outcome: LoadOutcome, *, width: int = WIDE) -> str:
    """Return right answers and errors per second over time; in open loop what was offered too."""
    points = course(outcome.measurement)
    if not points:
        return ""
    lines: dict[str, Line] = {}
    if outcome.workload.is_open_loop:
        lines["offered"] = [(point.t_s, point.offered_per_s) for point in points]
    lines["completed"] = [(point.t_s, point.completed_per_s) for point in points]
    if any(point.errors_per_s > 0 for point in points):
        lines["errors"] = [(point.t_s, point.errors_per_s) for point in points]
    colours = {"offered": BEFORE, "completed": AFTER, "errors": WORSE}
    most = max(_values(lines))
    return _over_time(lines, colours, Axis.linear(most, "requests per second"), outcome, width)


def latency_svg(outcome: LoadOutcome, *, width: int = WIDE) -> str:
    """Return median, tail and maximum of the requests that ended in each interval."""
    points = course(outcome.measurement)
    tail = tail_name(points)
    # A missing value breaks its line: no straight line across what nobody knows.
    lines: dict[str, Line] = {
        name: [(point.t_s, _ms(point.figures_s.get(name))) for point in points]
        for name in ("max", tail, "p50")
        if name
    }
    values = _values(lines)
    if not values:
        return ""
    colours = {"max": SOFT, tail: BOOK, "p50": AFTER}
    axis = Axis.logarithmic(min(values) * 0.8, max(values) * 1.25, "latency, ms (log scale)")
    return _over_time(lines, colours, axis, outcome, width)


def _ms(value_s: float | None) -> float | None:
    return value_s * 1e3 if value_s else None


def _values(lines: dict[str, Line]) -> list[float]:
    return [value for line in lines.values() for _, value in line if value is not None]


def _over_time(
    lines: dict[str, Line], colours: dict[str, str], y: Axis, outcome: LoadOutcome, width: int
) -> str:
    """Return one line for each name, which stands at its end."""
    is_wide, length_s = width >= WIDE, outcome.measurement.measured_s
    x = Axis(
        low=0,
        high=length_s,
        title="seconds from the start",
        ticks=nice_ticks(0, length_s, 8 if is_wide else 5),
        has_grid=False,
    )
    plot = Plot(
        x=x,
        y=y,
        width=width,
        height=210 if is_wide else 170,
        room=Room(left=56, right=_NAMES_ROOM, top=28),
    )
    for name, line in lines.items():
        # What was offered is seen behind what was completed, where the two are the same.
        thickness, opacity = (5, 0.45) if name == "offered" else (1.8, 1.0)
        plot.line(line, colours[name], width=thickness, opacity=opacity)
    last = {n: [v for _, v in line if v is not None] for n, line in lines.items()}
    wanted = {name: plot.down(seen[-1]) + 4 for name, seen in last.items() if seen}
    for name, down in label_places(wanted, plot.height).items():
        plot.text(name, px=(plot.width + 7, down), colour=colours[name], size=12.5, is_bold=True)
    return drawing(f"{y.title} over time", plot)


def distribution_svg(data: HistogramData, *, width: int = WIDE) -> str:
    """Return how many requests took how long, in bars on a log scale."""
    is_wide = width >= WIDE
    seen = bars(data, at_most=_MOST_BARS[is_wide])
    if len(seen) < 2:  # noqa: PLR2004 - all took the same
        return ""
    low, high = seen[0].low_s * 1e3, seen[-1].high_s * 1e3
    plot = Plot(
        x=replace(Axis.logarithmic(low, high, "latency, ms (log scale)"), has_grid=False),
        y=Axis.linear(max(bar.n for bar in seen), "requests", wanted=4),
        width=width,
        height=180 if is_wide else 150,
    )
    for bar in seen:
        title = f"{format_duration(bar.low_s)} to {format_duration(bar.high_s)}: {bar.n:,}"
        place = (bar.low_s * 1e3, bar.high_s * 1e3)
        plot.bar(place, (0, bar.n), AFTER, opacity=0.75, gap=1, title=title)
    return drawing(f"distribution of {sum(bar.n for bar in seen):,} latencies", plot)


def phases_svg(outcome: LoadOutcome, *, width: int = WIDE) -> str:
    """Return the mean time of completed requests as one bar, divided by phase."""
    means_s = phase_means_s(outcome.measurement)
    if not means_s:
        return ""
    whole_ms = sum(means_s.values()) * 1e3
    x = Axis(
        low=0,
        high=whole_ms,
        title="mean time of a completed request, ms",
        ticks=nice_ticks(0, whole_ms, 6),
        has_grid=False,
    )
    plot = Plot(x=x, y=Axis(low=0, high=1), width=width, height=40, room=Room(left=8, right=14))
    reached_ms = 0.0
    for name, mean_s in means_s.items():
        begin_ms, reached_ms = reached_ms, reached_ms + mean_s * 1e3
        title = f"{PHASES[name]}: {time_text(mean_s)}"
        plot.bar((begin_ms, reached_ms), (0, 1), PHASE_COLOURS[name], title=title)
    return drawing("mean time by phase", plot)
