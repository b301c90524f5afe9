"""What of the proposed numbers of workers memory holds, each pool's by its own room. Pure.

Rules say how many there is a use for, by clients, CPUs and what was found; here that is cut to what
fits, and what was left out is said with the numbers. Fewer than run now are always possible.
"""

from collections.abc import Mapping

from msgspec import structs

from httpdyno.advice.knob.rule import number
from httpdyno.advice.proposal import KnobProposal, Offered
from httpdyno.model import Level, level_text

PROCESSES = frozenset(
    {
        *("MaxRequestWorkers", "pm.max_children", "worker_processes"),
        # Of gunicorn and uvicorn, and what people call their programs' own options for it.
        *("workers", "worker-processes", "processes", "num-workers", "instances", "cluster"),
    }
)
"""Knobs that are a number of processes, which takes memory."""
_THREADS = {"MaxRequestWorkers": "ThreadsPerChild"}
"""Knob → the one that says how many of it a process is."""


def within_room(offered: Offered, proposed: Mapping[str, KnobProposal]) -> dict[str, KnobProposal]:
    """Return what is proposed, without workers that memory does not hold.

    Of levels beyond what fits, what fits stays; a knob of which nothing else is left is blocked.

    Args:
        offered: What can be set, and the room of each pool.
        proposed: By the member's own names.
    """
    return {name: _within(offered, each) for name, each in proposed.items()}


def _within(offered: Offered, proposal: KnobProposal) -> KnobProposal:
    bare, _, scope = proposal.name.partition("@")
    room = offered.rooms.get(scope)
    if bare not in PROCESSES or room is None:
        return proposal
    if room.n is None:
        return structs.replace(proposal, memory=f"{room}")
    most = room.n * int(number(offered.found(_THREADS.get(bare, ""))) or 1)
    start = number(proposal.start) or 0
    left_out = [level for level in proposal.levels if _is_more(level, max(most, start))]
    if not left_out:
        return proposal
    fitting: tuple[Level, ...] = (most,) if most > start else ()
    kept = [
        each for level in proposal.levels for each in (fitting if level in left_out else (level,))
    ]
    said = f"{', '.join(map(level_text, left_out))} left out: {room}"
    if not kept:
        blocked = proposal.blocked or said
        return structs.replace(proposal, memory=said, blocked=blocked)
    return structs.replace(proposal, levels=tuple(dict.fromkeys(kept)), memory=said)


def _is_more(level: Level, most: float) -> bool:
    n = number(level)
    return n is not None and n > most
