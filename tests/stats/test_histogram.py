import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.model import HistogramData
from httpdyno.stats.histogram import (
    can_show,
    count,
    is_median_between,
    mean_s,
    merge,
    quantile_s,
)


def _histogram(values_ns):
    bounds, counts = np.unique(values_ns, return_counts=True)
    return HistogramData(
        bounds_ns=tuple(int(b) for b in bounds),
        counts=tuple(int(c) for c in counts),
        sum_s=float(sum(values_ns)) / 1e9,
        max_s=max(values_ns) / 1e9,
    )


@given(st.lists(st.integers(1, 10**10), min_size=1, max_size=200), st.floats(0.001, 1))
def test_a_quantile_is_the_smallest_value_that_covers_its_share(values, q):
    found = quantile_s(_histogram(values), q)
    at_most = sum(v / 1e9 <= found for v in values)
    below = sum(v / 1e9 < found for v in values)
    assert at_most >= q * len(values) - 1e-9
    assert below < max(1, math.ceil(q * len(values)))


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=50),
    st.lists(st.integers(1, 1000), min_size=1, max_size=50),
)
def test_merging_is_the_same_as_having_seen_all_together(first, second):
    merged = merge([_histogram(first), _histogram(second)])
    together = _histogram(first + second)
    assert merged.bounds_ns == together.bounds_ns
    assert merged.counts == together.counts
    assert mean_s(merged) == pytest.approx(mean_s(together))


def test_an_empty_distribution_has_no_percentiles():
    empty = merge([])
    assert count(empty) == 0
    assert math.isnan(quantile_s(empty, 0.5))
    assert math.isnan(mean_s(empty))


def test_a_percentile_is_shown_only_when_enough_requests_lie_beyond_it():
    assert not can_show(_histogram([1] * 999), 0.99)
    assert can_show(_histogram([1] * 1000), 0.99)
    assert not can_show(_histogram([1] * 19), 0.5)
    assert can_show(_histogram([1] * 20), 0.5)
    assert can_show(_histogram([1] * 200), 0.95)


@each_row(
    ("times", "is_between"),
    [
        ([1] * 500 + [10] * 500, True),
        ([1] * 520 + [10] * 480, True),
        ([1] * 700 + [10] * 300, False),
        ([1] * 1000, False),
        ([-math.log1p(-(k + 0.5) / 1000) for k in range(1000)], False),
        ([1] * 10 + [10] * 10, False),
    ],
    ids=["halves", "nearly", "mostly one kind", "one kind", "exponential", "few"],
)
def test_a_median_between_two_kinds_is_of_neither(times, is_between):
    assert is_median_between(_histogram([round(1000 * each) + 1 for each in times])) is is_between
