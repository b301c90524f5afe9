"""What becomes of starts in which an arm has none of what a metric counts; pure.

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
from httpdyno.reason import Reason, because


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A figure of some arms over some starts."""

    metric: str
    """By its name."""
    figure: Callable[[ArmTotals], float]
    starts: Sequence[StartRecord]
    """Of all these arms; (n_starts,)."""
    arms: Sequence[int]
    """That are to have the figure."""
    names: Sequence[str] = ()
    """What people call these arms, in their order; empty where nobody is to be named."""

    def of(self, start: StartRecord, arm: int) -> float | None:
        """Return an arm's figure in a start; None where there is none."""
        complete = start.statuses[arm] == "complete"
        value = self.figure(arm_totals(start, arm)) if complete else math.nan
        return None if math.isnan(value) else value


ZeroRule = Callable[[Asked], Reason | None]
"""Returns why starts make no ratio of a figure; None where they do."""

_PAIR = 2
LEAST_READY_S = 0.1
"""Servers that are ready sooner are not compared by that: looks are 5 ms apart in the mean, at
random, so that starts show what they miss; of less than this it is more than a twentieth."""


def left_out(_asked: Asked) -> None:
    """Return nothing: a start in which an arm has no figure is left out of the interval."""


Found = tuple[int, Sequence[str | Reason]] | None
"""Over how many answers something was counted of an arm in a start, and why not; None where nobody
counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """Where an arm has none in some start there is no ratio, whatever its other starts found."""

    uncounted: ZeroRule = left_out
    """Returns that an arm has no count in any start, and why; None where all have."""

    def __call__(self, asked: Asked) -> Reason | None:
        """Return why these starts make no ratio; None where they do."""
        figures = [[asked.of(start, arm) for start in asked.starts] for arm in asked.arms]
        return self.uncounted(asked) or zero_reason(figures, asked.metric, asked.names)


def zero_reason(
    figures: Sequence[Sequence[float | None]], metric: str, names: Sequence[str]
) -> Reason | None:
    """Return why counts make no ratio; None where they do.

    Args:
        figures: Those of each arm, None where it is not known; (n_arms, n_starts).
        metric: Its name.
        names: Of the arms; (n_arms,), or empty where nobody is to be named.
    """
    known = [[each for each in of_arm if each is not None] for of_arm in figures]
    every = [each for of_arm in known for each in of_arm]
    if all(every):
        return None
    if not any(every):
        return because("metrics.zero_everywhere", metric=metric)
    if len(names) != _PAIR or not all(known):
        without = [name for name, each in zip(names, known, strict=False) if not all(each)]
        return because("metrics.zero_of" if without else "metrics.zero", metric=metric, of=without)
    means = [math.fsum(each) / len(each) for each in known]
    in_starts = [*zip(*figures, strict=True)]
    return because(
        "metrics.zero_of_two",
        metric=metric,
        n_zero=sum(any(each == 0 for each in start) for start in in_starts),
        n_starts=len(in_starts),
        a=names[0],
        b=names[1],
        of_a=means[0],
        of_b=means[1],
    )


def nobody_counted(found: Callable[[StartRecord, int], Found]) -> ZeroRule:
    """Return what tells that an arm has no count in any start, and why.

    Args:
        found: The count of an arm in a start.
    """

    def told(asked: Asked) -> Reason | None:
        for arm in asked.arms:
            seen = [found(start, arm) for start in asked.starts if _is_complete(start, arm)]
            known = [each for each in seen if each is not None]
            if seen and not any(n_answers for n_answers, _ in known):
                why = next((why for _, why in reversed(known) if why), ())
                return uncounted(asked.metric, len(seen), why)
        return None

    return told


def uncounted(metric: str, n_starts: int, why: Sequence[str | Reason] = ()) -> Reason:
    """Return that nobody counted something in so many starts, and why where that is known."""
    return because(
        "metrics.uncounted_because" if why else "metrics.uncounted",
        metric=metric,
        n=n_starts,
        why=why,
    )


def _is_complete(start: StartRecord, arm: int) -> bool:
    return start.statuses[arm] == "complete"


def too_soon(asked: Asked) -> Reason | None:
    """Return that an arm is ready too soon, or that it is not told; None where all are slower."""
    for arm in asked.arms:
        told = [
            start.came_up_s[arm] if start.came_up_s else None
            for start in asked.starts
            if _is_complete(start, arm)
        ]
        known = [each for each in told if each is not None]
        if told and not known:
            return because("metrics.ready_unknown", n=len(told))
        if known and min(known) < LEAST_READY_S:
            return because("metrics.too_soon", ready_s=min(known), least_s=LEAST_READY_S)
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unanswered:
    """Users who got no right answer of an arm in some start have no ratio of their throughput."""

    users: str

    def __call__(self, asked: Asked) -> Reason | None:
        """Return that they got none; None where they did."""
        starts, arms = asked.starts, asked.arms
        n_none = sum(any(self._is_of(start, arm) for arm in arms) for start in starts)
        if not n_none:
            return None
        return because("metrics.unanswered", n=n_none, of=len(starts), users=self.users)

    def _is_of(self, start: StartRecord, arm: int) -> bool:
        told = (window.measurement.by_population for window in start.windows if window.arm == arm)
        parts = [each for each in told if each]
        is_told = bool(parts) and _is_complete(start, arm)
        return is_told and not any(
            each[self.users].completed for each in parts if self.users in each
        )
