"""What a sweep over a pool's size, or over its workers' lives, says of the pool. Pure.

The figures of a level are means over its starts, and a line is laid through the levels, so what
bends is in the interval as well as what scatters. A line that a level is far off is not told: who
reads it wants to know what lies between.

All levels are up at the same time, so pages of files that all of them map, such as the program's
own, are in each by its share only, and hardly in what a pool takes once. Those the kernel may take
away anyway, and read again.
"""

import math
from collections.abc import Sequence

import numpy as np

from httpdyno.advice.curve.pool import CONFIDENCE, pool_line
from httpdyno.errors import UsageError
from httpdyno.model import Knob, PoolCurve, Respawn, SweepPoint, Workload
from httpdyno.stats.least_squares import LineFit, fit_line
from httpdyno.units import format_duration, format_percent

_FEWEST = 3
"""Through two a line always goes."""
_FARTHEST_RATIO = 0.05
"""That a level may be off the line, of what the line has there."""
_FLUX, _FLUX_RATIO = 0.5, 0.02
"""By so many processes, and by so many of those that are to be there, the mean number over windows
may be off: some are just being replaced."""
_SURE = "95 % confidence"


def swept_pool(knob: Knob, points: Sequence[SweepPoint], load: Workload) -> PoolCurve | None:
    """Return what the levels say; None where the knob sets nothing of a pool.

    Args:
        knob: What was swept.
        points: Its levels; those that did not run say nothing.
        load: That they had.
    """
    ran = [p for p in points if p.arm.status == "complete" and p.arm.throughput_per_s > 0]
    if not knob.pool:
        return None
    if knob.pool == "workers":
        return _memory(ran)
    if load.is_open_loop:
        return PoolCurve(
            reason="what a birth costs cannot be told: the schedule of the load decides the "
            "throughput, whatever a birth costs"
        )
    if knob.pool == "connections" and load.keep_alive:
        return PoolCurve(
            reason="what a birth costs cannot be told: processes are replaced after so many "
            "connections, and with keep-alive each of these carries many requests"
        )
    return _births(ran)


def _memory(points: Sequence[SweepPoint]) -> PoolCurve:
    sized = [
        (float(p.level), p.arm.n_processes, p.arm.pss_bytes) for p in points if p.arm.pss_bytes
    ]
    if len(sized) < _FEWEST:
        return PoolCurve(reason=_too_few("what a worker takes", "sizes", len(sized)))
    followed = _followed(sized)
    if len(followed) < _FEWEST:
        (low, n_low, _), (high, n_high, _) = sized[0], sized[-1]
        return PoolCurve(
            reason="what a worker takes cannot be told: the number of processes does not follow "
            f"the level, it is {n_low:.0f} at {low:g} and {n_high:.0f} at {high:g}"
        )
    workers = [level for level, _, _ in followed]
    sizes = [size for _, _, size in followed]
    try:
        line = pool_line(workers, sizes)
    except UsageError as error:
        return PoolCurve(reason=f"what a worker takes cannot be told: {error}")
    fitted = [line.once_bytes + line.each_bytes * level for level in workers]
    if off := _farthest(workers, sizes, fitted):
        return PoolCurve(
            reason=f"by these levels memory is no line over the number of workers: {off}"
        )
    return PoolCurve(memory=line, n_levels=len(followed))


Sized = tuple[float, float, float]
"""A level, the mean number of processes, bytes."""


def _followed(sized: Sequence[Sized]) -> list[Sized]:
    """Return the levels at which as many processes work as it says, beside always the same ones."""
    sets = [[each for each in sized if _is_near(each, n - level)] for level, n, _ in sized]
    return max(sets, key=len)


def _is_near(each: Sized, n_besides: float) -> bool:
    level, n, _ = each
    return abs(n - level - n_besides) <= _FLUX + _FLUX_RATIO * level


def _births(points: Sequence[SweepPoint]) -> PoolCurve:
    lives = [float(point.level) or math.inf for point in points]
    if len(lives) < _FEWEST:
        return PoolCurve(reason=_too_few("what a birth costs", "rates", len(lives)))
    rates = np.array([point.arm.throughput_per_s for point in points])
    line = fit_line(1 / np.array(lives), 1 / rates, rates, confidence=CONFIDENCE)
    fitted = [line.intercept + line.slope / life for life in lives]
    if off := _farthest(lives, (1 / rates).tolist(), fitted):
        return PoolCurve(
            reason=f"by these levels a request's time is no line over births for each: {off}"
        )
    if unproven := _unproven(line, len(lives)):
        return PoolCurve(reason=unproven)
    return PoolCurve(
        births=Respawn(
            serve_s=line.intercept,
            spawn_s=line.slope,
            spawn_low_s=line.slope_low,
            spawn_high_s=line.slope_high,
        ),
        n_levels=len(lives),
    )


def _unproven(line: LineFit, n_levels: int) -> str:
    """Return in words why a line tells no cost; empty where it does."""
    if line.intercept <= 0:
        return "what a birth costs cannot be told: a request itself would take no time"
    if line.slope_low > 0:
        return ""
    if line.slope_high <= 0:
        return "a birth costs nothing that shows: shorter lives are not slower"
    most = format_duration(line.slope_high, toward="up")
    return (
        f"no cost of a birth is proven: it is at most {most} of the server's time "
        f"({_SURE}, {n_levels} levels)"
    )


def _farthest(levels: Sequence[float], seen: Sequence[float], fitted: Sequence[float]) -> str:
    """Return in words which level is too far off the line; empty where none is."""
    off = [abs(a - b) / b if b > 0 else math.inf for a, b in zip(seen, fitted, strict=True)]
    worst = max(range(len(off)), key=off.__getitem__)
    if off[worst] <= _FARTHEST_RATIO:
        return ""
    level = "0" if math.isinf(levels[worst]) else f"{levels[worst]:g}"
    far = "far" if math.isinf(off[worst]) else format_percent(off[worst])
    return f"at {level} it is {far} off"


def _too_few(what: str, figures: str, n: int) -> str:
    return f"{what} cannot be told: there are {figures} of {n} levels, and a line takes {_FEWEST}"
