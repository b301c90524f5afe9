"""What measured series of a pool say: growth of its workers, its size by their number. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import structs

from httpdyno.advice.curve import (
    PAGE_BYTES,
    ConfiguredLife,
    Growth,
    GrowthVerdict,
    LifeRow,
    PrivateCurve,
    life_row,
    shortest_life,
)
from httpdyno.errors import UsageError
from httpdyno.model import Knob, PoolCurve, PoolLine, Respawn, SweepPoint, Workload
from httpdyno.reason import Reason, because
from httpdyno.stats.dependence import Floats
from httpdyno.stats.fit import (
    LEAST_SERIES,
    LateSlope,
    LineFit,
    fit_line,
    fit_saturation,
    late_slope,
    over_series,
)

# A pool's size by the number of its workers, and what the length of their lives costs. Pure.

CONFIDENCE = 0.95
LIVES = (25, 100, 400, 1600, 6400)
"""Of a table of lengths of life: each four times the one before."""


def pool_line(n_workers: Sequence[float], pss_bytes: Sequence[float]) -> PoolLine:
    """Return what a pool takes once and for each worker.

    Args:
        n_workers: Of pools at the same age; (n_pools,).
        pss_bytes: Of each pool, the parent included, above 0; the error of each is a share of it;
            (n_pools,).

    Raises:
        UsageError: All have the same number, or more workers take no more.
    """
    if len(set(n_workers)) < 2:  # noqa: PLR2004 - a line takes two points
        raise UsageError("a line takes pools of two sizes or more")
    n, pss = np.array(n_workers, dtype=float), np.array(pss_bytes, dtype=float)
    line = fit_line(n, pss, 1 / pss, confidence=CONFIDENCE)
    if line.slope <= 0:
        raise UsageError(
            "more workers take no more memory",
            hint="Measure further apart, at the same age of the workers.",
        )
    return PoolLine(
        once_bytes=line.intercept,
        once_low_bytes=_finite(line.intercept_low),
        once_high_bytes=_finite(line.intercept_high),
        each_bytes=line.slope,
        each_low_bytes=_finite(line.slope_low),
        each_high_bytes=_finite(line.slope_high),
    )


def respawn_line(n_requests: Sequence[float], per_s: Sequence[float]) -> LineFit:
    """Return `1/rps = serve + spawn/n` as a line over 1/n.

    Args:
        n_requests: Lengths of life, at least two different ones; (n,).
        per_s: Rates; the error of each is a share of it, so 1/rps is weighed by rps; (n,).

    Raises:
        UsageError: It shows no cost of respawning.
    """
    n, rates = np.array(n_requests, dtype=float), np.array(per_s, dtype=float)
    line = fit_line(1 / n, 1 / rates, rates, confidence=CONFIDENCE)
    if line.slope <= 0 or line.intercept <= 0:
        raise UsageError(
            "`--seen` shows no cost of replacing children: "
            + ("no time is left for a request" if line.slope > 0 else "the rate does not rise"),
            hint="Measure further apart: a limit of a few requests, and one of thousands.",
        )
    return line


def life_table(  # noqa: PLR0913 - what both settings rest on
    *,
    room_bytes: float,
    once_bytes: float,
    curve: PrivateCurve,
    cost: Respawn | None = None,
    beyond_bytes: float = 0.0,
    lives: Sequence[int] = LIVES,
    configured: Sequence[ConfiguredLife] = (),
) -> tuple[LifeRow, ...]:
    """Return for some lengths of life how many workers fit, and what respawning leaves of the rate.

    Both settings are one question: a longer life is a larger worker, so fewer fit; a shorter one
    costs more beginnings. All workers are taken for as large as at the end of their lives, which is
    the safe side. The last row has no limit. Where the cost of respawning is known, the shortest
    life that costs no more than it may has a row, too.

    Args:
        room_bytes: For the pool, a reserve taken off already.
        once_bytes: The parent and what is shared.
        curve: Of a worker, the mean.
        cost: Of respawning; None where it was not measured.
        beyond_bytes: By how much the largest worker is above the mean.
        lives: Requests.
        configured: What the server's settings say, which has rows of its own; of connections each
            is taken for one request.
    """
    left = room_bytes - once_bytes
    settings: dict[int | None, tuple[str, ...]] = {}
    for life in configured:
        settings[life.n] = (*settings.get(life.n, ()), life.setting)
    own = {n for n in settings if n is not None}
    # Between the lives of the table the one that costs just what it may would be missed.
    shown = sorted({*lives, *own, *({shortest_life(cost)} if cost else ())})
    rows = [life_row(each, curve.at(each) + beyond_bytes, left, cost) for each in shown]
    level = None if curve.leak_bytes > 0 else curve.level_bytes + beyond_bytes
    rows.append(life_row(None, level, left, cost))
    return tuple(structs.replace(row, configured=settings.get(row.n_requests, ())) for row in rows)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# Whether workers leak, unshare or are done growing, from their sizes as they serve. Pure.
#
# A page that a worker writes to for the first time since the fork turns from shared to private: its
# private bytes grow and its resident size does not. What a leak takes is new to both. So a leak is
# looked for in the smaller of both growths, and slow unsharing, which is as straight as a leak
# until it bends, is not taken for one. A cache that fills evenly is, until it is full.

LEAST_LEAK_BYTES = 256.0
"""A request: in a worker's 10,000 requests 2.5 MB. What is proven to be less is called flat, and
only what is proven to be more a leak."""
_LEAST_RISE_BYTES = 16 * PAGE_BYTES
"""Less has no shape."""
_LEAST_POINTS = 5
_MOST_FITTED = 8
"""Lives whose curves are fitted: each takes some ten milliseconds."""
_BENT = 0.5
"""A curve has bent when its scale is within this part of what was seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Life:
    """Sizes of one worker as it served; requests from when it was first seen, ascending."""

    n_requests: Sequence[float]
    private_bytes: Sequence[float]
    resident_bytes: Sequence[float]


