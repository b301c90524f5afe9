"""How many starts of the same arms may be up at the same time."""

import math
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY_RATIO = 0.5
"""Of what is available: servers grow under load, and the machine's caches need some, too."""

PROCESSES_RATIO = 0.5
DESCRIPTORS_RATIO = 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmSize:
    """What one server was seen to take."""

    pss_bytes: int
    """Proportional set size under load."""
    n_processes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """What the machine has for servers and for the connections to them."""

    memory_bytes: float
    n_processes: float
    n_descriptors: float


def n_side_by_side(
    sizes: Sequence[ArmSize | None], room: Room, *, connections: int, limit: int
) -> int:
    """Return how many starts may be up at the same time; at least 1.

    Args:
        sizes: Of each arm, as an earlier start has shown; None: nothing is known. (n_arms,).
        room: Of the machine.
        connections: To each arm.
        limit: The most that the study allows.
    """
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return 1
    memory_bytes = sum(size.pss_bytes for size in known)
    processes = sum(size.n_processes for size in known)
    fits = (
        room.memory_bytes * MEMORY_RATIO / max(1, memory_bytes),
        room.n_processes * PROCESSES_RATIO / max(1, processes),
        room.n_descriptors * DESCRIPTORS_RATIO / max(1, connections * len(sizes)),
        limit,
    )
    return max(1, int(min(fits)))


def machine_room() -> Room:
    """Return what this process may have of this machine now."""
    return Room(
        memory_bytes=_available_bytes(Path("/proc/meminfo").read_text(encoding="ascii")),
        n_processes=_soft_limit(resource.RLIMIT_NPROC),
        n_descriptors=_soft_limit(resource.RLIMIT_NOFILE),
    )


def _available_bytes(meminfo: str) -> float:
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return math.inf


def _soft_limit(which: int) -> float:
    soft, _ = resource.getrlimit(which)
    return math.inf if soft == resource.RLIM_INFINITY else soft
