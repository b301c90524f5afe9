"""A pool's memory at several ages, and how many of its processes would fit at each; pure."""

import math
from collections.abc import Iterator

from httpdyno.advice.bottleneck.memory import shared_bytes
from httpdyno.model import ArmSummary, Method, PhaseFigures, Record

ROOM_BYTES = float(1 << 30)
"""T of n = (T − P) / u(r): a round figure, of which another machine's is a multiple."""
_FEWEST = 3
"""Ages below which there is no curve to see."""


class Age(Record, frozen=True):
    """A pool once it has answered so many requests."""

    phase: str
    n_requests: float
    """To all of its processes since the turn began, the mean over turns."""
    n_asked: int
    """Those with which its phase was to end: there are fewer where its time was over before."""
    pss_bytes: float
    """Of all, what they share counted once."""
    uss_bytes_per_process: float
    """u(r): what a process has for itself alone."""
    shared_bytes: float | None
    """P: what no process has for itself alone. None where that cannot be known."""
    n_fit: float | None
    """Processes that would fit into `ROOM_BYTES`, were all of that age; None without a P, and where
    no process has anything for itself. More than do: the kernel's part of each is in no figure of a
    study (`telemetry/memory_bound.py` has it), and a parent with little lowers the mean."""


def ages(method: Method, arm: ArmSummary) -> tuple[Age, ...]:
    """Return an arm's memory after each phase, where all of them end with a number of requests.

    A start has one turn only, and no warm-up: in a second turn, or after some load, a process is
    older than its phase. Empty for other studies, and where memory was not read.
    """
    phases = method.phases
    is_counted = len(phases) >= _FEWEST and all(phase.n_requests for phase in phases)
    if not is_counted or method.blocks_per_start != 1 or method.warm_up_s > 0:
        return ()
    return tuple(_ages(method, arm))


def _ages(method: Method, arm: ArmSummary) -> Iterator[Age]:
    n_requests, n_asked = 0.0, 0
    for phase in method.phases:
        seen: ArmSummary | PhaseFigures | None = arm.phases.get(phase.name)
        if phase.name == method.decides:
            seen = arm
        if seen is None or seen.pss_bytes is None or seen.uss_bytes_per_process is None:
            return
        n_requests += seen.requests_per_turn
        n_asked += phase.n_requests
        shared, private = shared_bytes(seen), seen.uss_bytes_per_process
        yield Age(
            phase=phase.name,
            n_requests=n_requests,
            n_asked=n_asked,
            pss_bytes=seen.pss_bytes,
            uss_bytes_per_process=private,
            shared_bytes=shared,
            n_fit=max(math.floor((ROOM_BYTES - shared) / private), 0)
            if shared is not None and private > 0
            else None,
        )
