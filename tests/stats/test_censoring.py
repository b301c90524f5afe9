import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.simulated import histogram

from httpdyno.model import HistogramData
from httpdyno.stats.histogram import could_move, highest_quantile_s, quantile_s

# Far enough apart that no two share a bucket, even a coarse one.
times_s = st.lists(st.integers(1, 200).map(lambda k: 0.001 * 1.05**k), min_size=1, max_size=80)


def _quantile(values, q):
    return sorted(values)[max(1, math.ceil(q * len(values))) - 1]


@given(times_s, times_s, st.floats(0.01, 1))
def test_the_highest_quantile_is_that_with_endless_requests(ended, given_up, q):
    latency = histogram(np.array(ended + given_up))
    found = highest_quantile_s(latency, histogram(np.array(given_up)), q)
    expected = _quantile(ended + [math.inf] * len(given_up), q)
    if math.isinf(expected):
        assert math.isinf(found)
    else:
        assert found == pytest.approx(expected, rel=0.001)


@given(times_s, times_s, st.booleans())
def test_coarse_buckets_never_hide_that_a_percentile_could_move(ended, given_up, is_coarse):
    # Nearly the same times, so that a coarse bucket holds both.
    given_up = [each * 1.001 for each in given_up]
    latency = histogram(np.array(ended + given_up))
    censored = histogram(np.array(given_up), is_coarse=is_coarse)
    for q in (0.1, 0.5, 0.9):
        least = _quantile(ended + [math.inf] * len(given_up), q)
        assert highest_quantile_s(latency, censored, q) >= least * 0.999


@given(times_s, times_s, st.floats(0.01, 0.99))
def test_a_percentile_could_move_if_it_does_when_those_requests_are_endless(ended, given_up, q):
    latency = histogram(np.array(ended + given_up))
    now = _quantile(ended + given_up, q)
    then = _quantile(ended + [math.inf] * len(given_up), q)
    assert could_move(latency, histogram(np.array(given_up)), q) == (then > now)


def test_requests_given_up_beyond_a_percentile_do_not_move_it():
    fast, given_up = np.linspace(0.001, 0.1, 995), np.full(5, 10.0)
    latency = histogram(np.append(fast, given_up))
    censored = histogram(given_up, is_coarse=True)
    assert not could_move(latency, censored, 0.5)
    assert not could_move(latency, censored, 0.99)
    assert could_move(latency, censored, 0.999)
    assert math.isinf(highest_quantile_s(latency, censored, 0.999))


def test_requests_given_up_early_move_all_that_lies_beyond_them():
    fast, given_up = np.linspace(0.001, 0.1, 950), np.full(50, 0.03)
    latency, censored = histogram(np.append(fast, given_up)), histogram(given_up)
    assert not could_move(latency, censored, 0.2)
    assert could_move(latency, censored, 0.5)
    assert highest_quantile_s(latency, censored, 0.5) == pytest.approx(0.053, rel=0.02)


@given(times_s, st.floats(0.01, 1))
def test_nothing_given_up_moves_nothing(ended, q):
    latency = histogram(np.array(ended))
    assert not could_move(latency, HistogramData(), q)
    assert highest_quantile_s(latency, HistogramData(), q) == quantile_s(latency, q)


def test_nothing_has_no_quantile_to_move():
    assert not could_move(HistogramData(), HistogramData(), 0.5)
    assert math.isnan(highest_quantile_s(HistogramData(), HistogramData(), 0.5))
