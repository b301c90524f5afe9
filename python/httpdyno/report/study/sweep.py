"""A sweep for a terminal, and what it says of the server's pool."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from rich.console import Group, RenderableType
from rich.text import Text

from httpdyno.metrics import named
from httpdyno.model import (
    ArmSummary,
    Level,
    PoolCurve,
    PoolLine,
    Respawn,
    Sweep,
    SweepPoint,
    level_text,
)
from httpdyno.report.shared import message
from httpdyno.report.shared.interval import bounded_text, ratio_text
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.view import plain_table
from httpdyno.report.study.arms import answers_text, dropped_line, errors_text, header_table
from httpdyno.report.study.verdict import (
    at_text,
    detail_text,
    has_run,
    of_best_text,
    point_bounds,
    point_bounds_text,
    status_badge,
    taken_word,
)
from httpdyno.units import (
    format_bytes,
    format_duration,
    format_number,
    format_percent,
    format_rate,
)

# What a sweep says of the server's pool, in one line.

_PRECISE = 100
"""From here on a count has no decimals."""


def pool_text(sweep: Sweep) -> str:
    """Return what a worker or a birth costs, or why that is not told; empty where nobody asked."""
    pool = sweep.pool
    if pool is None:
        return ""
    if pool.memory is not None:
        return _memory_text(pool.memory, pool)
    if pool.births is not None:
        return _births_text(pool.births, pool, _life(sweep))
    return f"pool: {message.text(pool.reason)}" if pool.reason else ""


def _memory_text(line: PoolLine, pool: PoolCurve) -> str:
    once = bounded_text(line.once_bytes, (line.once_low_bytes, line.once_high_bytes), format_bytes)
    each = bounded_text(
        line.each_bytes,
        (line.each_low_bytes, line.each_high_bytes),
        format_bytes,
        f"; 95 % confidence, {pool.n_levels} levels",
    )
    return f"memory: {once} once + {each} for each worker"


def _births_text(births: Respawn, pool: PoolCurve, n_requests: float) -> str:
    cost = bounded_text(
        births.spawn_s,
        (births.spawn_low_s, births.spawn_high_s),
        format_duration,
        f"; 95 % confidence, {pool.n_levels} levels",
    )
    n_alike = births.spawn_s / births.serve_s
    alike = format_number(n_alike, 0 if n_alike >= _PRECISE else 1)
    lost = format_percent(1 - births.kept_ratio(n_requests))
    return (
        f"recycling: replacing a process costs {cost} of the server's time, "
        f"as much as {alike} requests; at {n_requests:,.0f} requests for each process that is "
        f"{lost} of it"
    )


def _life(sweep: Sweep) -> float:
    """Return the length of life that the cost is told for: the knee's, if that has an end."""
    knee = _number(sweep.knee)
    return knee or max(_number(point.level) for point in sweep.points)


def _number(level: Level) -> float:
    return 0.0 if isinstance(level, str) else float(level)


# A sweep for a terminal: a bar for each level, and a level in one line.

_BAR_WIDTH, _NARROW_BAR = 30, 16


def sweep_chart(sweep: Sweep) -> RenderableType:
    """Return a bar for each level, its interval as `├─┤`, and the knee with its rule."""
    ends = (point_bounds(p) or (0.0, p.value) for p in sweep.points)
    top = max((end for _, end in ends), default=0.0)
    table = plain_table(gap=1, has_head=True)
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
        Text(f"{taken_word(sweep)}: {level_text(sweep.knee)}, {message.text(sweep.rule)}"),
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
    own, cells = named(sweep.metric), level_cells(sweep, point)
    name = own.label if own.name == "throughput_per_s" else own.short
    first = {name: cells[own.label], "of best": cells["of best"]}
    return first | {name: cells[name] for name in ("throughput", "p99") if name in cells}


def level_cells(
    sweep: Sweep, point: SweepPoint, book: Mapping[Level, float] = MappingProxyType({})
) -> dict[str, str]:
    """Return a level's figures by their heads; what the curve is of stands before its interval."""
    own, arm = sweep.metric, point.arm
    beside = {
        "cpu_s_per_request": ("CPU/request", format_duration(arm.cpu_s_per_request)),
        "latency_p99_s": ("p99", format_duration(point.latency_p99_s or math.nan)),
    }
    return {
        "throughput": format_rate(arm.throughput_per_s),
        **({} if own == "throughput_per_s" else {named(own).label: named(own).write(point.value)}),
        "interval": point_bounds_text(point, own),
        "of best": of_best_text(point, sweep),
        **dict(cells for metric, cells in beside.items() if metric != own),
        "errors": errors_text(arm) or NOTHING,
        "book": ratio_text(book.get(point.level)),
    }


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
