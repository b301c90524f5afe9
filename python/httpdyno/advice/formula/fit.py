"""What no expression gives: fits to measured pairs with their intervals, and a search for a life.

Each is of the formula of its name in `FITS` and `SEARCHES`.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from httpdyno.advice.curve import (
    MOST_LOST_RATIO,
    Ageing,
    BestLife,
    LifeRow,
    PrivateCurve,
    best_life,
    joint_life,
    life_row,
)
from httpdyno.advice.curve_fit import CONFIDENCE, LIVES, life_table, pool_line, respawn_line
from httpdyno.advice.formula.expression import write
from httpdyno.errors import UsageError
from httpdyno.model import Record, Respawn
from httpdyno.stats.dependence import Floats
from httpdyno.stats.fit import LineFit, Saturation, fit_line, fit_saturation
from httpdyno.units import format_percent

_SURE = "95 % confidence"

_LEAST_PAIRS = 4
"""Of sizes: a curve that levels off has three figures."""
_UNTOLD = "whether it leaks besides cannot be told"

Pairs = Sequence[tuple[float, float]]
"""In base units, in the order given."""


class Fitted(Record, frozen=True):
    """What a fit to measured pairs, or a search, gives to the steps after it."""

    values: dict[str, float]
    """In base units."""
    working: tuple[str, ...]
    caveats: tuple[str, ...] = ()
    answer: str = ""
    """Instead of the formula's own."""
    figures: dict[str, float | None] = {}  # noqa: RUF012 - msgspec copies it
    """More figures for the JSON, such as ends of intervals; null where the data bound nothing."""


def _respawn(pairs: Pairs) -> Fitted:
    n, per_s = _columns(pairs, "seen")
    if len(set(n)) < 2 or n.min() < 1:  # noqa: PLR2004 - a line takes two points
        raise UsageError(
            "`--seen` needs rates at two limits or more, each 1 or more",
            hint="Such as `--seen 5=2.83,5000=28`.",
        )
    line = respawn_line(n.tolist(), per_s.tolist())
    serve = _between(line.intercept, line.intercept_low, line.intercept_high, "duration")
    spawn = _between(line.slope, line.slope_low, line.slope_high, "duration")
    return Fitted(
        values={"serve": line.intercept, "spawn": line.slope},
        working=(
            f"1/rps = serve + spawn/n, least squares of relative errors over {len(n)} pairs",
            f"serve = {serve}",
            f"spawn = {spawn}",
            *(
                f"n = {limit:,.0f}: measured {write(rate, 'rate')}, the fit gives "
                f"{write(1 / (line.intercept + line.slope / limit), 'rate')}"
                for limit, rate in zip(n, per_s, strict=True)
            ),
        ),
        caveats=() if len(n) > 2 else ("two pairs give a line and no interval",),  # noqa: PLR2004
        figures=_line_ends(line),
    )


def _line_ends(line: LineFit) -> dict[str, float | None]:
    ends = {
        "serve_low": line.intercept_low,
        "serve_high": line.intercept_high,
        "spawn_low": line.slope_low,
        "spawn_high": line.slope_high,
    }
    return {name: _finite(end) for name, end in ends.items()}


def _between(value: float, low: float | None, high: float | None, kind: str) -> str:
    text = write(value, kind)
    if low is None or high is None or not math.isfinite(high):
        return text
    ends = f"{write(max(0.0, low), kind)} … {write(max(0.0, high), kind)}"
    return f"{text} ({ends}; {_SURE})"


def _unsharing(pairs: Pairs) -> Fitted:
    n, size = _columns(pairs, "seen")
    if len(set(n)) < _LEAST_PAIRS:
        raise UsageError(
            f"`--seen` needs sizes at {_LEAST_PAIRS} counts of requests or more",
            hint="Such as `--seen 0=350kB,25=8.6MB,150=19.3MB,525=20.4MB`.",
        )
    if size.min() == size.max():
        return _still(n, size)
    level = fit_saturation(n, size, has_slope=False, confidence=CONFIDENCE)
    slope = fit_saturation(n, size, has_slope=True, confidence=CONFIDENCE)
    figures: dict[str, float | None] = {
        "leak_low": _finite(slope.low),
        "leak_high": _finite(slope.high),
        "level_low": None,
        "level_high": None,
    }
    if slope.low > 0 and math.isfinite(slope.high):
        return _leaking(slope, n, size, figures)
    if level.n_scale > n.max() / 2:
        return _unbent(n, size, figures)
    figures |= {"level_low": _finite(level.low), "level_high": _finite(level.high)}
    ends = ""
    if math.isfinite(level.high):
        ends = f" ({_size(level.low)} … {_size(level.high)}; {_SURE})"
    if math.isfinite(slope.high):
        leak = f"no leak is proven: {_size(slope.low)} … {_size(slope.high)} a request, {_SURE}"
    elif len(set(n)) == _LEAST_PAIRS:
        leak = f"{_UNTOLD}: that takes five counts or more"
    else:
        leak = f"{_UNTOLD}: that takes counts further beyond the bend"
    return Fitted(
        values=_values(level.start, level.level, level.n_scale),
        working=_fit_lines("a + b (1 − e^(−n/c))", level, n, size),
        answer=f"unsharing ends at {{level}}{ends}, 95 % of it after {{done}} requests; {leak}",
        figures=figures,
    )


