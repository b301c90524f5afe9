import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row
from tests.stats.simulated import (
    bucket_bounds_ns,
    ends,
    exponential,
    exponential_truth,
    histogram,
    lognormal,
    poisson_run,
    queue_run,
    queue_truth,
    said,
    series,
    wandering_run,
    wandering_truth,
)

from httpdyno.stats.estimate import percentile
from httpdyno.stats.estimation import percentile_name
from httpdyno.stats.histogram import MIN_TAIL_COUNT, lower_edge_ns

N_RUNS = 120
WANDERING = {"median_s": 0.01, "sigma": 0.4}


def _seed():
    return np.random.default_rng(20261121)


def _seen(run, truth, q):
    """How often there is an interval, how often it holds, and how often there is a wrong one."""
    rng = _seed()
    n_given = n_covered = 0
    for _ in range(N_RUNS):
        drawn = run(rng)
        estimate = percentile(series(drawn), q, confidence=0.95, whole=histogram(drawn[1]))
        if not estimate.reason:
            low, high = ends(estimate)
            assert estimate.value is not None
            assert low <= estimate.value <= high
            n_given += 1
            n_covered += low <= truth <= high
    return n_given / N_RUNS, n_covered / max(1, n_given), (n_given - n_covered) / N_RUNS


def _error(p):
    return 3.5 * math.sqrt(p * (1 - p) / N_RUNS)


@pytest.mark.parametrize("q", [0.5, 0.99])
def test_percentiles_of_independent_requests_are_covered(q):
    truth = -0.02 * math.log(1 - q)
    given_share, covered, _ = _seen(lambda rng: poisson_run(rng, 1500, exponential(0.02)), truth, q)
    assert given_share >= 0.9
    assert 0.95 - _error(0.95) <= covered <= 0.98 + _error(0.98)


@pytest.mark.parametrize(
    ("run", "truth"),
    [
        (
            lambda rng: wandering_run(rng, 1000, memory_s=0.02, **WANDERING),
            wandering_truth(1000, **WANDERING),
        ),
        (lambda rng: queue_run(rng, 2000, 0.7), queue_truth(2000, 0.7)),
    ],
)
def test_the_median_is_covered_where_requests_hang_together(run, truth):
    given_share, covered, _ = _seen(run, truth.p50, 0.5)
    assert given_share >= 0.9
    assert 0.94 - _error(0.94) <= covered <= 0.98 + _error(0.98)


def test_a_tail_in_bunches_is_refused_rather_than_covered_badly():
    # A few busy periods hold all that lies beyond the p99 of such a queue in two seconds.
    given_share, _, wrong = _seen(
        lambda rng: queue_run(rng, 1000, 0.7), queue_truth(1000, 0.7).p99, 0.99
    )
    assert given_share <= 0.1
    assert wrong <= 0.05


def test_what_refuses_a_tail_says_how_long_a_run_it_takes():
    estimate = percentile(series(queue_run(_seed(), 1000, 0.7)), 0.99, confidence=0.95)
    assert estimate.value is not None
    assert (estimate.low, estimate.high) == (None, None)
    assert "too few independent bunches" in said(estimate.reason)
    assert "measure for" in said(estimate.reason)


def test_a_longer_run_bounds_what_a_short_one_could_not():
    run = queue_run(_seed(), 1000, 0.5, run_s=30.0)
    estimate = percentile(series(run, run_s=30.0), 0.99, confidence=0.95)
    low, high = ends(estimate)
    assert low < queue_truth(1000, 0.5).p99 < high


def test_a_percentile_that_the_sample_cannot_carry_has_no_value():
    estimate = percentile(
        series(poisson_run(_seed(), 300, exponential(0.02))), 0.99, confidence=0.95
    )
    assert estimate.value is None
    assert said(estimate.reason).startswith("p99 takes 1,000 requests, there were 5")


def test_a_median_of_few_requests_is_not_known():
    estimate = percentile(series(poisson_run(_seed(), 5, exponential(0.02))), 0.5, confidence=0.95)
    assert (estimate.value, estimate.low) == (None, None)
    assert "takes 20 requests" in said(estimate.reason)
    assert MIN_TAIL_COUNT == 10


