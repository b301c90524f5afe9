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

_SURE = f"{100 * CONFIDENCE:g} % confidence"
_LEAST_PAIRS = 4
"""Of sizes: a curve that levels off has three figures."""

Pairs = Sequence[tuple[float, float]]
"""In base units, in the order given."""


class Line(Record, frozen=True):
    """A line that a fit or a search adds: which of its formula's `says`, and what is put in."""

    case: str
    parts: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """As written, by the names in braces; figures of the formula need not be among them."""


def _line(case: str, **parts: str) -> Line:
    return Line(case=case, parts=parts)


class Fitted(Record, frozen=True):
    """What a fit to measured pairs, or a search, gives to the steps after it."""

    values: dict[str, float]
    """In base units."""
    working: tuple[Line, ...]
    warnings: tuple[Line, ...] = ()
    answer: Line | None = None
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
            _line("fit", n=f"{len(n)}"),
            _line("serve", interval=serve),
            _line("spawn", interval=spawn),
            *(
                _line(
                    "measured",
                    n=f"{limit:,.0f}",
                    seen=write(rate, "rate"),
                    fitted=write(1 / (line.intercept + line.slope / limit), "rate"),
                )
                for limit, rate in zip(n, per_s, strict=True)
            ),
        ),
        warnings=() if len(n) > 2 else (_line("two_pairs"),),  # noqa: PLR2004
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
    case = "level"
    if math.isfinite(slope.high):
        case = "level_no_leak"
    elif len(set(n)) == _LEAST_PAIRS:
        case = "level_few_counts"
    return Fitted(
        values=_values(level.start, level.level, level.n_scale),
        working=_fit_lines("curve", level, n, size),
        answer=_line(
            case,
            bounds=_bounds(level.low, level.high) if math.isfinite(level.high) else "",
            slope=_ends(slope.low, slope.high) if math.isfinite(slope.high) else "",
        ),
        figures=figures,
    )


def _bounds(low: float, high: float) -> str:
    return f" ({_ends(low, high)}; {_SURE})"


def _ends(low: float, high: float) -> str:
    return f"{_size(low)} … {_size(high)}"


def _leaking(
    curve: Saturation, n: Floats, size: Floats, figures: dict[str, float | None]
) -> Fitted:
    return Fitted(
        values=_values(curve.start, curve.level, curve.n_scale, curve.slope),
        working=_fit_lines("curve_and_leak", curve, n, size),
        answer=_line("leak", bounds=_bounds(curve.low, curve.high)),
        figures=figures,
    )


def _still(n: Floats, size: Floats) -> Fitted:
    """Return that it stays the same: of a curve that does not rise no figure means anything."""
    ends = ("leak_low", "leak_high", "level_low", "level_high")
    return Fitted(
        values=_values(float(size.max()), float(size.max()), 0.0),
        working=(_line("all_alike", n=f"{len(n)}", size=_size(float(size.max()))),),
        answer=_line("not_grown", n=f"{n.max():,.0f}"),
        figures=dict.fromkeys(ends),
    )


def _unbent(n: Floats, size: Floats, figures: dict[str, float | None]) -> Fitted:
    """Return a straight line: what may be slow unsharing or a leak, and is taken for the worse.

    Unless chance alone may have made it rise.
    """
    line = fit_line(n, size, np.ones_like(n), confidence=CONFIDENCE)
    if line.slope_low <= 0:
        ends = _ends(line.slope_low, line.slope_high)
        return Fitted(
            values=_values(float(size.max()), float(size.max()), float(n.max())),
            working=(_line("straight", n=f"{len(n)}", slope=_size(line.slope), ends=ends),),
            answer=_line("no_growth", n=f"{n.max():,.0f}", ends=ends),
            figures=figures,
        )
    return Fitted(
        values=_values(line.intercept, line.intercept, float(n.max()), max(0.0, line.slope)),
        working=(
            _line(
                "rising",
                n=f"{len(n)}",
                first=_size(line.intercept),
                slope=_size(line.slope),
            ),
        ),
        answer=_line("not_level", n=f"{n.max():,.0f}"),
        figures=figures,
    )


