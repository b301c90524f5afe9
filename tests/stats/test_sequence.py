import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from httpdyno.stats.sequence import (
    half_width_factor,
    mean_interval,
    ratio_interval,
    starts_needed,
    widened,
)

N_SEQUENCES = 3000
LONGEST = 40


def _bounds(values, **options):
    bounds = mean_interval(values, **options)
    assert bounds is not None
    return bounds


def _excluded_ever(draws, truth, *, alpha, first=2):
    """Whether any interval on the way leaves the truth out: a peek after every value."""
    for n in range(first, len(draws) + 1):
        bounds = mean_interval(draws[:n], alpha=alpha)
        if bounds is not None and not bounds[0] <= truth <= bounds[1]:
            return True
    return False


@pytest.mark.parametrize("spread", [1e-4, 1.0])
def test_with_a_peek_after_every_start_the_truth_is_left_out_no_more_often_than_alpha(spread):
    rng = np.random.default_rng(20261121)
    draws = rng.normal(0.3, spread, size=(N_SEQUENCES, LONGEST))
    misses = sum(_excluded_ever(row.tolist(), 0.3, alpha=0.1) for row in draws)
    # 3.5 standard errors of a true 10 %, so that only a wrong interval fails.
    assert misses <= N_SEQUENCES * 0.1 + 3.5 * math.sqrt(N_SEQUENCES * 0.1 * 0.9)
    # It would be no use if it never excluded anything: it must not be wildly conservative.
    assert misses >= N_SEQUENCES * 0.03


def test_the_fixed_sample_interval_fails_the_same_trial():
    """The check above can fail: the textbook t-interval does when one peeks."""
    from scipy import stats  # noqa: PLC0415

    rng = np.random.default_rng(5)
    misses = 0
    for row in rng.normal(0, 1, size=(600, LONGEST)):
        for n in range(2, LONGEST + 1):
            half = stats.t.ppf(0.95, n - 1) * row[:n].std(ddof=1) / math.sqrt(n)
            if abs(row[:n].mean()) > half:
                misses += 1
                break
    assert misses > 600 * 0.2


def test_the_closed_form_is_where_the_e_value_reaches_one_over_alpha():
    values, alpha, precision = [0.1, 0.4, 0.2, 0.35, 0.15, 0.3], 0.05, 0.25
    n, mean = len(values), sum(values) / len(values)

    def log_e_value(truth):
        total = sum(v - truth for v in values)
        squares = sum((v - truth) ** 2 for v in values)
        shrunk = squares - total**2 / (n + precision)
        return n / 2 * math.log(squares / shrunk) - 0.5 * math.log1p(n / precision)

    low, high = _bounds(values, alpha=alpha, precision=precision)
    edge = optimize.brentq(lambda m: log_e_value(m) - math.log(1 / alpha), mean, mean + 5)
    assert high == pytest.approx(edge)
    assert low == pytest.approx(2 * mean - edge)


@given(
    st.lists(st.floats(-2, 2, allow_nan=False), min_size=6, max_size=20),
    st.floats(-3, 3),
    st.floats(0.1, 10),
)
def test_the_interval_moves_and_stretches_with_the_data(values, shift, scale):
    low, high = _bounds(values, alpha=0.05)
    moved = _bounds([v * scale + shift for v in values], alpha=0.05)
    assert moved[0] == pytest.approx(low * scale + shift, abs=1e-9)
    assert moved[1] == pytest.approx(high * scale + shift, abs=1e-9)
    assert low <= sum(values) / len(values) + 1e-12
    assert high >= sum(values) / len(values) - 1e-12


def test_one_start_bounds_nothing_and_few_starts_bound_little():
    assert mean_interval([0.5], alpha=0.05) is None
    assert ratio_interval([0.5, 0.6], confidence=0.95) is None
    assert half_width_factor(2, alpha=0.05) == math.inf


def test_a_ratio_is_the_exponential_of_the_mean_log_ratio():
    interval = ratio_interval([math.log(2)] * 3 + [math.log(2.02)] * 3, confidence=0.95)
    assert interval is not None
    assert interval.ratio == pytest.approx(math.sqrt(2 * 2.02))
    assert 1.97 < interval.low < 2 < interval.ratio < interval.high < 2.05


def test_the_starts_needed_are_the_first_that_are_enough():
    n = starts_needed(0.03, 0.02, alpha=0.05)
    assert n is not None
    assert half_width_factor(n, alpha=0.05) * 0.03 <= 0.02
    assert half_width_factor(n - 1, alpha=0.05) * 0.03 > 0.02
    assert starts_needed(1.0, 0.001, alpha=0.05) is None


@pytest.mark.parametrize("n", [6, 12])
def test_an_interval_of_more_confidence_is_that_of_the_same_starts(n):
    logs = [0.3 + 0.01 * (k % 4) for k in range(n)]
    known = ratio_interval(logs, confidence=0.95)
    wanted = ratio_interval(logs, confidence=0.995)
    assert known is not None
    assert wanted is not None
    found = widened(known, n, confidence=0.995)
    assert found is not None
    assert (found.ratio, found.low, found.high, found.confidence) == pytest.approx(
        (wanted.ratio, wanted.low, wanted.high, wanted.confidence)
    )
    assert widened(known, n, confidence=0.9) == known


def test_few_starts_bound_nothing_at_much_confidence():
    known = ratio_interval([0.30, 0.31, 0.32], confidence=0.5)
    assert known is not None
    assert widened(known, 3, confidence=0.9999) is None
