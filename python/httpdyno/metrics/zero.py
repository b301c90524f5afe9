"""What becomes of starts in which an arm has none of what a metric counts, in words; pure.

Such a start has no logarithm: an interval of the others would be of those that came out otherwise.
Each metric names its rule:

- `left_out`: a start without a figure is left out of the interval;
- `Counted`: an arm with none in some start has no ratio, and both sides' figures are told;
- `too_soon`: what is over before it can be timed has no ratio;
- `Unanswered`: users who got no right answer in some start have no ratio of their throughput.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from httpdyno.metrics.totals import ArmTotals, arm_totals
from httpdyno.model import StartRecord
from httpdyno.units import format_duration, format_number

Figure = Callable[[ArmTotals], float]
ZeroRule = Callable[[Figure, Sequence[StartRecord], Sequence[int], Sequence[str]], str]
"""Returns why starts make no ratio of a figure; empty where they do.

It is given the figure, starts of all these arms, the arms that are to have it, and what people call
these arms, in their order; empty where nobody is to be named.
"""

_PAIR = 2
_FEW = 0.1
"""Below, two digits are told, wherever they stand."""
LEAST_READY_S = 0.1
"""Servers that are ready sooner are not compared by that: looks are 5 ms apart in the mean, at
random, so that starts show what they miss; of less than this it is more than a twentieth."""


def left_out(
    _figure: Figure, _starts: Sequence[StartRecord], _arms: Sequence[int], _names: Sequence[str]
) -> str:
    """Return nothing: a start in which an arm has no figure is left out of the interval."""
    return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ZeroWords:
    """How one kind of count is spoken of where it is 0."""

    none: str
    """That no arm has any in any start."""
    some: str
    """That some have none, where they are not two."""
    figure: Callable[[str, float], str]
    """What an arm of this name has in the mean."""
    what: str
    """Follows the figures of two arms: what they are of."""
    one_none: str = "one of them none"
    """That in so many starts one of the two has none."""


Beside = Callable[[StartRecord, int], tuple[int, str] | None]
"""Returns over how many answers something was counted of an arm in a start, and why not; None where
nobody counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """Where an arm has none in some start there is no ratio, whatever its other starts found."""

    words: Callable[[Sequence[StartRecord]], ZeroWords]
    uncounted: Callable[[Sequence[StartRecord], Sequence[int]], str] = lambda _starts, _arms: ""
    """Returns that an arm has no count in any start, and why; empty where all have."""

    def __call__(
        self,
        figure: Figure,
        starts: Sequence[StartRecord],
        arms: Sequence[int],
        names: Sequence[str],
    ) -> str:
        """Return why these starts make no ratio; empty where they do."""
        figures = [[_of_complete(figure, start, arm) for start in starts] for arm in arms]
        return self.uncounted(starts, arms) or zero_words(figures, names, self.words(starts))


def zero_words(
    figures: Sequence[Sequence[float | None]], names: Sequence[str], words: ZeroWords
) -> str:
    """Return why counts make no ratio; empty where they do.

    Args:
        figures: Those of each arm, None where it is not known; (n_arms, n_starts).
        names: Of the arms; (n_arms,), or empty where nobody is to be named.
        words: For them.
    """
    known = [[each for each in of_arm if each is not None] for of_arm in figures]
    every = [each for of_arm in known for each in of_arm]
    if all(every):
        return ""
    if not any(every):
        return f"{words.none}, so there is no ratio of them"
    named = [*zip(names, known, strict=True)] if names else []
    if len(named) != _PAIR:
        without = ", ".join(name for name, each in named if not all(each))
        those = f" (those with {without})" if without else ""
        return f"{words.some}{those}, so there is no ratio to them"
    means = [words.figure(name, math.fsum(each) / len(each)) for name, each in named if each]
    in_starts = [*zip(*figures, strict=True)]
    n_none = sum(any(each == 0 for each in start) for start in in_starts)
    return (
        f"{' and '.join(means)} {words.what}, and in {n_none} of {len(in_starts)} starts "
        f"{words.one_none}, so there is no ratio of them"
    )


def _of_complete(figure: Figure, start: StartRecord, arm: int) -> float | None:
    value = figure(arm_totals(start, arm)) if start.statuses[arm] == "complete" else math.nan
    return None if math.isnan(value) else value


def taken(what: str) -> Callable[[Sequence[StartRecord]], ZeroWords]:
    """Return the words for what an answer takes: `system calls`."""
    words = ZeroWords(
        none=f"no answer takes any {what}",
        some=f"some answers take no {what}",
        figure=lambda name, mean: f"{name} takes {_number(mean)}",
        what=f"{what} for an answer",
    )
    return lambda _starts: words


def _number(mean: float) -> str:
    return format_number(mean, 1 - math.floor(math.log10(mean)) if 0 < mean < _FEW else 2)


def nobody_counted(
    found: Beside, words: str
) -> Callable[[Sequence[StartRecord], Sequence[int]], str]:
    """Return what tells that an arm has no count in any start, and why.

    Args:
        found: The count of an arm in a start.
        words: With `{n}` for the starts and `{why}`.
    """

    def told(starts: Sequence[StartRecord], arms: Sequence[int]) -> str:
        for arm in arms:
            seen = [found(start, arm) for start in starts if start.statuses[arm] == "complete"]
            known = [each for each in seen if each is not None]
            if seen and not any(n_answers for n_answers, _ in known):
                why = next((why for _, why in reversed(known) if why), "nobody did")
                return words.format(n=len(seen), why=why)
        return ""

    return told


def too_soon(
    _figure: Figure, starts: Sequence[StartRecord], arms: Sequence[int], _names: Sequence[str]
) -> str:
    """Return that an arm is ready too soon, or that it is not told; empty where all are slower."""
    for arm in arms:
        told = [
            start.came_up_s[arm] if start.came_up_s else None
            for start in starts
            if start.statuses[arm] == "complete"
        ]
        known = [each for each in told if each is not None]
        if told and not known:
            return f"in {len(told)} starts nobody told when the server was ready"
        if known and min(known) < LEAST_READY_S:
            return (
                f"a server is ready within {format_duration(min(known))}: of less than "
                f"{format_duration(LEAST_READY_S)} nothing is claimed, for whether it is ready is "
                "looked for some 5 ms apart"
            )
    return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unanswered:
    """Users who got no right answer of an arm in some start have no ratio of their throughput."""

    users: str

    def __call__(
        self,
        _figure: Figure,
        starts: Sequence[StartRecord],
        arms: Sequence[int],
        _names: Sequence[str],
    ) -> str:
        """Return that they got none; empty where they did."""
        n_none = sum(any(self._is_of(start, arm) for arm in arms) for start in starts)
        if not n_none:
            return ""
        return (
            f"in {n_none} of {len(starts)} starts one of them gave the {self.users} users no right "
            "answer, so there is no ratio of their throughput; a longer `method.window` has more"
        )

    def _is_of(self, start: StartRecord, arm: int) -> bool:
        told = (window.measurement.by_population for window in start.windows if window.arm == arm)
        parts = [each for each in told if each]
        is_told = bool(parts) and start.statuses[arm] == "complete"
        return is_told and not any(
            each[self.users].completed for each in parts if self.users in each
        )