def _values(start: float, level: float, n_scale: float, leak: float = 0.0) -> dict[str, float]:
    return {"start": start, "level": level, "n_scale": n_scale, "leak": leak}


def _fit_lines(form: str, curve: Saturation, n: Floats, size: Floats) -> tuple[Line, ...]:
    return (
        _line(form, n=f"{len(n)}"),
        _line(
            "constants_and_leak" if curve.slope else "constants",
            a=_size(curve.start),
            b=_size(curve.rise),
            c=write(curve.n_scale, "number"),
            d=_size(curve.slope),
        ),
        *(
            _line("measured", n=f"{count:,.0f}", seen=_size(seen), fitted=_size(curve.at(count)))
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


def _pool_line(pairs: Pairs) -> Fitted:
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
    warnings: tuple[Line, ...] = ()
    if len(pairs) == 2:  # noqa: PLR2004
        warnings += (_line("two_pairs"),)
    if line.once_bytes < 0:
        warnings += (_line("of_several_ages"),)
    return Fitted(
        values={"once": line.once_bytes, "each": line.each_bytes},
        working=(
            _line("fit", n=f"{len(pairs)}"),
            _line("once", interval=once),
            _line("each", interval=each),
            *(
                _line(
                    "measured",
                    n=f"{n:,.0f}",
                    seen=_size(size),
                    fitted=_size(line.once_bytes + line.each_bytes * n),
                )
                for n, size in pairs
            ),
        ),
        warnings=warnings,
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
            _line("crossing"),
            *(_at(pool, n, found) for n in _shown(found, limit)),
            _without_a_time(joint),
        ),
        warnings=_beyond(pool, found, limit),
        figures={
            "inspect_n": None if joint is None else joint.n_requests,
            "inspect_workers": None if joint is None else joint.n_workers,
        },
    )


def _shown(found: BestLife, limit: int) -> list[int]:
    lives = {each for each in LIVES if each <= limit}
    return sorted(lives | {_requests(each) for each in (found.first, found.best, found.last)})


def _at(pool: Ageing, n: int, found: BestLife) -> Line:
    row = pool.row(n)
    return _line(
        "best_life" if row == found.best else "life",
        n=f"{n:,}",
        workers=f"{row.n_workers or 0:,}",
        each=_each(row),
        births=write(pool.by_births_per_s(n), "rate"),
        allowed=write(pool.by_workers_per_s(n), "rate"),
    )


def _without_a_time(joint: LifeRow | None) -> Line:
    lost = format_percent(MOST_LOST_RATIO)
    if joint is None:
        return _line("timeless_none", lost=lost)
    return _line(
        "timeless_for_good" if joint.n_requests is None else "timeless",
        lost=lost,
        workers=f"{joint.n_workers or 0:,}",
        n=f"{joint.n_requests or 0:,}",
    )


def _beyond(pool: Ageing, found: BestLife, limit: int) -> tuple[Line, ...]:
    """Return what lies beyond the longest life that was looked at, where that is as good as any."""
    if _requests(found.last) < limit:
        return ()
    for_good = life_row(None, pool.curve.level_bytes, pool.left_bytes, pool.cost)
    # Sharing may still fall beyond the longest life.
    is_alike = not pool.curve.leak_bytes and for_good.n_workers == found.last.n_workers
    return (_line("endless" if is_alike else "beyond_limit"),)


def _requests(row: LifeRow) -> int:
    return row.n_requests or 0


def _each(row: LifeRow) -> str:
    return _size(row.each_bytes or 0.0)


FITS: Mapping[str, Callable[[Pairs], Fitted]] = {
    "pool-line": _pool_line,
    "respawn": _respawn,
    "unsharing": _unsharing,
}
SEARCHES: Mapping[str, Callable[[Mapping[str, float]], Fitted]] = {"life": _search}
"""From inputs that make sense together, by name, in base units, for what no expression gives, such
as where a curve is highest. They raise `UsageError` where none is found."""
