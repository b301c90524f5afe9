"""What a sweep says of the server's pool, in one line."""

import math

from httpdyno.model import Level, PoolCurve, PoolLine, Respawn, Sweep
from httpdyno.units import (
    Format,
    format_bounds,
    format_bytes,
    format_duration,
    format_number,
    format_percent,
)

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
    return f"pool: {pool.reason}"


def _memory_text(line: PoolLine, pool: PoolCurve) -> str:
    once = _bounded(line.once_bytes, (line.once_low_bytes, line.once_high_bytes), format_bytes)
    each = _bounded(
        line.each_bytes,
        (line.each_low_bytes, line.each_high_bytes),
        format_bytes,
        f"; 95 % confidence, {pool.n_levels} levels",
    )
    return f"memory: {once} once + {each} for each worker"


def _births_text(births: Respawn, pool: PoolCurve, n_requests: float) -> str:
    cost = _bounded(
        births.spawn_s,
        (births.spawn_low_s, births.spawn_high_s),
        format_duration,
        f"; 95 % confidence, {pool.n_levels} levels",
    )
    n_alike = births.spawn_s / births.serve_s
    alike = format_number(n_alike, 0 if n_alike >= _PRECISE else 1)
    lost = format_percent(1 - births.kept_ratio(n_requests))
    return (
        f"births: the end of a process and the next one's birth cost {cost} of the server's time, "
        f"as much as {alike} requests; at {n_requests:,.0f} requests for each process that is "
        f"{lost} of it"
    )


def _life(sweep: Sweep) -> float:
    """Return the length of life that the cost is told for: the knee's, if that has an end."""
    knee = _number(sweep.knee)
    return knee or max(_number(point.level) for point in sweep.points)


def _number(level: Level) -> float:
    return 0.0 if isinstance(level, str) else float(level)


def _bounded(
    value: float, ends: tuple[float | None, float | None], text: Format, more: str = ""
) -> str:
    """Return a figure with its interval; what takes less than nothing by chance takes nothing."""
    low, high = ends
    words = text(max(0.0, value))
    if low is None or high is None or not math.isfinite(high):
        return words
    return f"{words} ({format_bounds(max(0.0, low), max(0.0, high), text)}{more})"
