"""Curves that level off, and curves that grow on: told apart, and only where they can be."""

import numpy as np
import pytest
from scipy import optimize, stats

from httpdyno.stats.fit import fit_saturation

COUNTS = np.array([0, 10, 25, 50, 100, 150, 300, 525, 1000.0])


def curve(n, a, b, c, d):
    return a + b * (1 - np.exp(-n / c)) + d * n


def seen(leak, noise, seed=1, n=COUNTS):
    return curve(n, 0.35, 20.0, 48.0, leak) + np.random.default_rng(seed).normal(0, noise, len(n))


@pytest.mark.parametrize("leak", [0.0, 0.004])
def test_a_curve_is_the_one_that_others_find(leak):
    y = seen(leak, 0.2)
    found = fit_saturation(COUNTS, y, has_slope=True, confidence=0.95)
    other, _ = optimize.curve_fit(curve, COUNTS, y, p0=(0.3, 19, 40, 0.001))
    mine = (found.start, found.rise, found.n_scale, found.slope)
    # The row of c is fine to half a percent.
    assert mine == pytest.approx(other, rel=0.01, abs=5e-5)


def test_without_noise_the_truth_comes_back():
    found = fit_saturation(COUNTS, seen(0.02, 0.0), has_slope=True, confidence=0.95)
    assert found.slope == pytest.approx(0.02, rel=1e-3)
    assert found.level == pytest.approx(20.35, rel=1e-3)
    assert found.at(525) == pytest.approx(curve(525, 0.35, 20, 48, 0.02), rel=1e-3)


@pytest.mark.parametrize("leak", [0.0, 0.004])
def test_the_interval_of_the_leak_holds_the_truth_as_often_as_it_says(leak):
    n_held = 0
    for seed in range(150):
        y = seen(leak, 0.3, seed)
        found = fit_saturation(COUNTS, y, has_slope=True, confidence=0.9)
        n_held += found.low <= leak <= found.high
    # A profile is exact for straight curves only; of this one it may say a little less or more.
    assert stats.binomtest(n_held, 150, 0.88, alternative="less").pvalue > 1e-3


def test_a_leak_is_proven_where_it_is_and_not_where_it_is_not():
    low_of = [
        fit_saturation(COUNTS, seen(leak, 0.2), has_slope=True, confidence=0.95).low
        for leak in (0.0, 0.004)
    ]
    assert low_of[0] < 0 < low_of[1]


def test_a_curve_that_has_not_bent_bounds_nothing():
    n = np.array([0, 5, 10, 15, 20, 25.0])
    y = 1 + 0.02 * n + np.array([0.001, -0.001, 0.002, -0.002, 0.001, 0.0])
    found = fit_saturation(n, y, has_slope=True, confidence=0.95)
    assert (found.low, found.high) == (-np.inf, np.inf)


def test_too_few_points_for_an_interval_bound_nothing():
    n, y = np.array([0, 25, 150, 525.0]), np.array([0.35, 8.6, 19.3, 20.4])
    found = fit_saturation(n, y, has_slope=True, confidence=0.95)
    assert (found.low, found.high) == (-np.inf, np.inf)
    level = fit_saturation(n, y, has_slope=False, confidence=0.95)
    assert level.low < 20.4 < level.high
    assert level.slope == 0
