import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.rows import each_row
from tests.stats.simulated import wandering

from httpdyno.stats.dependence import Dependence, mean_variances, two_sided_p
from httpdyno.stats.estimation import MIN_INTERVALS

N_SERIES = 400
N = 200


def _shares(memory, *, share=1.0, n=N):
    """How often a mean is covered, a run is called too short, and a mean covered if it is not."""
    rng = np.random.default_rng(20261121)
    covered = slow = covered_and_not_slow = 0
    for _ in range(N_SERIES):
        series = math.sqrt(share) * wandering(rng, n, memory)
        series += math.sqrt(1 - share) * rng.standard_normal(n)
        dependence = Dependence(series)
        is_covered = abs(series.mean()) <= dependence.half_width(0.95)
        is_slow = dependence.p_slow > 0.5
        covered += is_covered
        slow += is_slow
        covered_and_not_slow += is_covered and not is_slow
    return covered / N_SERIES, slow / N_SERIES, covered_and_not_slow / (N_SERIES - slow)


def _error(p):
    """3.5 standard errors, so that only a wrong interval fails."""
    return 3.5 * math.sqrt(p * (1 - p) / N_SERIES)


# Memories of 0, 1/140, 1/70 and 1/40 of the run: near 1/16 some runs seem to have a longer one.
@each_row(
    ("memory", "share", "most_refused"),
    [(0, 1.0, 0.02), (1.44, 1.0, 0.02), (3, 1.0, 0.05), (5, 0.3, 0.12)],
)
def test_a_mean_is_covered_whatever_a_short_memory(memory, share, most_refused):
    covered, slow, _ = _shares(memory, share=share)
    assert 0.95 - _error(0.95) <= covered <= 0.98 + _error(0.98)
    assert slow <= most_refused + _error(most_refused)


def test_a_long_memory_is_refused_rather_than_covered_badly():
    # A fifth of the run: it holds five memories.
    _, slow, covered = _shares(N / 5)
    assert slow >= 0.8
    assert (1 - slow) * (1 - covered) <= 0.08 + _error(0.08)


def test_few_intervals_are_enough():
    covered, slow, _ = _shares(0, n=MIN_INTERVALS)
    assert 0.95 - _error(0.95) <= covered <= 0.985 + _error(0.985)
    assert slow <= 0.05 + _error(0.05)


def test_plain_batch_means_fail_the_same_trial():
    """The check above can fail: batch means that passed a test of independence do."""
    rng = np.random.default_rng(3)
    given_up = covered = 0
    for _ in range(N_SERIES):
        series = wandering(rng, N, 10)
        for size in (1, 2, 3, 4, 5, 6, 8, 10, 12):
            means = series[: N // size * size].reshape(-1, size).mean(axis=1)
            ratio = (np.diff(means) ** 2).sum() / ((means - means.mean()) ** 2).sum()
            m = len(means)
            if 1 - ratio / 2 < 0.84 * math.sqrt((m - 2) / (m * m - 1)):
                half = stats.t.ppf(0.975, m - 1) * means.std(ddof=1) / math.sqrt(m)
                covered += abs(means.mean()) <= half
                break
        else:
            given_up += 1
    assert covered / (N_SERIES - given_up) < 0.85


@each_row("degrees", [2, 4, 8, 40, 48])
def test_students_distribution_is_scipys(degrees):
    t = np.array([0.0, 0.1, 1.0, 2.0, 5.0, 30.0])
    assert two_sided_p(t, degrees) == pytest.approx(2 * stats.t.sf(t, degrees), abs=1e-13)


@given(st.integers(0, 1000), st.floats(-100, 100), st.floats(0.01, 100))
def test_the_level_does_not_matter_and_the_unit_only_scales(seed, shift, scale):
    series = wandering(np.random.default_rng(seed), 60, 2)
    width = Dependence(series).half_width(0.95)
    assert Dependence(series * scale + shift).half_width(0.95) == pytest.approx(
        width * scale, rel=1e-3
    )


def test_more_confidence_is_wider():
    dependence = Dependence(wandering(np.random.default_rng(1), N, 2))
    widths = [dependence.half_width(confidence) for confidence in (0.5, 0.9, 0.95, 0.999)]
    assert widths == sorted(widths)
    assert widths[0] > 0


def test_what_never_changes_has_no_spread():
    dependence = Dependence(np.full(N, 7.0))
    assert dependence.is_constant
    assert dependence.half_width(0.95) == 0
    assert dependence.p_slow < 0.5


def test_what_keeps_even_has_less_spread_than_what_is_independent():
    rng = np.random.default_rng(2)
    # Differences of white noise: what is too early now is missing later.
    even = np.diff(rng.standard_normal(N + 1))
    mixed = rng.permutation(even)
    assert Dependence(even).half_width(0.95) < 0.5 * Dependence(mixed).half_width(0.95)


@each_row("length", [5, 50, 200])
def test_the_variance_of_a_mean_over_any_length_is_that_of_the_process(length):
    rng = np.random.default_rng(4)
    memory, n_paths = 8.0, 4000
    means = [wandering(rng, length, memory).mean() for _ in range(n_paths)]
    # All of the spectrum is in the hump, which is at frequency 0 what it is for AR(1).
    rho, height = math.exp(-1 / memory), 1e6
    scale = (1 + rho) / (1 - rho) / (1 + height)
    [factor] = mean_variances(length, np.array([memory]), np.array([height]))
    assert np.var(means) == pytest.approx(scale * factor, rel=0.15)


def test_the_variance_of_a_mean_of_independent_intervals_is_that_of_one_over_their_number():
    assert mean_variances(50, np.array([3.0]), np.array([0.0])) == pytest.approx([1 / 50])


def test_a_memory_that_is_too_long_is_about_what_it_is():
    rng = np.random.default_rng(5)
    memories = [Dependence(wandering(rng, N, 40)).slow_memory for _ in range(100)]
    assert 10 < np.median(memories) < 80


def test_a_slope_shows_in_the_slowest_wave():
    rng = np.random.default_rng(6)
    flat = [
        Dependence(rng.standard_normal(N), n_left_out=1).p_of_slowest_wave()
        for _ in range(N_SERIES)
    ]
    assert np.mean(np.array(flat) < 0.02) <= 0.02 + _error(0.02)
    slope = np.linspace(-1, 1, N)
    steep = [
        Dependence(rng.standard_normal(N) + slope, n_left_out=1).p_of_slowest_wave()
        for _ in range(100)
    ]
    assert np.mean(np.array(steep) < 0.02) > 0.8
