"""A pool's memory at several ages, and how many of its workers would fit at each; pure.

That number is the memory bound's own (`telemetry/memory_bound.py`): by the largest worker, since as
many as the mean would allow need not fit.
"""

from collections.abc import Iterator

from httpdyno.model import ArmSummary, Method, PhaseFigures, Record, WorkersSeen

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
    once_bytes: int | None
    """P: what is there once, however many workers there are, and what the kernel keeps for the
    parent. None where it is not known, as the next."""
    each_bytes: int | None
    """u(r): what the largest worker has for itself alone, and what the kernel keeps for it."""
    n_fit: int | None
    """Workers that there is room for in `ROOM_BYTES`, were all of that age; None without the two,
    and where no worker has anything for itself."""


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
    program = _program(arm)
    for phase in method.phases:
        seen: ArmSummary | PhaseFigures | None = arm.phases.get(phase.name)
        if phase.name == method.decides:
            seen = arm
        if seen is None or seen.pss_bytes is None:
            return
        n_requests += seen.requests_per_turn
        n_asked += phase.n_requests
        workers = next((each for each in seen.workers if each.program == program), None)
        once_bytes, each_bytes, n_fit = _room(workers)
        yield Age(
            phase=phase.name,
            n_requests=n_requests,
            n_asked=n_asked,
            pss_bytes=seen.pss_bytes,
            once_bytes=once_bytes,
            each_bytes=each_bytes,
            n_fit=n_fit,
        )


def _room(workers: WorkersSeen | None) -> tuple[int | None, int | None, int | None]:
    """Return P, u(r) and n."""
    if workers is None or workers.once_bytes is None:
        return None, None, None
    kernel_bytes = workers.kernel_bytes
    return (
        workers.once_bytes + kernel_bytes,
        workers.largest_uss_bytes + kernel_bytes,
        workers.n_within(ROOM_BYTES),
    )


def _program(arm: ArmSummary) -> str:
    """Return the program whose workers have the most for themselves: all else is in P."""
    own = {each.program: each.n * each.median_uss_bytes for each in arm.workers}
    return max(own, key=lambda program: own[program], default="")