def _leaking(
    curve: Saturation, n: Floats, size: Floats, figures: dict[str, float | None]
) -> Fitted:
    ends = f"{_size(curve.low)} … {_size(curve.high)}; {_SURE}"
    return Fitted(
        values=_values(curve.start, curve.level, curve.n_scale, curve.slope),
        working=_fit_lines("a + b (1 − e^(−n/c)) + d n", curve, n, size),
        answer=f"it leaks {{leak}} a request ({ends}), beside {{level}} that are unshared, "
        "95 % of them after {done} requests: {at_limit} after {limit}",
        figures=figures,
    )


def _still(n: Floats, size: Floats) -> Fitted:
    """Return that it stays the same: of a curve that does not rise no figure means anything."""
    ends = ("leak_low", "leak_high", "level_low", "level_high")
    return Fitted(
        values=_values(float(size.max()), float(size.max()), 0.0),
        working=(f"{len(n)} pairs, and all are {_size(float(size.max()))}",),
        answer=f"it has not grown by {n.max():,.0f} requests: {{level}}",
        figures=dict.fromkeys(ends),
    )


def _unbent(n: Floats, size: Floats, figures: dict[str, float | None]) -> Fitted:
    """Return a straight line: what may be slow unsharing or a leak, and is taken for the worse.

    Unless chance alone may have made it rise.
    """
    line = fit_line(n, size, np.ones_like(n), confidence=CONFIDENCE)
    if line.slope_low <= 0:
        ends = f"{_size(line.slope_low)} … {_size(line.slope_high)}"
        return Fitted(
            values=_values(float(size.max()), float(size.max()), float(n.max())),
            working=(
                f"a straight line over {len(n)} pairs: d = {_size(line.slope)} a request ({ends}; "
                f"{_SURE})",
            ),
            answer=f"no growth is proven by {n.max():,.0f} requests: {ends} a request, {_SURE}; "
            "{level} at most so far",
            figures=figures,
        )
    return Fitted(
        values=_values(line.intercept, line.intercept, float(n.max()), max(0.0, line.slope)),
        working=(
            f"a straight line over {len(n)} pairs: a = {_size(line.intercept)}, "
            f"d = {_size(line.slope)} a request",
        ),
        answer=f"it grows by {{leak}} a request and has not levelled off by {n.max():,.0f}: slow "
        "unsharing or a leak, which cannot be told apart yet; measure further",
        figures=figures,
    )


def _values(start: float, level: float, n_scale: float, leak: float = 0.0) -> dict[str, float]:
    return {"start": start, "level": level, "n_scale": n_scale, "leak": leak}


def _fit_lines(form: str, curve: Saturation, n: Floats, size: Floats) -> tuple[str, ...]:
    leak = f", d = {_size(curve.slope)} a request" if curve.slope else ""
    return (
        f"{form}, least squares over {len(n)} pairs",
        f"a = {_size(curve.start)}, b = {_size(curve.rise)}, "
        f"c = {write(curve.n_scale, 'number')} requests{leak}",
        *(
            f"n = {count:,.0f}: measured {_size(seen)}, the fit gives {_size(curve.at(count))}"
            for count, seen in zip(n, size, strict=True)
        ),
    )


def _columns(pairs: Pairs, name: str) -> tuple[Floats, Floats]:
    n = np.array([pair[0] for pair in pairs], dtype=float)
    figures = np.array([pair[1] for pair in pairs], dtype=float)
    if not figures.all():
        raise UsageError(f"`--{name}` has a figure of 0", hint="Leave out what did not answer.")
    return n, figures


def _size(value: float) -> str:
    return write(value, "size")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _line(pairs: Pairs) -> Fitted:
    counts, sizes = [n for n, _ in pairs], [size for _, size in pairs]
    if len(set(counts)) < 2:  # noqa: PLR2004 - a line takes two points
        raise UsageError(
            "`--seen` needs sizes at two numbers of workers or more",
            hint="Such as `--seen 4=52MB,16=98MB`.",
        )
    if not all(sizes):
        raise UsageError("`--seen` has a figure of 0", hint="Leave out what did not run.")
    line = pool_line(counts, sizes)
    once = _between(line.once_bytes, line.once_low_bytes, line.once_high_bytes, "size")
    each = _between(line.each_bytes, line.each_low_bytes, line.each_high_bytes, "size")
    caveats: tuple[str, ...] = ()
    if len(pairs) == 2:  # noqa: PLR2004
        caveats += ("two pairs give a line and no interval",)
    if line.once_bytes < 0:
        caveats += ("less than nothing is there once: the workers of some were older than others",)
    return Fitted(
        values={"once": line.once_bytes, "each": line.each_bytes},
        working=(
            f"once + each × workers, least squares of relative errors over {len(pairs)} pairs",
            f"once = {once}",
            f"each = {each}",
            *(
                f"{n:,.0f} workers: measured {_size(size)}, the line gives "
                f"{_size(line.once_bytes + line.each_bytes * n)}"
                for n, size in pairs
            ),
        ),
        caveats=caveats,
        figures={
            "once_low": line.once_low_bytes,
            "once_high": line.once_high_bytes,
            "each_low": line.each_low_bytes,
            "each_high": line.each_high_bytes,
        },
    )


