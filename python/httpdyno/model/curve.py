"""What a pool takes by the number of its workers, and what the length of their lives costs."""

from httpdyno.model.base import Record
from httpdyno.reason import Reason


class PoolLine(Record, frozen=True):
    """A pool's proportional set size by its number of workers: `once + each × workers`."""

    once_bytes: float
    each_bytes: float
    once_low_bytes: float | None = None
    """At 95 %; None where two numbers of workers give a line and no interval."""
    once_high_bytes: float | None = None
    each_low_bytes: float | None = None
    each_high_bytes: float | None = None


class Respawn(Record, frozen=True):
    """What a request and a worker's end and new beginning take of the server's time."""

    serve_s: float
    spawn_s: float
    spawn_low_s: float | None = None
    """At 95 %; None where there is no interval."""
    spawn_high_s: float | None = None

    def rate_per_s(self, n_requests: float) -> float:
        """Return the rate with workers that live for so many requests; `inf` is for good."""
        return 1 / (self.serve_s + self.spawn_s / n_requests)

    def kept_ratio(self, n_requests: float) -> float:
        """Return what of the rate without respawning is left."""
        return self.rate_per_s(n_requests) * self.serve_s


class PoolCurve(Record, frozen=True):
    """What a sweep over a pool's size, or over its workers' lives, says of the pool."""

    memory: PoolLine | None = None
    """Of a sweep over the number of workers."""
    births: Respawn | None = None
    """Of a sweep over their lives."""
    n_levels: int = 0
    """That it rests on."""
    reason: Reason | None = None
    """Why nothing follows; None where one of both does."""
