"""Refusals of budgets that are too short, with one that works; pure.

Whoever follows the hint is not refused again: what was measured is taken to be as far off as a busy
machine makes it, and the figure is one that people type.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Self

from httpdyno.errors import UsageError
from httpdyno.model import Plan
from httpdyno.units import format_duration

CLOSING_RATIO = 0.03
"""Of the budget, for what comes after the last start: ending the servers, writing the report."""

COMING_UP_S = 2.0
"""What a server takes to come up and to end, about, where nobody saw it do so."""

N_CALIBRATION_STARTS = 3
"""A/A starts of a ladder: one alone, from which is known how many may be up at the same time, and
two more, which say what a start costs then. Enough for a first idea of the noise, and cheap enough
always."""

FINAL_SLACK = 1.1
"""What is set aside for a final claim, over what its fewest starts took before it."""

WINDOWS_RATIO = 0.5
"""Of a start's share of the budget: what its windows may be made longer to. The rest is for servers
that come up and for what comes before the windows."""

_UNEVEN = 3.0
"""Times the mean: of exponential latencies it is twice as long."""
_BUSY = 1.75
"""Times that the same starts may take, where others begin to use the machine."""
_STEPS_S = ((100, 5), (600, 30), (math.inf, 60))
"""How coarse times are that people type, by the seconds that they are less than."""


def time_to_type(needed_s: float) -> str:
    """Return a duration to give that holds what is expected to take so long: `95s`, `3m30s`."""
    most_s = needed_s * _BUSY + COMING_UP_S
    step = next(step for limit, step in _STEPS_S if most_s < limit)
    whole = step * math.ceil(Fraction(most_s) / step)
    minutes, seconds = divmod(whole, 60)
    if whole < _STEPS_S[0][0]:
        return f"{whole}s"
    return f"{minutes}m" + (f"{seconds}s" if seconds else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Needed:
    """What is expected of a plan, of all starts, without what comes after the last one."""

    first_s: float
    """Until something is claimed: of a ladder one step and the final claim."""
    whole_s: float
    """Of all that was asked for."""
    n_steps: int = 1
    """Of the plan."""

    @classmethod
    def at_once(cls, needed_s: float) -> Self:
        """Return what is expected where nothing is claimed before the end."""
        return cls(first_s=needed_s, whole_s=needed_s)


class ShortBudgetError(UsageError):
    """A budget is too short; the hint names one that is enough."""

    def __init__(self, message: str, needed: Needed, *, advice: str = "") -> None:
        """Refuse a budget.

        Args:
            message: What it is too short for.
            needed: What it takes, on a machine that others use as well.
            advice: What else would help.
        """
        first, whole = map(budget_for, (needed.first_s, needed.whole_s))
        super().__init__(
            message,
            hint=(
                f"`--budget {whole}` is enough, on a busy machine too"
                if first == whole
                else f"`--budget {first}` is enough for one step and the final claim, "
                f"`--budget {whole}` for all {needed.n_steps}, on a busy machine too"
            )
            + advice,
        )


def budget_for(needed_s: float) -> str:
    """Return a budget to type for what is expected to take so long.

    Args:
        needed_s: Of all starts, without what comes after the last one.
    """
    return time_to_type(needed_s / (1 - CLOSING_RATIO))


def too_short(budget_s: float, step: str, needed: Needed) -> ShortBudgetError:
    """Return the refusal of a budget.

    Args:
        budget_s: As given.
        step: What one step takes, and how many of them it takes.
        needed: What all that was asked for takes, as far as that is known.
    """
    return ShortBudgetError(f"a budget of {format_duration(budget_s)} is too short: {step}", needed)


def n_at_once(plan: Plan) -> int:
    """Return how many arms each start has of a method whose arms are all up at once."""
    n_steps = len(plan.steps)
    return 2**n_steps if plan.study.method.kind == "factorial" else n_steps


class Ahead(NamedTuple):
    """How many starts like its first one a plan takes, were nothing kept but the last."""

    first: float
    """Until something is claimed: of a ladder one step and the final claim."""
    whole: float
    n_steps: int
    """Of the plan."""

    def needed(self, each_s: float, more_s: float = 0.0) -> Needed:
        """Return what it is expected to take, where a start takes so long, and looks so much."""
        first_s, whole_s = self.first * each_s + more_s, self.whole * each_s + more_s
        return Needed(first_s=first_s, whole_s=whole_s, n_steps=self.n_steps)


NOTHING_AHEAD = Ahead(first=1.0, whole=1.0, n_steps=1)


def starts_ahead(plan: Plan) -> Ahead:
    """Return how many starts a plan takes; a final claim's have two arms, whatever others have."""
    method, n_steps = plan.study.method, len(plan.steps)

    def of(n_tried: int) -> float:
        if plan.compare is not None:
            return method.min_starts
        if plan.reference is not None:
            return method.min_starts * n_steps
        if method.is_all_at_once:
            return method.min_starts * (1 + FINAL_SLACK * 2 / n_at_once(plan))
        return N_CALIBRATION_STARTS + method.min_starts * (n_tried + FINAL_SLACK)

    return Ahead(first=of(1), whole=of(n_steps), n_steps=n_steps)


def require_time(  # noqa: PLR0913 - what there is to say of it
    load_s: float, limit_s: float, n: int, *, needed: Needed, cycle_s: float, met_s: float = 0.0
) -> None:
    """Refuse what cannot fit before it is begun, not when the budget is gone.

    Args:
        load_s: What one start loads for.
        limit_s: What the budget leaves for each.
        n: How many such starts it takes to claim anything.
        needed: What it takes.
        cycle_s: The mean cycle of the slowest arm, where that decides; else 0.
        met_s: The mean one that a random instant falls into: longer where a few are.

    Raises:
        UsageError: With the time that it takes.
    """
    if load_s <= limit_s:
        return
    takes, leaves = format_duration(load_s), format_duration(limit_s)
    if cycle_s <= 0:
        raise ShortBudgetError(
            f"one start takes {takes} of load, by the study's method; the budget leaves {leaves} "
            f"for each of {n} starts",
            needed,
        )
    is_uneven = met_s > _UNEVEN * cycle_s
    raise ShortBudgetError(
        f"one start takes {takes} of load, because a request with its pause takes "
        f"{format_duration(cycle_s)} in the mean"
        + f", and some users are kept waiting for {format_duration(met_s)}" * is_uneven
        + f"; the budget leaves {leaves} for each of {n} starts",
        needed,
        advice="; more connections shorten windows where latencies vary much",
    )
