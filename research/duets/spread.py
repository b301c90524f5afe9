"""Spread and bias of log ratios whose truth is known; pure.

An error is a start's log ratio less the true one. Errors of several sizes are taken together, so a
line through them is taken out first: a way that favours a side, or that shrinks every difference,
has a bias, and that is no spread.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benches.engine.interval import CONFIDENCE, Estimate, Floats
from scipy import stats

N_RESAMPLES = 4_000
FEWEST = 4
"""Starts; of fewer no spread around a line is told."""
_SEED = 1
"""Of the resampling alone, so that the same starts always give the same interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """How errors depend on the truth."""

    side: Estimate
    """The error where nothing differs: what the second arm is flattered by, in log units."""
    shrinking: Estimate
    """By how much of itself a difference comes out too large; −0.1: a tenth is lost."""
    residuals: Floats
    """What is left of the errors; (n_starts,)."""

    @property
    def sd(self) -> float:
        """Standard deviation between starts."""
        return spread(self.residuals)


def line(errors: Sequence[float] | Floats, truths: Sequence[float] | Floats) -> Line | None:
    """Return the line through errors over truths; None for too few starts.

    Where all truths are the same there is no slope to be known, and it is taken for 0.

    Args:
        errors: (n_starts,).
        truths: log(b / a); (n_starts,).
    """
    n = len(errors)
    if n < FEWEST:
        return None
    y, x = np.asarray(errors, dtype=float), np.asarray(truths, dtype=float)
    if np.ptp(x) < 1e-9:  # noqa: PLR2004 - rounding
        nothing = Estimate(value=0.0, low=math.nan, high=math.nan)
        return Line(side=mean(y), shrinking=nothing, residuals=y - y.mean())
    design = np.column_stack([np.ones(n), x])
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    residuals: Floats = y - design @ coefficients
    variance = float(residuals @ residuals) / (n - 2)
    errors_of = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 2))
    side, shrinking = (
        Estimate(value=float(c), low=float(c - reach * e), high=float(c + reach * e))
        for c, e in zip(coefficients, errors_of, strict=True)
    )
    return Line(side=side, shrinking=shrinking, residuals=residuals)


def spread(residuals: Floats) -> float:
    """Return the standard deviation of what is left beside a line: two degrees were used up."""
    return math.sqrt(float(residuals @ residuals) / (len(residuals) - 2))


def mean(values: Sequence[float] | Floats) -> Estimate:
    """Return the mean with Student's interval; (n,)."""
    y = np.asarray(values, dtype=float)
    value = float(y.mean()) if len(y) else math.nan
    if len(y) < 2:  # noqa: PLR2004 - one value has no spread
        return Estimate(value=value, low=math.nan, high=math.nan)
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(y) - 1) * y.std(ddof=1) / math.sqrt(len(y)))
    return Estimate(value=value, low=value - reach, high=value + reach)


def within(rows: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation between the blocks of a start, over all starts.

    Args:
        rows: Log ratios of a start's blocks, for each start; (n_starts, ≥ 2 blocks).
    """
    squares = [float(np.var(row, ddof=1)) * (len(row) - 1) for row in rows if len(row) > 1]
    n = sum(len(row) - 1 for row in rows if len(row) > 1)
    return math.sqrt(sum(squares) / n) if n else math.nan


def of_starts_alone(sd: float, sd_within: float, n_blocks: float) -> float:
    """Return the part of a start's spread that more blocks would not take away; 0 for none."""
    return math.sqrt(max(0.0, sd**2 - sd_within**2 / n_blocks))


def spread_ratio(ours: Floats, theirs: Floats) -> Estimate:
    """Return the ratio of two standard deviations over the same starts, by bootstrap over them.

    The two share starts, so their ratio is better known than each of them: an F interval, for
    independent ones, would be too wide.

    Args:
        ours: What is left of one's errors; (n_starts,).
        theirs: The same of the other's, in the same order; (n_starts,).
    """
    n = len(ours)
    value = _root_ratio(float(ours @ ours), float(theirs @ theirs))
    if n < FEWEST:
        return Estimate(value=value, low=math.nan, high=math.nan)
    rng = np.random.default_rng(_SEED)
    picked = rng.integers(0, n, size=(N_RESAMPLES, n))
    ratios = np.sqrt((ours**2)[picked].sum(axis=1) / (theirs**2)[picked].sum(axis=1))
    tails = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)
    low, high = np.quantile(ratios, tails)
    return Estimate(value=value, low=float(low), high=float(high))


def _root_ratio(ours: float, theirs: float) -> float:
    return math.sqrt(ours / theirs) if theirs > 0 else math.nan


def toward_truth(errors: Sequence[float], truths: Sequence[float]) -> list[float]:
    """Return errors with the sign turned so that above 0 a difference came out too large.

    Where nothing was planted they are as they are.
    """
    return [e if t >= 0 else -e for e, t in zip(errors, truths, strict=True)]
