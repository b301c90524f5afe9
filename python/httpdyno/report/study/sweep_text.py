"""A sweep for a terminal: a bar for each level, and a level in one line."""

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.metrics import named
from httpdyno.model import ArmSummary, Sweep, SweepPoint, level_text
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.dropped import dropped_line
from httpdyno.report.study.header_text import header_table
from httpdyno.report.study.http_answers import answers_text
from httpdyno.report.study.pool_text import pool_text
from httpdyno.report.study.verdict_text import (
    at_text,
    detail_text,
    has_run,
    of_best_text,
    point_bounds,
    point_bounds_text,
    status_badge,
    taken_word,
)
from httpdyno.units import format_duration, format_rate

_BAR_WIDTH, _NARROW_BAR = 30, 16


def sweep_chart(sweep: Sweep) -> RenderableType:
    """Return a bar for each level, its interval as `├─┤`, and the knee with its rule."""
    ends = (point_bounds(p) or (0.0, p.value) for p in sweep.points)
    top = max((end for _, end in ends), default=0.0)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(Text(sweep.unit or "level"), justify="right")
    # What else is told of a curve of something else takes a column.
    width = _BAR_WIDTH if sweep.metric == "throughput_per_s" else _NARROW_BAR
    table.add_column("", width=width, no_wrap=True)
    for head in _cells(sweep, sweep.points[0]):
        table.add_column(head, justify="right")
    table.add_column("")
    for point in sweep.points:
        table.add_row(*_sweep_row(sweep, point, top, width))
    pool = pool_text(sweep)
    return Group(
        Text(f"{sweep.knob}, {named(sweep.metric).label}", "bold"),
        table,
        Text(f"{taken_word(sweep)}: {level_text(sweep.knee)}, {sweep.rule}"),
        *([Prose(Text(pool))] if pool else []),
        *(
            Text(
                f"{level_text(p.level)}: {status_badge(p.arm.status)}: {detail_text(p.arm)}", "red"
            )
            for p in sweep.points
            if p.arm.status != "complete"
        ),
        *(
            Text(f"{level_text(p.level)}: {answers_text(p.arm)}", "yellow")
            for p in sweep.points
            if p.arm.errors
        ),
        *([Prose(Text(dropped))] if (dropped := _dropped(sweep)) else []),
        *header_table(_arms(sweep)),
    )


def _dropped(sweep: Sweep) -> str:
    return dropped_line(_arms(sweep))


def _arms(sweep: Sweep) -> list[tuple[str, ArmSummary]]:
    return [(level_text(point.level), point.arm) for point in sweep.points]


def _sweep_row(sweep: Sweep, point: SweepPoint, top: float, width: int) -> list[RenderableType]:
    level, cells = level_text(point.level), _cells(sweep, point)
    if not has_run(point):
        return [level, Text(status_badge(point.arm.status), "red"), *[NOTHING] * len(cells), ""]
    marks = [
        name
        for name, marked in ((taken_word(sweep), sweep.knee), ("best", sweep.best))
        if level_text(marked) == level
    ]
    return [
        level,
        bar(point, top, width=width),
        *cells.values(),
        Text(", ".join(marks), "bold"),
    ]


def _cells(sweep: Sweep, point: SweepPoint) -> dict[str, str]:
    """Return a level's figures by what they are: the metric, and throughput and p99 beside it."""
    is_of_rate = sweep.metric == "throughput_per_s"
    own = "throughput" if is_of_rate else named(sweep.metric).short
    first = {own: named(sweep.metric).write(point.value), "of best": of_best_text(point, sweep)}
    beside = {
        "throughput": format_rate(point.arm.throughput_per_s),
        "p99": format_duration(point.latency_p99_s or math.nan),
    }
    return {**first, **{name: text for name, text in beside.items() if name not in first}}


def bar(point: SweepPoint, top: float, *, width: int = _BAR_WIDTH) -> Text:
    """Return one level's bar, `top` wide at most, its interval drawn over its end."""
    if top <= 0:
        return Text()
    scale = (width - 1) / top
    middle = round(point.value * scale)
    cells = ["█" if i <= middle else " " for i in range(width)]
    bounds = point_bounds(point)
    low, high = (min(round(end * scale), width - 1) for end in bounds or (0.0, 0.0))
    if high > low:
        cells[low : high + 1] = ["├", *"─" * (high - low - 1), "┤"]
    return Text("".join(cells).rstrip())


def point_line(point: SweepPoint, metric: str) -> Text:
    """Return a sweep's level in one line, for progress."""
    if not has_run(point):
        return Text(
            f"{level_text(point.level)}  {status_badge(point.arm.status)}: {detail_text(point.arm)}"
        )
    bounds = point_bounds_text(point, metric)
    return Text(f"{level_text(point.level)}  {at_text(point, metric)} ({bounds})")
