"""How long a comparison still goes on, by what was seen of it so far; pure.

It is the geometric mean of the starts that a decision needs by what was seen, and of those that
there are. The first alone jumps about; a comparison that has been open for so long is often open
for as long again.
"""

import math
from dataclasses import dataclass

from httpdyno.experiment.claim import Claim
from httpdyno.model import RatioInterval
from httpdyno.stats.sequence import half_width_factor, starts_needed


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """How far a comparison is, and what is before it."""

    n_starts: int
    """All that count, with a figure or without."""
    fewest: int
    """Below so many starts nothing is claimed."""
    start_s: float
    """What each further start is expected to take."""
    allowed_s: float
    """What the comparison may still use; infinite where no time ends it."""
    most: int | None = None
    """Starts that end it, decided or not; None: time alone does."""
    precise_log_ratio: float | None = None
    """It goes on after the decision until the half-width is this small."""


def decides_in_s(state: Claim, course: Course) -> float | None:
    """Return the time until a decision, at what was seen so far; None: out of sight, 0: decided."""
    if state.is_decided:
        return 0.0
    if course.n_starts < course.fewest:
        return (course.fewest - course.n_starts) * course.start_s
    return _time_to(state.starts_needed, course)


def time_left_s(state: Claim, course: Course) -> float:
    """Return the time that the comparison is expected to go on: no more than it may."""
    soon_s = decides_in_s(state, course)
    if state.is_decided and course.precise_log_ratio is not None and state.by_chance is not None:
        needed = precise_after(state.by_chance, state.n_starts, course.precise_log_ratio)
        soon_s = _time_to(needed, course)
    ends_s = [course.allowed_s] if soon_s is None else [course.allowed_s, soon_s]
    if course.most is not None:
        ends_s.append((course.most - course.n_starts) * course.start_s)
    return max(0.0, min(ends_s))


def _time_to(needed: int | None, course: Course) -> float | None:
    """Return the time until so many starts in all are there, as a guess that few looks unsettle.

    What a decision needs by the effect and the spread that were seen jumps about, because a few
    starts tell little of either. That what was open for so long stays so for as long again is no
    worse a guess, and a steady one. Their geometric mean, at half of what it then took: within a
    factor of two in 7 to 8 of 10 simulated sequences whose effect is 0.3 to 1 standard deviations
    of a start, where the needed starts alone are in 5 of 10.
    """
    if needed is None:
        return None
    missing = max(1, needed - course.n_starts)
    return math.sqrt(missing * max(1, course.n_starts)) * course.start_s


def precise_after(interval: RatioInterval, n_starts: int, log_ratio: float) -> int | None:
    """Return the starts after which the interval's half-width is expected to be so small."""
    if interval.low <= 0 or not math.isfinite(interval.high):
        return None
    alpha = 1 - interval.confidence
    half_width = math.log(interval.high / interval.low) / 2
    spread = half_width / half_width_factor(n_starts, alpha=alpha)
    return starts_needed(spread, math.log1p(log_ratio), alpha=alpha)
