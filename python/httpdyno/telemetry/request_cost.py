"""What a request takes of a server that is watched: its CPU time over the requests it counts. Pure.

Both are of what lies between looks, so what the server does besides, the answer to who asks for its
status among it, is in there; of few requests that is a large part, and nothing is said of them.
"""

import os
from dataclasses import dataclass

LEAST_REQUESTS = 10
_LEAST_TICKS_S = 10 / os.sysconf("SC_CLK_TCK")
"""Of less CPU time that comes in ticks a ratio says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestCost:
    """CPU time and requests of the same time."""

    cpu_s: float = 0.0
    n_requests: float = 0.0
    is_exact: bool = True
    """Whether CPU time is a control group's, and not in ticks."""

    def __add__(self, other: "RequestCost") -> "RequestCost":
        """Return both together."""
        return RequestCost(
            cpu_s=self.cpu_s + other.cpu_s,
            n_requests=self.n_requests + other.n_requests,
            is_exact=self.is_exact and other.is_exact,
        )

    @property
    def cpu_s_per_request(self) -> float | None:
        """CPU seconds of a request in the mean; None where there is too little of either."""
        is_enough = self.cpu_s > 0 if self.is_exact else self.cpu_s >= _LEAST_TICKS_S
        if self.n_requests < LEAST_REQUESTS or not is_enough:
            return None
        return self.cpu_s / self.n_requests


@dataclass(frozen=True, kw_only=True, slots=True)
class DiskRequests:
    """Requests of the time between two readings of disk transfers, which has several looks."""

    n: float | None = None
    """None where they are not counted, or there were no two readings yet."""
    since: float | None = 0.0
    """Those since the last reading."""

    def with_look(self, took: RequestCost | None, *, is_new: bool) -> "DiskRequests":
        """Return it with one look more.

        Args:
            took: Requests since the look before; None where they are not counted.
            is_new: Whether disk transfers were read at that look.
        """
        n = None if took is None or self.since is None else self.since + took.n_requests
        return DiskRequests(n=n) if is_new else DiskRequests(n=self.n, since=n)
