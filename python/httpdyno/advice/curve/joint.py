"""How long workers live and how many there are, as one answer. Pure, and without arrays.

A longer life is a larger worker, so fewer fit; a shorter one costs more births. Where nobody knows
how long a request holds its worker, taken are the most workers that fit of lives whose births cost
no more than a stated share of the rate. Where a longer life has nearly as many, it is taken: what
it costs in memory is less than anybody could tell. Where that time is known, both costs are rates,
and the life with the highest is taken.

Source: Little, A proof for the queuing formula L = λW, Operations Research 9 (1961), for the rate
that some workers allow.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable

from httpdyno.advice.curve.finding import LifeRow, PrivateCurve
from httpdyno.model import Record, Respawn

MOST_LOST_RATIO = 0.05
"""Of the rate: what respawning may cost."""
ALIKE_RATIO = 0.02
"""So many workers fewer are as many."""


def shortest_life(cost: Respawn) -> int:
    """Return after how many requests respawning costs no more than it may, in two digits."""
    n = cost.spawn_s / cost.serve_s * (1 - MOST_LOST_RATIO) / MOST_LOST_RATIO
    unit: int = 10 ** max(0, math.floor(math.log10(max(1.0, n))) - 1)
    return max(1, math.ceil(n / unit) * unit)


def joint_life(rows: Iterable[LifeRow]) -> LifeRow | None:
    """Return the row that answers both questions.

    None where what respawning costs is not known, where nothing bounds how many workers fit, or
    where none does.
    """
    able = [
        (row.n_workers, row)
        for row in rows
        if row.n_workers and row.kept_ratio is not None and row.kept_ratio >= 1 - MOST_LOST_RATIO
    ]
    most = max((n for n, _ in able), default=0)
    alike = [row for n, row in able if n >= (1 - ALIKE_RATIO) * most]
    return max(alike, key=_length, default=None)


def life_row(
    n_requests: int | None, each_bytes: float | None, left_bytes: float, cost: Respawn | None
) -> LifeRow:
    """Return what a length of life comes to.

    Args:
        n_requests: None is for good.
        each_bytes: Of a worker at the end of it; None: it has no end.
        left_bytes: Of memory for all workers.
        cost: Of respawning; None where it was not measured.
    """
    workers = None
    if each_bytes is not None and each_bytes > 0:
        workers = max(0, math.floor(left_bytes / each_bytes))
    kept = None if cost is None else 1.0 if n_requests is None else cost.kept_ratio(n_requests)
    return LifeRow(n_requests=n_requests, each_bytes=each_bytes, n_workers=workers, kept_ratio=kept)


class Ageing(Record, frozen=True):
    """What the length of its workers' lives changes in a pool."""

    left_bytes: float
    """Of memory for all workers."""
    curve: PrivateCurve
    """Of a worker; it must not fall, and begin above 0."""
    cost: Respawn
    held_s: float
    """How long a request holds its worker."""
    cores: float = 1.0
    """That work at once, where the cost is CPU time; 1 where it is the whole server's."""

    def row(self, n_requests: int) -> LifeRow:
        """Return what a length of life comes to."""
        return life_row(n_requests, self.curve.at(n_requests), self.left_bytes, self.cost)

    def by_births_per_s(self, n_requests: int) -> float:
        """Return the rate that births leave: the longer a life, the more."""
        return self.cores * self.cost.rate_per_s(n_requests)

    def by_workers_per_s(self, n_requests: int) -> float:
        """Return the rate of as many workers as fit: the longer a life, the fewer."""
        return (self.row(n_requests).n_workers or 0) / self.held_s

    def rate_per_s(self, n_requests: int) -> float:
        """Return the rate with workers that live for so many requests."""
        return min(self.by_births_per_s(n_requests), self.by_workers_per_s(n_requests))


class BestLife(Record, frozen=True):
    """The length of life with the highest rate, and those that are as good."""

    best: LifeRow
    """The longest of equals: it has the fewest births."""
    rate_per_s: float
    first: LifeRow
    """The shortest whose rate is as high but for the stated share."""
    last: LifeRow
    """The longest; all between both are as good, too."""


def best_life(pool: Ageing, *, loss_ratio: float, limit: int) -> BestLife | None:
    """Return the life of 1 to `limit` requests with the highest rate; None where no worker fits.

    Args:
        pool: Whose workers they are.
        loss_ratio: Of the highest rate, below 1: what a life may lose and still be as good.
        limit: The longest life that is looked at.
    """
    # One bound rises with the length of a life and the other falls: the lower of both is highest
    # where they cross, on one side or the other, and as good on one stretch around it.
    crossing = _first(limit, lambda n: pool.by_births_per_s(n) >= pool.by_workers_per_s(n))
    highest = max(pool.rate_per_s(n) for n in (crossing - 1, crossing) if 1 <= n <= limit)
    if highest <= 0:
        return None
    least = (1 - loss_ratio) * highest

    def last(rate: float) -> int:
        return _first(limit, lambda n: pool.by_workers_per_s(n) < rate) - 1

    return BestLife(
        best=pool.row(last(highest)),
        rate_per_s=highest,
        first=pool.row(_first(limit, lambda n: pool.by_births_per_s(n) >= least)),
        last=pool.row(last(least)),
    )


def _first(limit: int, holds: Callable[[int], bool]) -> int:
    """Return the first of 1 to `limit` for which it holds, as it does after it; else one more."""
    return bisect_left(range(1, limit + 1), True, key=holds) + 1


def _length(row: LifeRow) -> float:
    return math.inf if row.n_requests is None else row.n_requests