def _search(known: Mapping[str, float]) -> Fitted:
    pool = Ageing(
        left_bytes=known["ram"] * (1 - known["free"]) - known["parent"],
        curve=PrivateCurve(
            start_bytes=known["start"],
            rise_bytes=known["level"] - known["start"],
            n_scale=known["n_scale"],
            leak_bytes=known["leak"],
        ),
        cost=Respawn(serve_s=known["serve"], spawn_s=known["spawn"]),
        held_s=known["held"],
        cores=known["cores"],
    )
    limit = int(known["limit"])
    found = best_life(pool, loss_ratio=known["loss"], limit=limit)
    if found is None:
        raise UsageError(
            f"`--ram` makes no sense: a child of {_each(pool.row(1))} after one request does not "
            f"fit into the {write(pool.left_bytes, 'size')} that are left beside the parent",
            hint="Give it more memory, or less to keep free.",
        )
    joint = joint_life(
        life_table(room_bytes=pool.left_bytes, once_bytes=0.0, curve=pool.curve, cost=pool.cost)
    )
    return Fitted(
        values={
            "n": _requests(found.best),
            "first": _requests(found.first),
            "first_workers": found.first.n_workers or 0,
            "last": _requests(found.last),
            "last_workers": found.last.n_workers or 0,
        },
        working=(
            "the longer a life, the higher the rate that births leave, and the fewer workers fit; "
            "the lower of both bounds is highest where they cross",
            *(_at(pool, n, found) for n in _shown(found, limit)),
            _without_a_time(joint),
        ),
        caveats=_beyond(pool, found, limit),
        figures={
            "inspect_n": None if joint is None else joint.n_requests,
            "inspect_workers": None if joint is None else joint.n_workers,
        },
    )


def _shown(found: BestLife, limit: int) -> list[int]:
    lives = {each for each in LIVES if each <= limit}
    return sorted(lives | {_requests(each) for each in (found.first, found.best, found.last)})


def _at(pool: Ageing, n: int, found: BestLife) -> str:
    row = pool.row(n)
    births, workers = pool.by_births_per_s(n), pool.by_workers_per_s(n)
    line = (
        f"n = {n:,}: {row.n_workers or 0:,} children fit, {_each(row)} each at the end; births "
        f"leave {write(births, 'rate')}, so many workers allow {write(workers, 'rate')}"
    )
    return f"{line}: the best" if row == found.best else line


def _without_a_time(joint: LifeRow | None) -> str:
    words = (
        "without the time that a request holds its worker, as in `httpdyno inspect`: of lives "
        f"whose births take {format_percent(MOST_LOST_RATIO)} of the rate at most "
    )
    if joint is None:
        return f"{words}there is none with which a worker fits"
    n = "for good" if joint.n_requests is None else f"{joint.n_requests:,} requests"
    return f"{words}those with the most workers, {joint.n_workers or 0:,} that live {n}"


def _beyond(pool: Ageing, found: BestLife, limit: int) -> tuple[str, ...]:
    """Say what lies beyond the longest life that was looked at, where that is as good as any."""
    if _requests(found.last) < limit:
        return ()
    for_good = life_row(None, pool.curve.level_bytes, pool.left_bytes, pool.cost)
    # Sharing may still fall beyond the longest life.
    if not pool.curve.leak_bytes and for_good.n_workers == found.last.n_workers:
        return (
            "lives without an end (MaxConnectionsPerChild 0) are as good, as long as nothing leaks",
        )
    return ("the longest life that was looked at is as good: see further with `--limit`",)


def _requests(row: LifeRow) -> int:
    return row.n_requests or 0


def _each(row: LifeRow) -> str:
    return _size(row.each_bytes or 0.0)


FITS: Mapping[str, Callable[[Pairs], Fitted]] = {
    "pool-line": _line,
    "respawn": _respawn,
    "unsharing": _unsharing,
}
SEARCHES: Mapping[str, Callable[[Mapping[str, float]], Fitted]] = {"life": _search}
"""From inputs that make sense together, by name, in base units, for what no expression gives, such
as where a curve is highest. They raise `UsageError` where none is found."""
