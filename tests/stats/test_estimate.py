import math

import numpy as np
import pytest
from tests.stats.simulated import (
    INTERVAL_S,
    RUN_S,
    closed_run,
    ends,
    even_run,
    exponential,
    exponential_truth,
    histogram,
    lognormal,
    poisson_run,
    queue_run,
    queue_truth,
    said,
    series,
    wandering_speed,
)

from httpdyno.model import HistogramData
from httpdyno.stats.estimate import mean_latency, throughput
from httpdyno.stats.estimation import MIN_INTERVALS

N_RUNS = 120
CONFIDENCE = 0.95


def _seed():
    return np.random.default_rng(20261121)


def _share_covered(estimates, truth):
    assert all(each.reason or each.low <= each.value <= each.high for each in estimates)
    with_interval = [each for each in estimates if not each.reason]
    assert len(with_interval) >= 0.9 * len(estimates)
    return sum(each.low <= truth <= each.high for each in with_interval) / len(with_interval)


def _error(p):
    return 3.5 * math.sqrt(p * (1 - p) / N_RUNS)


@pytest.mark.parametrize("rate_per_s", [50, 1000])
def test_throughput_is_covered(rate_per_s):
    rng = _seed()
    estimates = [
        throughput(series(poisson_run(rng, rate_per_s, exponential(0.01))), confidence=CONFIDENCE)
        for _ in range(N_RUNS)
    ]
    covered = _share_covered(estimates, rate_per_s)
    assert 0.95 - _error(0.95) <= covered <= 0.98 + _error(0.98)


@pytest.mark.parametrize(
    ("run", "truth"),
    [
        (lambda rng: poisson_run(rng, 1000, exponential(0.02)), exponential_truth(1000, 0.02)),
        (lambda rng: queue_run(rng, 2000, 0.5), queue_truth(2000, 0.5)),
    ],
)
def test_the_mean_latency_is_covered(run, truth):
    rng = _seed()
    estimates = [mean_latency(series(run(rng)), confidence=CONFIDENCE) for _ in range(N_RUNS)]
    covered = _share_covered(estimates, truth.mean)
    assert 0.93 - _error(0.93) <= covered <= 0.98 + _error(0.98)


def test_answers_at_an_even_pace_give_a_narrow_interval_that_holds():
    rng = _seed()
    estimates = [
        throughput(series(even_run(rng, 500, lognormal(0.01, 0.1))), confidence=CONFIDENCE)
        for _ in range(30)
    ]
    assert _share_covered(estimates, 500) == 1
    # Independent answers would give ±6 %.
    assert np.median([np.ptp(ends(each)) / 2 / 500 for each in estimates]) < 0.01


def test_a_handful_of_answers_at_an_even_pace_is_one_more_or_less():
    estimate = throughput(series(even_run(_seed(), 12.3, lognormal(0.01, 0.01))), confidence=0.95)
    low, high = ends(estimate)
    assert low <= 12.3 <= high
    assert high - low >= 2 / RUN_S


def test_few_answers_give_a_figure_but_no_interval():
    run = series(even_run(_seed(), 5, lognormal(0.01, 0.1)))
    rate, mean = (each(run, confidence=0.95) for each in (throughput, mean_latency))
    assert rate.value == pytest.approx(5, abs=0.5)
    assert (rate.low, rate.high) == (None, None)
    assert "takes 20 right answers" in said(rate.reason)
    assert mean.value == pytest.approx(0.01, rel=0.2)
    assert "takes 20 requests" in said(mean.reason)


def test_no_answer_at_all_is_a_rate_of_none_and_no_latency():
    nothing = (np.zeros(0), np.zeros(0))
    rate, mean = (each(series(nothing), confidence=0.95) for each in (throughput, mean_latency))
    assert rate.value == 0
    assert rate.reason
    assert mean.value is None
    assert mean.reason


def test_a_short_run_gives_a_figure_but_no_interval():
    run = series(poisson_run(_seed(), 1000, exponential(0.01)))
    short = run.after(run.n_intervals - MIN_INTERVALS + 1)
    estimate = throughput(short, confidence=0.95)
    assert estimate.value == pytest.approx(1000, rel=0.3)
    assert said(estimate.reason) == "an interval takes 400 ms of a steady run, there were 390 ms"
    assert not throughput(run.after(160), confidence=0.95).reason


def test_a_server_that_changes_slowly_is_said_to_need_a_longer_run():
    rng = _seed()
    runs = [closed_run(rng, 15, lognormal(0.01, 0.3), wandering_speed(0.3, 0.6)) for _ in range(30)]
    estimates = [throughput(series(run), confidence=0.95) for run in runs]
    refused = [each for each in estimates if each.reason]
    assert len(refused) > 18
    assert all(each.low is None and each.high is None and each.value for each in refused)
    assert any("throughput is correlated over about" in said(each.reason) for each in refused)
    assert any("measure for" in said(each.reason) for each in refused)


@pytest.mark.parametrize(("slope", "word"), [(-0.6, "fell"), (0.6, "rose")])
def test_a_drift_is_no_steady_level(slope, word):
    rng = _seed()
    ended = np.sort(rng.choice(np.arange(20_000) / 10_000, 3000, replace=False))
    chance = 0.5 + slope * (ended / RUN_S - 0.5)
    kept = rng.random(len(ended)) < chance
    estimate = throughput(series((ended[kept], np.full(kept.sum(), 0.01))), confidence=0.95)
    assert estimate.low is None
    assert word in said(estimate.reason) or "is correlated over" in said(estimate.reason)


def test_the_value_is_that_of_the_whole_distribution_where_nothing_was_cut():
    run = poisson_run(_seed(), 1000, exponential(0.02))
    whole = histogram(np.append(run[1], 0.5))
    estimate = mean_latency(series(run), confidence=0.95, whole=whole)
    assert estimate.value == pytest.approx(whole.sum_s / sum(whole.counts))
    assert estimate.n_batches == RUN_S / INTERVAL_S


def test_an_empty_distribution_has_no_mean():
    run = series(poisson_run(_seed(), 1000, exponential(0.02)))
    assert mean_latency(run, confidence=0.95, whole=HistogramData()).value is None