def test_nothing_has_no_percentiles():
    estimate = percentile(series((np.zeros(0), np.zeros(0))), 0.5, confidence=0.95)
    assert estimate.value is None
    assert estimate.low is None


def test_where_all_requests_take_the_same_time_that_is_the_interval():
    ended = np.sort(_seed().random(2000)) * 2
    run = (ended, np.full(2000, 0.02))
    for q in (0.5, 0.9, 0.99):
        low, high = ends(percentile(series(run), q, confidence=0.95, whole=histogram(run[1])))
        assert low <= 0.02 <= high
        assert high - low < 0.02 * 0.001


def test_an_interval_reaches_over_a_gap_only_where_the_share_is_near_it():
    rng = _seed()
    ended = np.sort(rng.random(2000)) * 2
    run = (ended, np.where(rng.random(2000) < 0.1, 0.020, 0.001))
    p50, p90, p99 = (ends(percentile(series(run), q, confidence=0.95)) for q in (0.5, 0.9, 0.99))
    assert p50[1] < 0.0011
    assert p99[0] > 0.019
    assert p90[0] < 0.0011
    assert p90[1] > 0.019


def test_latencies_that_were_all_cut_do_not_count():
    rng = _seed()
    ended = np.sort(rng.random(3000)) * 2
    run = series(
        (ended, np.where(ended < 0.5, 0.001, np.where(rng.random(3000) < 0.6, 0.02, 0.03)))
    )
    low, high = ends(percentile(run.after(50), 0.5, confidence=0.95))
    assert 0.0199 <= low <= high <= 0.0202


def test_coarse_buckets_only_make_intervals_a_little_wider():
    run = poisson_run(_seed(), 1500, lognormal(0.01, 0.5))
    fine = percentile(series(run), 0.9, confidence=0.95, whole=histogram(run[1]))
    coarse = percentile(series(run), 0.9, confidence=0.95)
    assert ends(coarse) == pytest.approx(ends(fine), rel=0.01)


@given(st.integers(1, 2**42 - 1), st.booleans())
def test_a_bucket_holds_what_falls_into_it(value_ns, is_coarse):
    [bound_ns] = bucket_bounds_ns(np.array([(value_ns + 0.5) / 1e9]), is_coarse)
    value_ns = int((value_ns + 0.5) / 1e9 * 1e9)
    low_ns = lower_edge_ns(int(bound_ns), is_coarse=is_coarse)
    assert low_ns <= value_ns <= bound_ns
    assert bound_ns - low_ns <= value_ns / (128 if is_coarse else 1024)


@each_row(("q", "name"), [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")])
def test_percentiles_are_called_as_everywhere(q, name):
    assert percentile_name(q) == name


def test_exponential_truth_is_that_of_the_formula():
    assert exponential_truth(1, 2.0).p50 == pytest.approx(2 * math.log(2))


def _reason_at_p999(latency_s):
    jittered_s = latency_s * _seed().uniform(0.99, 1.01, len(latency_s))
    drawn = series((np.linspace(0.0, 2.0, len(latency_s), endpoint=False), jittered_s))
    return percentile(drawn, 0.999, confidence=0.95, whole=histogram(jittered_s)).reason


def test_the_reason_at_a_percentile_names_that_one_and_not_where_else_was_looked():
    """The row of p99.9 told of p99.5, at which its tail's dependence is also looked at."""
    index = np.arange(20_000)
    # The slowest come evenly; of the next ones the second half has four times as many.
    is_slow = index % np.where(index < 10_000, 400, 100) == 1
    latency_s = np.where(index % 500 == 0, 1.0, np.where(is_slow, 0.1, 0.01))
    assert said(_reason_at_p999(latency_s)).startswith("the tail that p99.9 lies in ")


def test_a_percentile_of_requests_that_get_slower_is_never_said_to_fall():
    """It was: fewer requests at most as slow as before is a percentile that rises."""
    rng, n = _seed(), 20_000
    told = set()
    for _ in range(40):
        latency_s = rng.lognormal(math.log(0.01), 0.4, n) * np.linspace(1, 1.05, n)
        drawn = series((np.linspace(0.0, 2.0, n, endpoint=False), latency_s))
        reason = percentile(drawn, 0.5, confidence=0.95, whole=histogram(latency_s)).reason
        told |= {word for word in ("rose", "fell") if word in said(reason)}
    assert told == {"rose"}
