"""What curves say, as records."""

import math
from typing import Literal

from httpdyno.model import Record

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
    reason: str
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
