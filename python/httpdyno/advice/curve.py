"""What is known of a pool's workers: how they grow, how long they live, how many fit. Pure.

Without arrays: what finds it in measured series is `curve_fit.py`.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Literal

from httpdyno.model import Record, Respawn, Survey
from httpdyno.reason import Reason

PAGE_BYTES = 4096
"""What sizes of processes are known to."""

GrowthVerdict = Literal["leak", "flat", "growing", "cannot_tell"]
"""`growing`: it does so late, but slows or jumps, as what ends does too, or maybe by too little."""


class PrivateCurve(Record, frozen=True):
    """Private bytes of a worker by requests served: `start + rise (1 − e^(−n/scale)) + leak n`."""

    start_bytes: float
    rise_bytes: float
    """What is unshared or made for good in the end, beside a leak."""
    n_scale: float
    """Requests after which 63 % of the rise is there."""
    rise_low_bytes: float | None = None
    """Over workers, at 95 %; None where one is too few."""
    rise_high_bytes: float | None = None
    leak_bytes: float = 0.0
    """A request; 0 where none is proven."""

    def at(self, n_requests: float) -> float:
        """Return the private bytes after so many requests."""
        return (
            self.start_bytes
            - self.rise_bytes * math.expm1(-n_requests / self.n_scale)
            + self.leak_bytes * n_requests
        )

    @property
    def level_bytes(self) -> float:
        """Return the private bytes when all of the rise is there, without a leak."""
        return self.start_bytes + self.rise_bytes

    @property
    def n_risen(self) -> int:
        """Requests after which 95 % of the rise is there."""
        return math.ceil(3 * self.n_scale)


class Growth(Record, frozen=True):
    """What is known of a pool's workers as they age."""

    verdict: GrowthVerdict
    reason: Reason
    """One sentence with its numbers."""
    n_workers: int
    """Lives that were long enough to count."""
    n_requests: float
    """That each of them served while it was looked at, the mean."""
    late_bytes: float | None = None
    """Growth a request in the late half of that; None where no interval can be had."""
    late_low_bytes: float | None = None
    late_high_bytes: float | None = None
    step_bytes: float | None = None
    """The jumps that it comes in, which are in the interval."""
    more_requests: int | None = None
    """Of each worker, after which it can be told; None where it is told."""
    curve: PrivateCurve | None = None
    """None where it has not bent yet, or where there are too few figures."""


class HighWater(Record, frozen=True):
    """What asking for one URL did to the private bytes of a pool."""

    url: str
    n_requests: int
    before_bytes: int
    after_bytes: int

    @property
    def step_bytes(self) -> int:
        """By how much it grew for good."""
        return self.after_bytes - self.before_bytes


class LifeRow(Record, frozen=True):
    """A length of a worker's life, and what it comes to."""

    n_requests: int | None
    """MaxConnectionsPerChild; None: for good."""
    each_bytes: float | None
    """Of a worker at the end of it; None: it has no end."""
    n_workers: int | None
    """That fit; None where any number does, or nothing bounds the worker."""
    kept_ratio: float | None = None
    """Of the rate without respawning; None where it was not measured."""
    configured: tuple[str, ...] = ()
    """Settings of the server by which its workers live so long."""


# How long a server's workers are configured to live. Pure.
#
# Apache counts connections: of one that is kept alive it counts the first request only. gunicorn
# adds a number drawn at random for each worker, up to its jitter, so none lives longer than both.
#
# Source: Apache 2.4's mpm_common (MaxConnectionsPerChild); PHP's manual, `pm.max_requests`;
# gunicorn's settings `max_requests` and `max_requests_jitter`; uvicorn's `--limit-max-requests`.

_JITTER = "max_requests_jitter"
_UNITS: dict[str, Literal["connections", "requests"]] = {
    "MaxConnectionsPerChild": "connections",
    "pm.max_requests": "requests",
    "max_requests": "requests",
    "limit_max_requests": "requests",
}
_NUMBER = re.compile(r"[0-9]{1,18}")


class ConfiguredLife(Record, frozen=True):
    """After how much a worker is replaced."""

    setting: str
    """`MaxConnectionsPerChild`; of one pool of several `pm.max_requests@shop`."""
    n: int | None
    """At the latest; None: never."""
    unit: Literal["connections", "requests"]


def configured_lives(survey: Survey | None) -> tuple[ConfiguredLife, ...]:
    """Return what a server's settings say of its workers' lives; empty where nothing is known."""
    if survey is None:
        return ()
    # What is said last is in force.
    said = {(each.name, each.scope): each.text for each in survey.readings}
    found = []
    for (name, scope), text in said.items():
        if name not in _UNITS or not _NUMBER.fullmatch(text):
            continue
        n, jitter = int(text), said.get((_JITTER, scope), "")
        if n and name == "max_requests" and _NUMBER.fullmatch(jitter):
            n += int(jitter)
        setting = f"{name}@{scope}" if scope else name
        found.append(ConfiguredLife(setting=setting, n=n or None, unit=_UNITS[name]))
    return tuple(found)


# How long workers live and how many there are, as one answer. Pure, and without arrays.
#
# A longer life is a larger worker, so fewer fit; a shorter one costs more births. Where nobody
# knows how long a request holds its worker, taken are the most workers that fit of lives whose
# births cost no more than a stated share of the rate. Where a longer life has nearly as many, it is
# taken: what it costs in memory is less than anybody could tell. Where that time is known, both
# costs are rates, and the life with the highest is taken.
#
# Source: Little, A proof for the queuing formula L = λW, Operations Research 9 (1961), for the rate
# that some workers allow.

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
