"""A sweep for a terminal: a bar for each level, and a level in one line."""

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.model import Sweep, SweepPoint, level_text
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.http_answers import answers_text
from httpdyno.report.study.pool_text import pool_text
from httpdyno.report.study.verdict_text import (
    has_run,
    of_best_text,
    rate_bounds_text,
    status_badge,
    taken_word,
    throughput_bounds,
)
from httpdyno.units import format_duration, format_rate

_BAR_WIDTH = 30


def sweep_chart(sweep: Sweep) -> RenderableType:
    """Return a bar for each level, its interval as `├─┤`, and the knee with its rule."""
    ends = (throughput_bounds(p) or (0.0, p.arm.throughput_per_s) for p in sweep.points)
    top = max((end for _, end in ends), default=0.0)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(Text(sweep.unit or "level"), justify="right")
    table.add_column("", width=_BAR_WIDTH, no_wrap=True)
    table.add_column("throughput", justify="right")
    table.add_column("of best", justify="right")
    table.add_column("p99", justify="right")
    table.add_column("")
    for point in sweep.points:
        table.add_row(*_sweep_row(sweep, point, top))
    pool = pool_text(sweep)
    return Group(
        Text(f"{sweep.knob}, throughput", "bold"),
        table,
        Text(f"{taken_word(sweep)}: {level_text(sweep.knee)}, {sweep.rule}"),
        *([Prose(Text(pool))] if pool else []),
        *(
            Text(f"{level_text(p.level)}: {status_badge(p.arm.status)}: {p.arm.detail}", "red")
            for p in sweep.points
            if p.arm.status != "complete"
        ),
        *(
            Text(f"{level_text(p.level)}: {answers_text(p.arm)}", "yellow")
            for p in sweep.points
            if p.arm.errors
        ),
    )


def _sweep_row(sweep: Sweep, point: SweepPoint, top: float) -> list[RenderableType]:
    level = level_text(point.level)
    if not has_run(point):
        return [level, Text(status_badge(point.arm.status), "red"), NOTHING, NOTHING, NOTHING, ""]
    marks = [
        name
        for name, marked in ((taken_word(sweep), sweep.knee), ("best", sweep.best))
        if level_text(marked) == level
    ]
    return [
        level,
        bar(point, top),
        format_rate(point.arm.throughput_per_s),
        of_best_text(point, sweep),
        format_duration(point.latency_p99_s or math.nan),
        Text(", ".join(marks), "bold"),
    ]


def bar(point: SweepPoint, top: float, *, width: int = _BAR_WIDTH) -> Text:
    """Return one level's bar, `top` wide at most, its interval drawn over its end."""
    if top <= 0:
        return Text()
    scale = (width - 1) / top
    middle = round(point.arm.throughput_per_s * scale)
    cells = ["█" if i <= middle else " " for i in range(width)]
    bounds = throughput_bounds(point)
    low, high = (min(round(end * scale), width - 1) for end in bounds or (0.0, 0.0))
    if high > low:
        cells[low : high + 1] = ["├", *"─" * (high - low - 1), "┤"]
    return Text("".join(cells).rstrip())


def point_line(point: SweepPoint) -> Text:
    """Return a sweep's level in one line, for progress."""
    if not has_run(point):
        return Text(
            f"{level_text(point.level)}  {status_badge(point.arm.status)}: {point.arm.detail}"
        )
    rate = format_rate(point.arm.throughput_per_s)
    return Text(f"{level_text(point.level)}  {rate} ({rate_bounds_text(point)})")
