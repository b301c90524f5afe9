import numpy as np
import pytest
from tests.rows import each_row
from tests.stats.simulated import batches, exponential, histogram, poisson_run

from httpdyno.model import Batches, HistogramData
from httpdyno.stats.estimate import interval_series

FAST = HistogramData(bounds_ns=(10, 20), counts=(1, 2), sum_s=4e-8, max_s=2e-8)
SLOW = HistogramData(bounds_ns=(20, 900), counts=(3, 1), sum_s=9e-7, max_s=9e-7)


def _batches(n):
    return Batches(
        interval_s=0.01,
        offered=(4,) * n,
        completed=tuple(range(1, n + 1)),
        errors=(0,) * n,
        latency=(FAST, SLOW, *[HistogramData()] * (n - 2)),
    )


def test_intervals_become_rows_over_common_buckets():
    series = interval_series(_batches(3), 0.03)
    assert series.bounds_ns.tolist() == [10, 20, 900]
    assert series.counts.tolist() == [[1, 2, 0], [0, 3, 1], [0, 0, 0]]
    assert series.completed.tolist() == [1, 2, 3]
    assert series.sums_s.tolist() == [4e-8, 9e-7, 0]
    assert series.ended.tolist() == [3, 4, 0]
    assert series.duration_s == pytest.approx(0.03)


@each_row(("measured_s", "n"), [(0.025, 2), (0.03, 3), (0.029999999999, 3)])
def test_an_interval_that_the_end_cut_short_is_left_out(measured_s, n):
    assert interval_series(_batches(3), measured_s).n_intervals == n


def test_silence_at_the_end_is_a_part_of_the_run():
    series = interval_series(_batches(2), 0.05)
    assert series.completed.tolist() == [1, 2, 0, 0, 0]
    assert series.ended.tolist() == [3, 4, 0, 0, 0]


def test_what_is_cut_is_gone_from_all_columns():
    series = interval_series(_batches(3), 0.03).after(1)
    assert series.completed.tolist() == [2, 3]
    assert series.counts.tolist() == [[0, 3, 1], [0, 0, 0]]
    assert series.distribution() == HistogramData(
        bounds_ns=(20, 900), counts=(3, 1), sum_s=9e-7, max_s=9e-7
    )


def test_the_distribution_is_that_of_all_intervals():
    run = poisson_run(np.random.default_rng(1), 500, exponential(0.01))
    found = interval_series(batches(run), 2.0).distribution()
    expected = histogram(run[1], is_coarse=True)
    assert (found.bounds_ns, found.counts) == (expected.bounds_ns, expected.counts)
    assert found.sum_s == pytest.approx(expected.sum_s)


def test_a_run_without_anything_is_empty():
    series = interval_series(Batches(), 1.0)
    assert (series.n_intervals, series.duration_s) == (0, 0.0)
    assert series.distribution() == HistogramData()
