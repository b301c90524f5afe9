"""A line through points: against another implementation, and how often its intervals hold."""

import numpy as np
import pytest
from scipy import stats

from httpdyno.stats.fit import fit_line, student_t


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 8, 9, 30, 101])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_quantile_is_that_of_student(degrees, confidence):
    expected = stats.t.ppf((1 + confidence) / 2, degrees)
    assert student_t(degrees, confidence) == pytest.approx(expected, rel=1e-6)


def test_a_line_is_the_one_that_others_find():
    x, y = np.array([0.0, 1.0, 2.0, 3.0, 5.0]), np.array([1.0, 2.1, 2.9, 4.3, 5.8])
    found = fit_line(x, y, np.ones(5), confidence=0.95)
    other = stats.linregress(x, y)
    t = stats.t.ppf(0.975, 3)
    assert found.slope == pytest.approx(other.slope)
    assert found.intercept == pytest.approx(other.intercept)
    assert found.slope_high - found.slope == pytest.approx(t * other.stderr)
    assert found.intercept - found.intercept_low == pytest.approx(t * other.intercept_stderr)


def test_two_points_give_a_line_and_no_interval():
    found = fit_line(np.array([1.0, 3.0]), np.array([2.0, 8.0]), np.ones(2), confidence=0.95)
    assert found.intercept == pytest.approx(-1)
    assert found.slope == pytest.approx(3)
    assert found.slope_low == -np.inf
    assert found.slope_high == np.inf


def test_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    x = np.array([0.2, 0.1, 0.05, 0.01, 0.0002])
    error = np.array([3.0, 2.0, 1.0, 0.5, 0.4])
    n_held = 0
    for _ in range(2000):
        y = 0.03 + 1.6 * x + error * rng.normal(0, 0.01, 5)
        found = fit_line(x, y, 1 / error, confidence=0.9)
        n_held += found.slope_low <= 1.6 <= found.slope_high
    assert stats.binomtest(n_held, 2000, 0.9).pvalue > 1e-4
