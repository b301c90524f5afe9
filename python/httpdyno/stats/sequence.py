"""Confidence sequences: intervals that stay true however often one looks.

The unit is the *start*: one log ratio of candidate over reference from one life of both server
processes. Starts are taken as independent and roughly normal on the log scale; their spread is
unknown and is learnt from the same few starts, so a plug-in normal interval would be far too
narrow at six of them. The sequence used here is exact for normal data of any spread.

`is_clear` tells whether a difference is far enough above 0 for its logarithm to be used.
"""

import math
import sys
from collections.abc import Sequence
from statistics import fmean
from typing import Protocol

from httpdyno.model import RatioInterval
from httpdyno.stats.spread import stdev

PRIOR_PRECISION = 0.25
"""The mixture's c²: effects of about 2 standard deviations of one start are found soonest.

Chosen for six to twelve starts, before any data was seen: at n = 6, 8, 12 the half-widths are
1.93, 1.49, 1.11 standard deviations, within 5 % of the best that any c² gives there.
"""


def mean_interval(
    values: Sequence[float], *, alpha: float, precision: float = PRIOR_PRECISION
) -> tuple[float, float] | None:
    """Return an interval for the mean that is valid at every length of the sequence at once.

    With probability at least 1 − alpha, the true mean lies in *all* the intervals made from the
    growing prefixes of `values`, so one may stop whenever one likes.

    Args:
        values: Independent normal values with common unknown mean and variance; (n,).
        alpha: In (0, 1).
        precision: The mixture parameter c²; fixed before the data are seen.

    Returns:
        Low and high, or None while the values bound nothing (always so for n < 2).

    Source:
        Wang and Ramdas, Anytime-valid t-tests and confidence sequences for Gaussian means with
        unknown variance (2023), theorem on the Gaussian mixture under the right Haar prior;
        first in Lai, On confidence sequences, Annals of Statistics 4 (1976). Derivation: the
        e-process for "the mean is m" is
        (1 + n/c²)^(-1/2) · ((Q + t) / (Q + t·c²/(n + c²)))^(n/2), with Q = Σ(x − x̄)² and
        t = n(x̄ − m)²; the interval holds all m at which it is below 1/alpha.
    """
    n = len(values)
    if n < 2:  # noqa: PLR2004 - one value says nothing of the spread
        return None
    mean = math.fsum(values) / n
    scatter = math.fsum((value - mean) ** 2 for value in values)
    root = (math.sqrt(1 + n / precision) / alpha) ** (2 / n)
    denominator = 1 - root * precision / (n + precision)
    if denominator <= 0:
        return None
    half_width = math.sqrt(scatter * (root - 1) / denominator / n)
    return mean - half_width, mean + half_width


class IntervalOf(Protocol):
    """Makes an interval of log ratios, as `ratio_interval` does."""

    def __call__(self, log_ratios: Sequence[float], *, confidence: float) -> RatioInterval | None:
        """Return it; None while the ratios bound nothing."""


def ratio_interval(log_ratios: Sequence[float], *, confidence: float) -> RatioInterval | None:
    """Return the ratio whose logarithm the starts estimate, with its anytime-valid interval.

    Args:
        log_ratios: Log of candidate over reference, one for each start; (n_starts,).
        confidence: Such as 0.95.

    Returns:
        None while the starts bound nothing.
    """
    bounds = mean_interval(log_ratios, alpha=1 - confidence)
    return bounds and ratio_within(bounds, log_ratios, confidence=confidence)


def ratio_within(
    bounds: tuple[float, float], log_ratios: Sequence[float], *, confidence: float
) -> RatioInterval:
    """Return the ratio whose logarithm lies within these bounds."""
    return RatioInterval(
        ratio=math.exp(math.fsum(log_ratios) / len(log_ratios)),
        low=math.exp(bounds[0]),
        high=math.exp(bounds[1]) if bounds[1] < _MOST_LOG else math.inf,
        confidence=confidence,
    )


_MOST_LOG = math.log(sys.float_info.max)


def widened(interval: RatioInterval, n: int, *, confidence: float) -> RatioInterval | None:
    """Return the interval that the same starts give at more confidence; None: they bound nothing.

    Args:
        interval: As `ratio_interval` made it; the same is returned where it has that much.
        n: Starts that it was made of.
        confidence: Wanted.
    """
    if interval.confidence >= confidence:
        return interval
    known, wanted = (
        half_width_factor(n, alpha=1 - each) for each in (interval.confidence, confidence)
    )
    if not math.isfinite(wanted):
        return None
    # Both are so many standard deviations of the same logarithms.
    half_width = math.log(interval.high / interval.low) / 2 * wanted / known
    centre = math.log(interval.ratio)
    high = centre + half_width
    return RatioInterval(
        ratio=interval.ratio,
        low=math.exp(centre - half_width),
        high=math.exp(high) if high < _MOST_LOG else math.inf,
        confidence=confidence,
    )


def half_width_factor(n: int, *, alpha: float) -> float:
    """Return the half-width that n values give, in sample standard deviations; inf if none."""
    if n < 2:  # noqa: PLR2004
        return math.inf
    root = (math.sqrt(1 + n / PRIOR_PRECISION) / alpha) ** (2 / n)
    denominator = 1 - root * PRIOR_PRECISION / (n + PRIOR_PRECISION)
    return math.sqrt((n - 1) * (root - 1) / denominator / n) if denominator > 0 else math.inf


FARTHEST = 10_000
"""Starts beyond which nobody counts what a decision takes."""


def starts_needed(standard_deviation: float, half_width: float, *, alpha: float) -> int | None:
    """Return the starts after which the half-width is expected to be reached.

    None where that is after more than `FARTHEST`.

    Args:
        standard_deviation: Of one start's log ratio.
        half_width: Wanted, of the mean log ratio.
    """
    low, high = 2, FARTHEST
    if half_width_factor(high, alpha=alpha) * standard_deviation > half_width:
        return None
    while low < high:
        middle = (low + high) // 2
        if half_width_factor(middle, alpha=alpha) * standard_deviation <= half_width:
            high = middle
        else:
            low = middle + 1
    return low


CLEAR = 4.0
"""So many standard deviations of one difference its mean is to be above 0.

The logarithm of a normal difference with a coefficient of variation v is biased by about -v²/2 and
skewed by about -3v: at 1/4 that is 3 % and 0.75, where the interval of six starts is ±48 % wide;
both fall with v while the interval falls with it too. Simulated, intervals of the ratio of two such
differences keep their coverage (`tests/stats/test_floor.py`).
"""
MUCH = 2.0
"""Or so many times its floor a difference is, each of them. What is left of a third that was taken
off hardly differs from what was there: then it may differ from start to start as any time may."""


def is_clear(differences: Sequence[float], floors: Sequence[float]) -> bool:
    """Tell whether differences to a floor are clearly above 0.

    Every one of them must be: to leave out those that are not would choose by the outcome.

    Args:
        differences: One for each start, of what is independent; (n_starts,).
        floors: What was taken off; (n_starts,).
    """
    if not differences or min(differences) <= 0:
        return False
    pairs = zip(differences, floors, strict=True)
    if len(differences) < 2 or all(above >= MUCH * floor for above, floor in pairs):  # noqa: PLR2004 - one has no spread
        return True
    return fmean(differences) >= CLEAR * stdev(differences)
