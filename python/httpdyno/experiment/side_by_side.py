"""How many starts of the same arms may be up at the same time.

A start spends most of its time on coming up, warming up and ending. The first of a comparison is
alone: it tells how long cycles are, what a server takes, and whether it runs. All of a batch warm
up at once, since nothing is learnt from them. Then windows take turns, the arms of a start one
right after the other, the starts of a block in random order. Each start keeps its own processes and
engine seed, so it stays one independent figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.experiment.machine_room import Room

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
