import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.stats.simulated import (
    RUN_S,
    batches,
    closed_run,
    ends,
    exponential,
    exponential_truth,
    histogram,
    lognormal,
    poisson_run,
    queue_run,
    queue_truth,
    said,
    summary,
    wandering_speed,
    warming_speed,
)

from httpdyno.model import Batches, HistogramData
from httpdyno.stats.estimate import from_intervals
from httpdyno.stats.estimation import Estimate
from httpdyno.stats.histogram import merge
from httpdyno.stats.summary import QUANTILES, Summary, summarise


def _seed():
    return np.random.default_rng(20261121)


def _figures(found: Summary) -> dict[str, Estimate]:
    return {"throughput": found.throughput_per_s, **found.latency_s}


def test_a_run_has_all_figures_with_their_intervals():
    found = summary(poisson_run(_seed(), 8000, exponential(0.02)))
    assert list(found.latency_s) == ["mean", "p50", "p90", "p99", "p99.9"]
    truth = exponential_truth(8000, 0.02)
    for name, value in msgspec.structs.asdict(found.throughput_per_s).items():
        assert name != "reason" or value is None
    for each, true in zip(
        _figures(found).values(),
        [truth.throughput, truth.mean, truth.p50, truth.p90, truth.p99, 0.02 * math.log(1000)],
        strict=True,
    ):
        low, high = ends(each)
        assert each.value is not None
        assert low <= each.value <= high
        # Ten half-widths: that the figure is the right one, not that this interval holds it.
        assert each.value == pytest.approx(true, abs=5 * (high - low))
    assert found.reasons == ()
    assert found.warm_up.n_cut == 0


@pytest.mark.parametrize(
    ("run", "truth"),
    [
        (lambda rng: poisson_run(rng, 1500, exponential(0.02)), exponential_truth(1500, 0.02)),
        (lambda rng: queue_run(rng, 1500, 0.5), queue_truth(1500, 0.5)),
    ],
)
def test_whatever_was_cut_the_intervals_hold(run, truth):
    rng, n_runs = _seed(), 100
    found = [_figures(summary(run(rng))) for _ in range(n_runs)]
    for name, true in (("throughput", truth.throughput), ("p50", truth.p50), ("p99", truth.p99)):
        given = [ends(each[name]) for each in found if not each[name].reason]
        wrong = sum(not low <= true <= high for low, high in given)
        assert wrong <= n_runs * (0.08 + 3.5 * math.sqrt(0.08 * 0.92 / n_runs)), name
        assert name == "p99" or len(given) >= 0.85 * n_runs


def test_without_the_warm_up_the_figures_are_those_of_the_rest():
    run = closed_run(_seed(), 15, lognormal(0.01, 0.3), warming_speed(3.0, 0.05))
    found = summary(run)
    assert found.warm_up.n_cut > 0
    steady = 15 / (0.01 * math.exp(0.3**2 / 2))
    low, high = ends(found.throughput_per_s)
    assert low * 0.98 <= steady <= high * 1.02
    assert len(run[0]) / RUN_S < low
    kept = run[1][run[0] >= found.warm_up.cut_s]
    assert found.latency_s["p50"].value == pytest.approx(np.median(kept), rel=0.02)
    assert found.throughput_per_s.n_batches == 200 - found.warm_up.n_cut


def test_a_run_that_is_not_steady_has_figures_with_a_reason_instead_of_intervals():
    rng = _seed()
    ended = np.sort(rng.random(3000) ** 0.5) * RUN_S
    found = summary((ended, rng.exponential(0.01, 3000)))
    assert found.warm_up.reason
    for name, each in _figures(found).items():
        assert (each.low, each.high) == (None, None), name
        assert each.reason, name
    assert found.throughput_per_s.value == pytest.approx(1500)
    assert found.warm_up.reason in found.reasons


def test_each_reason_is_given_once():
    run = closed_run(_seed(), 15, lognormal(0.01, 0.3), wandering_speed(0.3, 2.0))
    reasons = summary(run).reasons
    assert len(reasons) == len(set(reasons)) > 0
    assert all(not said(each).endswith(".") and "\n" not in said(each) for each in reasons)


def test_requests_that_never_ended_make_figures_lower_bounds():
    rng = _seed()
    ended, taken = poisson_run(rng, 1500, exponential(0.02))
    given_up = np.full(60, 10.0)
    found = summarise(
        batches((ended, taken)),
        measured_s=RUN_S,
        latency=histogram(np.append(taken, given_up)),
        censored=histogram(given_up),
    )
    p50, p90, p99 = (found.latency_s[name] for name in ("p50", "p90", "p99"))
    assert not p50.is_lower_bound
    assert not p90.is_lower_bound
    assert ends(p50)
    assert p99.is_lower_bound
    assert p99.value == pytest.approx(10, rel=0.01)
    assert (p99.low, p99.high) == (None, None)
    assert "never ended" in said(p99.reason)
    assert found.latency_s["mean"].is_lower_bound
    assert not found.throughput_per_s.is_lower_bound


def test_requests_given_up_within_an_interval_take_it_away():
    ended, taken = poisson_run(_seed(), 1500, exponential(0.02))
    taken = np.maximum(taken, 0.001)
    latency = histogram(taken)
    p50 = ends(summary((ended, taken)).latency_s["p50"])
    # One request was given up just below the interval's upper end, and so above the median.
    censored = histogram(np.array([p50[1] * 0.99]))
    found = summarise(batches((ended, taken)), measured_s=RUN_S, latency=latency, censored=censored)
    estimate = found.latency_s["p50"]
    assert not estimate.is_lower_bound
    assert estimate.low is None
    assert "upper end" in said(estimate.reason)


def test_nothing_measured_is_no_figures():
    found = summarise(Batches(), measured_s=0.0, latency=HistogramData())
    for name, each in _figures(found).items():
        assert each.value is None, name
        assert each.reason, name


def test_a_summary_survives_json():
    found = summary(poisson_run(_seed(), 500, exponential(0.02)))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Summary) == found


def test_reason_and_interval_exclude_each_other():
    rng = _seed()
    for rate_per_s in (5, 50, 500, 2000):
        for each in _figures(summary(queue_run(rng, rate_per_s, 0.7))).values():
            assert (each.low is None) == (each.high is None) == bool(each.reason)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6),
    st.floats(0, 0.9),
    st.booleans(),
)
def test_of_a_handful_of_requests_the_same_is_said_without_arrays(ended, measured_s, has_interval):
    batches = Batches(
        interval_s=0.01 if has_interval else 0.0,
        offered=tuple(n for n, _ in ended),
        completed=tuple(n for n, _ in ended),
        errors=tuple(0 for _ in ended),
        latency=tuple(histogram(np.full(n, 0.001 * (i + 1))) for i, (_, n) in enumerate(ended)),
    )
    latency = merge(batches.latency)
    shown = summarise(batches, measured_s=measured_s, latency=latency)
    rate, figures, beginning = from_intervals(batches, measured_s, latency, QUANTILES, 0.95)
    assert shown.latency_s == figures
    assert shown.warm_up == beginning
    assert structs.replace(shown.throughput_per_s, value=None) == structs.replace(rate, value=None)
    assert shown.throughput_per_s.value == pytest.approx(rate.value)
