"""How long the windows of a start must be for its latencies; pure.

What is measured of a closed loop is credited by cycles (`model.measurement.Cycles`), which has no
bias once the loop is stationary: when what a user is doing at the window's first instant does not
depend on when it began. Users begin spread over time, and load for a while before: both are told in
multiples of the mean length of the cycle that a random instant falls into, E[C²] / E[C]. It is the
cycle's length where all are alike, twice the mean where they are exponential, and the long ones'
length where few are long; so it says how long it takes to forget how one began.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from httpdyno.load.message import WindowPlan
from httpdyno.model import Cycles

SPREAD = 1.0
"""Users begin within so many of these lengths. Over one, cycles of one length are at even phase."""

LEAD_IN = 2.0
"""They load for so many more before anything is measured. Bias of the credit over a window of four
lengths then (`research/lead-in`, two seeds, to 0.1 %): none for constant cycles, up to 0.2 % for
exponential ones, 0.6 % for lognormal ones of σ = 1, 0.1 % for one in five that takes six times as
long as the others, 0.9 % for one in twenty that takes 21 times as long. With a lead-in of 1 it
is 1.0 % for the lognormal and −1.6 % for the last ones. The two arms of a ratio have most of it in
common."""

ENTERED = 1.0
"""Where users come in slowly, they load for so many of these lengths after the last one's first
cycle. An event loop that takes one connection a round, and in it answers all who are in already,
has the last of 16 users in after 0.5 s where cycles take 0.07 s (uvicorn with uvloop does). Until
then those who are in have a faster server than they will have."""

CYCLES_PER_VARIATION = 50.0
"""Times the squared coefficient of variation, that is how many cycles a start must hold of an arm:
the logarithm of a total of n of them is too low by that square over 2 n, so by 1 % at most, and by
less in a ratio."""

TAIL = 4.0
"""Load goes on for at most so many of these lengths after the measured part; it ends as soon as
each user has begun another step."""

LEAST_TAIL_S = 0.5
_LEAST_S = 0.01
PILOT_TAIL_S = 2.0
"""Of the warm-up, from which cycles are known: a cycle that lasts longer is taken for as long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CycleMoments:
    """What is known of an arm's cycles; sums add up."""

    n: float = 0.0
    sum_s: float = 0.0
    sum_s2: float = 0.0
    entrance_s: float = math.inf
    """How long the longest first cycle of a user was, where none was as long later on: the least
    that was seen, since a fresh server does some things once. Infinite: never seen."""

    @classmethod
    def of(cls, seen: Iterable[Cycles]) -> "CycleMoments":
        """Return those of all cycles that began in some windows."""
        known = list(seen)
        return cls(
            n=math.fsum(each.begun for each in known),
            sum_s=math.fsum(each.begun_s for each in known),
            sum_s2=math.fsum(each.begun_s2 for each in known),
            entrance_s=min(map(_entrance_s, known), default=math.inf),
        )

    def __add__(self, other: "CycleMoments") -> "CycleMoments":
        return CycleMoments(
            n=self.n + other.n,
            sum_s=self.sum_s + other.sum_s,
            sum_s2=self.sum_s2 + other.sum_s2,
            entrance_s=min(self.entrance_s, other.entrance_s),
        )

    def settling_for(self, times: float) -> "CycleMoments":
        """Return moments by which users take so many times as long to forget how they began."""
        return replace(self, sum_s2=self.sum_s2 * times)

    @property
    def mean_s(self) -> float:
        """Mean length; 0 where none is known."""
        return self.sum_s / self.n if self.n else 0.0

    @property
    def met_s(self) -> float:
        """Mean length of the cycle that a random instant falls into."""
        return self.sum_s2 / self.sum_s if self.sum_s else 0.0

    @property
    def variation(self) -> float:
        """Squared coefficient of variation."""
        return max(0.0, self.met_s / self.mean_s - 1) if self.mean_s else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowChoice:
    """The windows of a start: all alike, so that what they do to the arms is the same."""

    n_blocks: int
    spread_s: float
    lead_in_s: float
    measure_s: float
    tail_s: float
    cycle_s: float
    """The mean cycle of the slowest arm."""
    window_s: float
    """What one window is expected to take from its first request to its last answer."""
    met_s: float = 0.0
    """Of the most uneven arm, the mean cycle that a random instant falls into."""

    def entrance(self, arm: int) -> WindowPlan:
        """Return a window that shows how users of an arm come in, which is short otherwise."""
        return WindowPlan(
            arm=arm,
            lead_in_s=self.lead_in_s,
            measure_s=max(self.spread_s, _LEAST_S),
            spread_s=self.spread_s,
            tail_s=self.tail_s,
        )


def choose_windows(  # noqa: PLR0913 - what is known, and what was asked for
    arms: Sequence[CycleMoments],
    *,
    n_users: int,
    n_blocks: int,
    window_s: float,
    lead_in_s: float,
    limit_s: float = math.inf,
) -> WindowChoice:
    """Return windows that are long enough for these cycles, and no shorter than what was asked.

    Longer windows are fewer: a start measures each arm for as long as asked, or as long as its
    cycles demand. The slowest and the most variable arm decide for all.

    Args:
        arms: What is known of each arm's cycles; (n_arms,).
        n_users: Users of the closed loop.
        n_blocks: The most windows of each arm.
        window_s: The measured part that was asked for.
        lead_in_s: The lead-in that was asked for.
        limit_s: Where all windows of all arms take longer, they are as few as the cycles allow;
            that may still take longer.
    """
    met_s = max((arm.met_s for arm in arms), default=0.0)
    spread_s = SPREAD * met_s
    entered_s = [arm.entrance_s + ENTERED * met_s for arm in arms if arm.entrance_s < math.inf]
    lead_s = max(lead_in_s, LEAD_IN * met_s, *entered_s)
    # After the measured part each user ends its cycle, and what it began meanwhile.
    around_s = spread_s + lead_s + 2 * met_s
    least_s = max(window_s, met_s)
    varied_s = max(
        (CYCLES_PER_VARIATION * arm.variation * arm.mean_s / n_users for arm in arms), default=0.0
    )
    # No more windows than have a measured part as long as what is lost around it.
    worthwhile_s = max(least_s, around_s - lead_in_s)

    def number(whole_s: float) -> int:
        return min(n_blocks, max(1, int(whole_s / worthwhile_s + 1e-9)))

    whole_s = max(n_blocks * window_s, varied_s)
    n = number(whole_s)
    if len(arms) * (n * around_s + max(n * least_s, whole_s)) > limit_s:
        whole_s = varied_s
        n = number(whole_s)
    measure_s = max(least_s, whole_s / n)
    return WindowChoice(
        n_blocks=n,
        spread_s=spread_s,
        lead_in_s=lead_s,
        measure_s=measure_s,
        tail_s=max(LEAST_TAIL_S, TAIL * met_s),
        cycle_s=max((arm.mean_s for arm in arms), default=0.0),
        window_s=around_s + measure_s,
        met_s=met_s,
    )


def _entrance_s(cycles: Cycles) -> float:
    # Users that begin all at once, as in the warm-up, come in at once.
    # With few cycles chance makes one, too, and lead-ins a little longer than they need be.
    is_slow = not cycles.is_fresh and cycles.first_s > cycles.later_s
    return cycles.first_s if is_slow else math.inf
