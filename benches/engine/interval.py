"""Intervals by bootstrap over runs: pure functions of the numbers of the runs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95
N_RESAMPLES = 10_000
MIN_FOR_BOOTSTRAP = 6
_SEED = 1
"""Of the resampling, so that the same runs always give the same interval."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


def ratio_of_pairs(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Return the geometric mean of the ratios of interleaved pairs, with its interval.

    The interval is the bootstrap-t over pairs of log ratios: with eight pairs the simpler
    percentile bootstrap covers about 90 % only. Fewer than six have nothing to be drawn from:
    they get Student's interval.

    Args:
        ours: (n_pairs,), above 0.
        theirs: (n_pairs,), above 0; the partner of `ours` at the same place.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 12.5.
    """
    logs = np.log(np.asarray(ours, dtype=float) / np.asarray(theirs, dtype=float))
    mean, error = float(logs.mean()), _error(logs)
    if len(logs) < 2 or error == 0:  # noqa: PLR2004 - one value has no spread
        return Estimate(value=math.exp(mean), low=math.exp(mean), high=math.exp(mean))
    below, above = _t_bounds(logs, mean) if len(logs) >= MIN_FOR_BOOTSTRAP else _student(len(logs))
    return Estimate(
        value=math.exp(mean),
        low=math.exp(mean - above * error),
        high=math.exp(mean - below * error),
    )


def median_of_runs(values: Sequence[float]) -> Estimate:
    """Return the median over runs, with the percentile bootstrap's interval; (n_runs,)."""
    return _percentile(np.asarray(values, dtype=float), lambda each: np.median(each, axis=1))


def mean_of_runs(values: Sequence[float]) -> Estimate:
    """Return the mean over runs, with the percentile bootstrap's interval; (n_runs,)."""
    return _percentile(np.asarray(values, dtype=float), lambda each: each.mean(axis=1))


def _t_bounds(logs: Floats, mean: float) -> tuple[float, float]:
    samples = _resampled(logs)
    errors = samples.std(axis=1, ddof=1) / math.sqrt(len(logs))
    is_spread = errors > 0
    below, above = np.quantile(
        (samples.mean(axis=1)[is_spread] - mean) / errors[is_spread], _tails()
    )
    return float(below), float(above)


def _student(n: int) -> tuple[float, float]:
    above = float(stats.t.ppf(_tails()[1], n - 1))
    return -above, above


def _percentile(values: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
    low, high = np.quantile(statistic(_resampled(values)), _tails())
    return Estimate(value=float(statistic(values[None, :])[0]), low=float(low), high=float(high))


def _resampled(values: Floats) -> Floats:
    rng = np.random.default_rng(_SEED)
    picked: Floats = values[rng.integers(0, len(values), size=(N_RESAMPLES, len(values)))]
    return picked


def _error(values: Floats) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _tails() -> tuple[float, float]:
    return (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2