def growth(lives: Sequence[Life]) -> Growth:
    """Return what the lives of a pool's workers have in common."""
    seen = [each for each in lives if len(each.n_requests) >= _LEAST_POINTS]
    late = late_slope(
        [_new_bytes(each) for each in seen], resolution=PAGE_BYTES, confidence=CONFIDENCE
    )
    ages = [each.n_requests[-1] - each.n_requests[0] for each in seen]
    mean_age = float(np.mean(ages)) if ages else 0.0
    if late is None:
        return Growth(
            verdict="cannot_tell",
            reason=_too_few(len(seen)),
            n_workers=len(seen),
            n_requests=mean_age,
            more_requests=_round(mean_age) if len(seen) >= LEAST_SERIES else None,
            curve=_curve(seen, 0.0),
        )
    verdict, reason, more = _said(late)
    return Growth(
        verdict=verdict,
        reason=reason,
        n_workers=late.n_series,
        n_requests=2 * late.n_late,
        late_bytes=late.value,
        late_low_bytes=late.low if math.isfinite(late.low) else None,
        late_high_bytes=late.high if math.isfinite(late.high) else None,
        step_bytes=late.step,
        more_requests=more,
        curve=_curve(seen, late.value if verdict == "leak" else 0.0),
    )


def _said(late: LateSlope) -> tuple[GrowthVerdict, Reason, int | None]:
    ends = because("advice.slope", low=late.low, high=late.high, n=late.n_series)
    if late.is_lasting and late.low >= LEAST_LEAK_BYTES:
        return "leak", because("advice.leak", each=late.value, ends=ends), None
    if 0 < late.low <= late.high <= LEAST_LEAK_BYTES:
        return "flat", because("advice.grows_little", each=late.value, most=late.high), None
    if late.is_lasting:
        why = because("advice.still_grows", each=late.value, ends=ends, least=LEAST_LEAK_BYTES)
        return "growing", why, _round(2 * late.n_late)
    if late.low > 0:
        why = because(
            "advice.growth_slows" if late.kept <= 0 else "advice.growth_jumps",
            each=late.value,
            ends=ends,
        )
        return "growing", why, _round(2 * late.n_late)
    if late.high <= LEAST_LEAK_BYTES:
        return "flat", because("advice.no_growth", most=late.high), None
    # Both what steps add and what chance does fall as the stretch grows.
    reach = late.high - late.value
    factor = max(2.0, 2 * reach / LEAST_LEAK_BYTES)
    why = because("advice.growth_unclear", ends=ends)
    return "cannot_tell", why, _round(2 * late.n_late * (factor - 1))


def _too_few(n: int) -> Reason:
    if n >= LEAST_SERIES:
        return because("advice.few_late_figures")
    return because("advice.few_workers" if n else "advice.no_workers", n=n)


def _new_bytes(life: Life) -> tuple[Floats, Floats]:
    """Return the smaller of both growths since the first figure, at each."""
    n, own, resident = _arrays(life)
    # Point by point the smaller one jumps between both where one lags; the one that has grown
    # less at the end is the smaller one throughout.
    half = len(n) // 2
    grown = own[-1] - own[half] < resident[-1] - resident[half]
    series = own if grown else resident
    return n, series - series[0]


def _arrays(life: Life) -> tuple[Floats, Floats, Floats]:
    n, own, resident = (
        np.array(each, dtype=float)
        for each in (life.n_requests, life.private_bytes, life.resident_bytes)
    )
    return n, own, resident


