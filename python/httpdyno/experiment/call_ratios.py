"""System calls of an answer as figures of starts; pure."""

import math
from collections.abc import Iterable, Sequence

from httpdyno.model import StartRecord, SystemCalls
from httpdyno.model.metric import kind_of_calls

N_ANSWERS = 20
"""That are counted in a start. Each is some ten times slower under strace."""
LONGEST_S = 10.0
"""Slow answers are waited for, where a claim rests on them; then those that came are counted, each
to its end."""


def calls_in(start: StartRecord, arm: int) -> SystemCalls | None:
    """Return what was counted of an arm in a start; None where nothing was."""
    found = start.system_calls[arm] if start.system_calls else None
    return None if found is None or not found.n_answers else found


def pooled(parts: Iterable[SystemCalls | None]) -> SystemCalls | None:
    """Return the system calls of an answer over several starts; None where none were counted."""
    known = [each for each in parts if each is not None]
    if not known:
        return None
    n_answers = sum(each.n_answers for each in known)

    def mean(kind: str) -> float:
        return math.fsum(each.of(kind) * each.n_answers for each in known) / n_answers

    kinds = dict.fromkeys(kind for each in known for kind in each.by_kind)
    return SystemCalls(
        per_request=mean(""), by_kind={kind: mean(kind) for kind in kinds}, n_answers=n_answers
    )


def calls_value(found: SystemCalls | None, ratio_name: str) -> float:
    """Return the figure behind the name of a ratio of system calls; NaN where there is none."""
    return math.nan if found is None else found.of(kind_of_calls(ratio_name))


def few_answers(starts: Sequence[StartRecord]) -> str:
    """Return that some counts are of fewer answers than others, in words; empty where none is.

    Who answers fewer answers fewer of the workload's requests, where it has several.
    """
    arms = [(start, arm) for start in starts for arm in range(len(start.system_calls))]
    counts = [found.n_answers for start, arm in arms if (found := calls_in(start, arm))]
    few = [n for n in counts if n < N_ANSWERS]
    if not few:
        return ""
    return (
        f"in {len(few)} of {len(counts)} counts of system calls {LONGEST_S:g} s were "
        f"over before {N_ANSWERS} answers had come: the fewest were counted over {min(few)} "
        "answers, and where requests differ these may be others than elsewhere"
    )


def uncounted(starts: Sequence[StartRecord], arms: Sequence[int]) -> str:
    """Return that one of these arms has no count in any start, and why; empty where all have."""
    for arm in arms:
        found = [calls_in(start, arm) for start in starts if start.statuses[arm] == "complete"]
        if found and not any(found):
            return (
                f"the system calls of an answer could not be counted in {len(found)} starts: "
                f"{_why(starts, arm)}"
            )
    return ""


def _why(starts: Sequence[StartRecord], arm: int) -> str:
    words = [
        each.untraced
        for start in starts
        if start.system_calls and (each := start.system_calls[arm]) is not None and each.untraced
    ]
    return words[-1] if words else "nobody did"
