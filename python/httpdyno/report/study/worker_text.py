"""What a worker of a server is, as the last edges of starts found it: what says something of it."""

from httpdyno.model import ArmSummary, Look, OfWorkers, WorkersSeen
from httpdyno.units import format_bytes

_USUAL = frozenset({"sleeping", "running", "idle"})
_MUCH_LARGER = 1.1
"""The largest beside the median: of less nothing is said."""


def worker_text(arm: ArmSummary, look: Look | None = None) -> str:
    """Return `a worker: 24.1 MiB PSS, 9 descriptors, 1 thread`; empty where it is not known.

    Args:
        arm: Its largest pool is told of.
        look: Of the same server, for what its status page said.
    """
    parts = _of(next(iter(arm.workers), None))
    if not parts:
        return ""
    told = ", ".join([*parts, *_answered(look), *_zombies(arm)])
    largest = arm.workers[0]
    name = f" of {largest.program}" if len(arm.workers) > 1 else ""
    idle = f"; {largest.n_idle:.3g} more used no CPU" if largest.n_idle else ""
    return f"a worker{name}: {told}{idle}"


def worker_change(before: ArmSummary, after: ArmSummary) -> str:
    """Return `24.1 MiB PSS → 30.2 MiB PSS, 9 descriptors, 1 thread`; empty where it is not known.

    Of one program on both sides, that of the first one's largest pool. Parts of which one side has
    nothing to say are left out.
    """
    first = next(iter(before.workers), None)
    same = next((each for each in after.workers if first and each.program == first.program), None)
    parts = zip(_of(first), _of(same), strict=False)
    return ", ".join(a if a == b else f"{a} → {b}" for a, b in parts)


def _of(workers: WorkersSeen | None) -> list[str]:
    """Return its size first, then what it has open, and what went wrong; empty if not known."""
    if workers is None or workers.pss_bytes is None:
        return []
    return [
        _size(workers.pss_bytes),
        *_counted(workers.n_descriptors, "descriptor"),
        *_counted(workers.n_threads, "thread"),
        *_faults(workers),
        *(f"{n:.3g} {state}" for state, n in workers.states.items() if state not in _USUAL),
    ]


def _size(pss: OfWorkers) -> str:
    told = f"{format_bytes(pss.median)} PSS"
    is_uneven = pss.largest > _MUCH_LARGER * pss.median
    return f"{told} (the largest {format_bytes(pss.largest)})" if is_uneven else told


def _counted(figure: OfWorkers | None, name: str) -> list[str]:
    if figure is None:
        return []
    return [f"{figure.median:,.0f} {name}{'' if round(figure.median) == 1 else 's'}"]


def _faults(workers: WorkersSeen) -> list[str]:
    faults = workers.major_faults
    if faults is None or not faults.largest:
        return []
    pages = f"page{'' if faults.largest == 1 else 's'}"
    return [f"up to {faults.largest:,.0f} {pages} read from a disk"]


def _answered(look: Look | None) -> list[str]:
    told = next((each.requests for each in look.own if each.requests), None) if look else None
    return [f"{told.median:,.0f} requests answered"] if told else []


def _zombies(arm: ArmSummary) -> list[str]:
    return [
        f"{n:.3g} ended that {parent or 'nobody of the server'} did not ask how"
        for parent, n in arm.zombies.items()
    ]
