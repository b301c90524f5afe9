"""What must come of figures 1 to 5, and whether it does; pure."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from benches.power.figure import Part, Shown, most_likely, of_kind
from benches.power.planted import CLAIMS, Compared

CLAIMS_RATIO = 0.05
"""Wrong claims: what the confidence allows, and what may be seen."""
MOST_LIKELY_RATIO = 0.08
"""What the upper end of the exact interval of their share may be, over real comparisons."""
HELD_RATIO = 0.95
"""Intervals that hold the truth."""


def counts_same(shown: Shown) -> int:
    """Count comparisons that could have claimed something; of what is simulated, sequences."""
    if isinstance(shown, Compared):
        return int(not shown.trouble and (shown.is_measured or shown.is_wrong))
    return int(getattr(shown, "n", 0))


def counts_held(shown: Shown) -> int:
    """Count comparisons that have an interval."""
    return int(isinstance(shown, Compared) and not shown.trouble and bool(shown.bounded))


def judged_same(shown: Sequence[Shown]) -> list[Part]:
    """Judge comparisons of configurations with themselves, over all servers together.

    Those that measured nothing are no comparisons: what cannot claim anything is no proof that
    nothing false is claimed.
    """
    tried = [each for each in shown if isinstance(each, Compared)]
    mine = [each for each in tried if counts_same(each)]
    if not mine:
        return []
    n, n_wrong = len(mine), sum(each.is_wrong for each in mine)
    high = most_likely(n_wrong, n)
    is_met = n_wrong <= CLAIMS_RATIO * n and high <= MOST_LIKELY_RATIO
    by_server = Counter(each.case for each in mine if each.is_wrong)
    where = "".join(f", {count} of them {case}" for case, count in by_server.items())
    second = sum(each.is_wrong and each.verdict not in CLAIMS | {"failed"} for each in mine)
    where += f", {second} by the second metric alone" if second else ""
    nothing = f"; {len(tried) - n} more measured nothing" if len(tried) > n else ""
    words = f"{n_wrong} of {n} claim a difference{where}; the share is at most {high:.1%}"
    return [Part(is_met, f"{words}; {_verdicts(mine)}{nothing}")]


def judged_found(
    shown: Sequence[Shown], *, least_ratio: float, within_s: float | None = None
) -> list[Part]:
    """Judge comparisons of planted differences, those of each server for themselves.

    Args:
        shown: All of one figure.
        least_ratio: The share of them that must find it, within their budgets.
        within_s: What the median of those that found it may have measured for, from when both
            servers of the first start were up.
    """
    tried = [each for each in shown if isinstance(each, Compared)]
    cases = dict.fromkeys(each.case for each in tried)
    return [
        _found(case, [each for each in tried if each.case == case], least_ratio, within_s)
        for case in cases
    ]


def _found(case: str, mine: Sequence[Compared], least_ratio: float, within_s: float | None) -> Part:
    n = len(mine)
    found = [each for each in mine if each.is_in_time]
    n_late = sum(each.is_found for each in mine) - len(found)
    n_wrong = sum(each.is_wrong for each in mine)
    is_met = len(found) >= least_ratio * n and n_wrong <= CLAIMS_RATIO * n
    words = f"{case}: found {len(found)} of {n}"
    words += f", {n_late} more after the budget" if n_late else ""
    if found:
        up_s = median(each.up_s for each in found)
        words += (
            f", median {up_s:.1f} s after both servers were up, "
            f"{median(each.measured_s for each in found):.1f} s with their coming up, "
            f"{median(each.took_s for each in found):.1f} s on the wall's clock"
        )
        is_met = is_met and (within_s is None or up_s <= within_s)
    elif within_s is not None:
        is_met = False
    return Part(is_met, f"{words}; wrong {n_wrong}; {_verdicts(mine)}")


def judged_held(shown: Sequence[Shown]) -> list[Part]:
    """Judge whether intervals hold the truth: those of the same, and those of planted differences.

    The truth of the same is 1, which intervals that may be looked at always hold nearly always:
    together they would hide what is wrong of the others.
    """
    mine = of_kind(Compared, shown)
    same = [each for each in mine if each.planted == 0]
    other = [each for each in mine if each.planted != 0]
    return [*_held("of the same", same), *_held("of planted differences", other)]


def _held(what: str, mine: Sequence[Compared]) -> list[Part]:
    held = [holds for each in mine for holds in each.held]
    n_unknown = sum(len(each.bounded) - len(each.judged) for each in mine)
    unknown = f"; {n_unknown} more are narrower than the truth is known" if n_unknown else ""
    if not held:
        return [Part(False, f"{what}, none is judged{unknown}")] if n_unknown else []
    outside = Counter(each.case for each in mine for holds in each.held if not holds)
    where = "".join(f", {count} not in {case}" for case, count in outside.items())
    is_met = sum(held) >= HELD_RATIO * len(held)
    words = f"{what}, {sum(held)} of {len(held)} intervals hold the truth{where}{unknown}"
    return [Part(is_met, words)]


def _verdicts(mine: Sequence[Compared]) -> str:
    counted = Counter(each.verdict or "nothing" for each in mine)
    return ", ".join(f"{word} {count}" for word, count in counted.most_common())
