"""Ends of a server's processes as figures of starts; pure."""

from collections.abc import Mapping, Sequence
from statistics import fmean

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
    ran = {arm: [s for s in starts if s.statuses[arm] == "complete"] for arm in arms}
    counts = {arm: [exits_in(start, arm) for start in ran[arm]] for arm in arms}
    for arm, found in counts.items():
        if found and not any(found):
            why = _why(ran[arm], arm)
            return f"ends of processes could not be counted in {len(found)} starts: {why}"
    known = {arm: [each for each in found if each is not None] for arm, found in counts.items()}
    n_none = {arm: sum(not each.n for each in found) for arm, found in known.items()}
    if not any(n_none.values()):
        return ""
    if not any(each.n for found in known.values() for each in found):
        return "no process ended, so there is no ratio of that"
    means = _means(known, dict(zip(arms, names, strict=False)))
    most = max(n_none, key=lambda arm: n_none[arm])
    return (
        f"{means}in {n_none[most]} of {len(known[most])} starts of one of them no process ended, "
        "so there is no ratio of that"
    )


def _means(known: Mapping[int, Sequence[ProcessExits]], names: Mapping[int, str]) -> str:
    told = [
        f"{names[arm]} has {exits_text(fmean(each.per_request or 0.0 for each in found))}"
        for arm, found in known.items()
        if arm in names and found
    ]
    return f"{' and '.join(told)}, and " if told else ""


def exits_text(per_request: float) -> str:
    """Return ends of processes for an answer as people tell of them: of a thousand requests."""
    return f"{format_per_thousand(per_request)} process exits per 1,000 requests"


def _why(starts: Sequence[StartRecord], arm: int) -> str:
    words = [
        each.uncounted
        for start in starts
        if start.process_exits and (each := start.process_exits[arm]) is not None
    ]
    return next(filter(None, reversed(words)), "nobody did")
