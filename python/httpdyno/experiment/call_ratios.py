"""System calls of an answer as figures of starts: what they come to, and why there is no ratio.

They are counted, not timed, so every start may well find the same number. That is the figure's
nature and no sign of much evidence, so it is said; and where an arm takes none of a kind there is
no ratio, whatever the others of its starts found.
"""

import math
from collections.abc import Iterable, Sequence

from httpdyno.model import StartRecord, SystemCalls
from httpdyno.model.metric import is_of_system_calls, kind_of_calls
from httpdyno.units import format_number

_NAMES = ("a", "b")
_NO_WIDTH = "; the ratio is the same in all {n} starts, so its interval has no width"
_ALIKE = 1e-12
"""Standard deviations of a log ratio below this are the arithmetic's."""


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


def no_ratio(starts: Sequence[StartRecord], ratio_name: str, arms: Sequence[int] = (0, 1)) -> str:
    """Return why no ratio of system calls may be made of these starts; empty where it may.

    A start in which an arm takes none has no logarithm: an interval of the others would be of those
    that came out otherwise.

    Args:
        starts: Of all these arms.
        ratio_name: Of any figure; only those of system calls are looked at.
        arms: That are to have the figure.
    """
    if not is_of_system_calls(ratio_name):
        return ""
    counts = {
        arm: [calls_in(start, arm) for start in starts if start.statuses[arm] == "complete"]
        for arm in arms
    }
    for arm, found in counts.items():
        if found and not any(found):
            return (
                f"the system calls of an answer could not be counted in {len(found)} starts: "
                f"{_why(starts, arm)}"
            )
    kind = kind_of_calls(ratio_name)
    values = {arm: [each.of(kind) for each in found if each] for arm, found in counts.items()}
    if all(value > 0 for each in values.values() for value in each):
        return ""
    what = f"`{kind}` calls" if kind else "system calls"
    if not any(value > 0 for each in values.values() for value in each):
        return f"no answer takes any {what}, so there is no ratio of them"
    if len(arms) != len(_NAMES):
        return f"some answers take no {what}, so there is no ratio to them"
    means = [
        f"{name} takes {format_number(math.fsum(each) / len(each), 2)}"
        for name, each in zip(_NAMES, values.values(), strict=True)
        if each
    ]
    n_none = sum(
        any((seen := calls_in(start, arm)) is not None and not seen.of(kind) for arm in arms)
        for start in starts
    )
    return (
        f"{' and '.join(means)} {what} for an answer, and in {n_none} of {len(starts)} starts one "
        "of them none, so there is no ratio of them"
    )


def width_words(ratio_name: str, spread: float, n: int) -> str:
    """Return what a reason is to add where its interval has no width; empty where it has one.

    Args:
        ratio_name: Of any figure; only those of system calls are spoken of.
        spread: Standard deviation of the starts' log ratios.
        n: How many they are.
    """
    is_alike = is_of_system_calls(ratio_name) and spread < _ALIKE
    return _NO_WIDTH.format(n=n) if is_alike else ""


def _why(starts: Sequence[StartRecord], arm: int) -> str:
    words = [
        each.untraced
        for start in starts
        if start.system_calls and (each := start.system_calls[arm]) is not None and each.untraced
    ]
    return words[-1] if words else "nobody did"
