"""Ends of a server's processes as figures of starts; pure."""

from collections.abc import Sequence

from httpdyno.experiment.nought import NoughtWords, nought_words
from httpdyno.model import ProcessExits, StartRecord
from httpdyno.units import format_per_thousand


def exits_in(start: StartRecord, arm: int) -> ProcessExits | None:
    """Return what was counted of an arm in a start; None where nothing was."""
    found = start.process_exits[arm] if start.process_exits else None
    return None if found is None or found.per_request is None else found


def no_exits(starts: Sequence[StartRecord], arms: Sequence[int], names: Sequence[str]) -> str:
    """Return why the ends of processes make no ratio in these starts; empty where they do. Pure.

    Args:
        starts: Of all these arms.
        arms: That are to have the figure.
        names: Of these arms, in their order; empty where nobody is to be named.
    """
    counts = [[_per_request(start, arm) for start in starts] for arm in arms]
    for arm, found in zip(arms, counts, strict=True):
        n_ran = sum(start.statuses[arm] == "complete" for start in starts)
        if n_ran and all(each is None for each in found):
            why = _why(starts, arm)
            return f"ends of processes could not be counted in {n_ran} starts: {why}"
    return nought_words(counts, names, _WORDS)


_WORDS = NoughtWords(
    none="no process ended",
    some="in some starts no process ended",
    figure=lambda name, mean: f"{name} has {format_per_thousand(mean)}",
    what="process exits per 1,000 requests",
)


def _per_request(start: StartRecord, arm: int) -> float | None:
    found = exits_in(start, arm) if start.statuses[arm] == "complete" else None
    return None if found is None else found.per_request


def _why(starts: Sequence[StartRecord], arm: int) -> str:
    words = [
        each.uncounted
        for start in starts
        if start.process_exits and (each := start.process_exits[arm]) is not None
    ]
    return next(filter(None, reversed(words)), "nobody did")
