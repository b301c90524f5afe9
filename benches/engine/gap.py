"""Whether gaps are those of a Poisson process: pure functions of gaps."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Gaps = NDArray[np.float64]

_BRANCH = 2.0
# Source: Marsaglia and Marsaglia, Evaluating the Anderson-Darling distribution, Journal of
# Statistical Software 9(2), 2004: `adinf`, right to five digits for any sample above 100.
_SMALL = (2.00012, 0.247105, -0.0649821, 0.0347962, -0.0116720, 0.00168691)
_LARGE = (1.0776, -2.30695, 0.43424, -0.082433, 0.008056, -0.0003146)


def anderson_darling(gaps_s: Gaps, rate_per_s: float) -> tuple[float, float]:
    """Return A² and its p-value: whether gaps are exponential with exactly this rate.

    Nothing is estimated from the gaps: the rate is what was asked for, so a rate that is a little
    wrong counts against the gaps too.

    Args:
        gaps_s: (n,), each above 0.
        rate_per_s: One over the mean gap.
    """
    x = np.sort(gaps_s) * rate_per_s
    n = len(x)
    # ln F and ln (1 - F) of the exponential distribution.
    log_below, log_above = np.log(-np.expm1(-x)), -x
    weights = 2 * np.arange(1, n + 1) - 1
    statistic = -n - float(np.mean(weights * (log_below + log_above[::-1])))
    return statistic, 1 - _distribution(statistic)


def lag_one(gaps_s: Gaps) -> tuple[float, float]:
    """Return Spearman's correlation of each gap with the next one, and its p-value; (n,)."""
    found = stats.spearmanr(gaps_s[:-1], gaps_s[1:])
    return float(found.statistic), float(found.pvalue)


def _distribution(z: float) -> float:
    """Return the probability that A² is below z, for a large sample."""
    if z <= 0:
        return 0.0
    if z < _BRANCH:
        series = sum(c * (z**power) for power, c in enumerate(_SMALL))
        return math.exp(-1.2337141 / z) / math.sqrt(z) * series
    return math.exp(-math.exp(sum(c * z**power for power, c in enumerate(_LARGE))))