def _curve(lives: Sequence[Life], leak_bytes: float) -> PrivateCurve | None:
    """Return the curve of the lives' means; None where they have not bent or have no shape."""
    longest = sorted(lives, key=lambda each: each.n_requests[-1], reverse=True)[:_MOST_FITTED]
    starts, rises, scales = [], [], []
    for life in longest:
        n, own, _ = _arrays(life)
        age = n - n[0]
        if len(set(age[age > 0])) < _LEAST_POINTS - 1:
            continue
        level = own - leak_bytes * age
        if level.max() - level[0] < _LEAST_RISE_BYTES:
            starts.append(float(level.max()))
            rises.append(0.0)
            continue
        fit = fit_saturation(age, level, has_slope=False, confidence=CONFIDENCE)
        if fit.n_scale <= _BENT * age.max() and fit.rise > 0:
            starts.append(fit.start)
            rises.append(fit.rise)
            scales.append(fit.n_scale)
        elif leak_bytes > 0:  # what the leak leaves has no shape; its most is the safe side
            starts.append(float(level.max()))
            rises.append(0.0)
        else:
            return None
    if not starts:
        return None
    rise, low, high = over_series(rises, CONFIDENCE)
    return PrivateCurve(
        start_bytes=float(np.mean(starts)),
        rise_bytes=rise,
        rise_low_bytes=max(0.0, low) if math.isfinite(low) else None,
        rise_high_bytes=high if math.isfinite(high) else None,
        # The geometric mean: a scale's error is a share of it.
        n_scale=float(np.exp(np.mean(np.log(scales)))) if scales else 1.0,
        leak_bytes=leak_bytes,
    )


def _round(n: float) -> int:
    """Return a count in two digits, upwards: it is a guess."""
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, n))) - 1)
    return max(1, math.ceil(n / unit)) * unit


# What a sweep over a pool's size, or over its workers' lives, says of the pool. Pure.
#
# The figures of a level are means over its starts, and a line is laid through the levels, so what
# bends is in the interval as well as what scatters. A line that a level is far off is not told: who
# reads it wants to know what lies between.
#
# All levels are up at the same time, so pages of files that all of them map, such as the program's
# own, are in each by its share only, and hardly in what a pool takes once. Those the kernel may
# take away anyway, and read again.

_FEWEST = 3
"""Through two a line always goes."""
_FARTHEST_RATIO = 0.05
"""That a level may be off the line, of what the line has there."""
_FLUX, _FLUX_RATIO = 0.5, 0.02
"""By so many processes, and by so many of those that are to be there, the mean number over windows
may be off: some are just being replaced."""


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
        return PoolCurve(reason=because("advice.births_open_loop"))
    if knob.pool == "connections" and load.keep_alive:
        return PoolCurve(reason=because("advice.births_keep_alive"))
    return _births(ran)


def _memory(points: Sequence[SweepPoint]) -> PoolCurve:
    sized = [
        (float(p.level), p.arm.n_processes, p.arm.pss_bytes) for p in points if p.arm.pss_bytes
    ]
    if len(sized) < _FEWEST:
        return PoolCurve(reason=because("advice.few_sizes", n=len(sized), least=_FEWEST))
    followed = _followed(sized)
    if len(followed) < _FEWEST:
        (low, n_low, _), (high, n_high, _) = sized[0], sized[-1]
        return PoolCurve(
            reason=because(
                "advice.processes_elsewhere", n_low=n_low, low=low, n_high=n_high, high=high
            )
        )
    workers = [level for level, _, _ in followed]
    sizes = [size for _, _, size in followed]
    try:
        line = pool_line(workers, sizes)
    except UsageError as error:
        return PoolCurve(reason=because("advice.worker_untold", why=f"{error}"))
    fitted = [line.once_bytes + line.each_bytes * level for level in workers]
    if off := _farthest(workers, sizes, fitted):
        return PoolCurve(reason=because("advice.memory_bent", off=off))
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
        return PoolCurve(reason=because("advice.few_rates", n=len(lives), least=_FEWEST))
    rates = np.array([point.arm.throughput_per_s for point in points])
    line = fit_line(1 / np.array(lives), 1 / rates, rates, confidence=CONFIDENCE)
    fitted = [line.intercept + line.slope / life for life in lives]
    if off := _farthest(lives, (1 / rates).tolist(), fitted):
        return PoolCurve(reason=because("advice.births_bent", off=off))
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


def _unproven(line: LineFit, n_levels: int) -> Reason | None:
    """Return why a line tells no cost; None where it does."""
    if line.intercept <= 0:
        return because("advice.births_no_request")
    if line.slope_low > 0:
        return None
    if line.slope_high <= 0:
        return because("advice.births_free")
    return because("advice.births_unproven", most=line.slope_high, n=n_levels)


def _farthest(
    levels: Sequence[float], seen: Sequence[float], fitted: Sequence[float]
) -> Reason | None:
    """Return which level is too far off the line; None where none is."""
    off = [abs(a - b) / b if b > 0 else math.inf for a, b in zip(seen, fitted, strict=True)]
    worst = max(range(len(off)), key=off.__getitem__)
    if off[worst] <= _FARTHEST_RATIO:
        return None
    return because(
        "advice.far_off" if math.isinf(off[worst]) else "advice.off",
        level=0.0 if math.isinf(levels[worst]) else levels[worst],
        ratio=off[worst],
    )
