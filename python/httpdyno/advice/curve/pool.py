"""A pool's size by the number of its workers, and what the length of their lives costs. Pure."""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import structs

from httpdyno.advice.curve.finding import LifeRow, PrivateCurve
from httpdyno.advice.curve.joint import life_row, shortest_life
from httpdyno.advice.curve.life import ConfiguredLife
from httpdyno.errors import UsageError
from httpdyno.model import PoolLine, Respawn
from httpdyno.stats.least_squares import LineFit, fit_line

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
            "`--seen` shows no cost of respawning: "
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
