import math

import numpy as np
import pytest
from tests.rows import each_row
from tests.stats.simulated import (
    INTERVAL_S,
    RUN_S,
    closed_run,
    exponential,
    lognormal,
    poisson_run,
    queue_run,
    said,
    series,
    wandering,
    warming_speed,
)

from httpdyno.stats.estimate import MAX_CUT_RATIO, IntervalSeries, throughput, warm_up

N = round(RUN_S / INTERVAL_S)
N_RUNS = 200
LONGEST = MAX_CUT_RATIO * N


def _seed():
    return np.random.default_rng(20261121)


def _error(p, n=N_RUNS):
    return 3.5 * math.sqrt(p * (1 - p) / n)


def _counts(values):
    """A run of which only the right answers in each interval are known."""
    return IntervalSeries(
        interval_s=INTERVAL_S,
        completed=values,
        sums_s=np.zeros(len(values)),
        bounds_ns=np.zeros(0, dtype=np.int64),
        counts=np.zeros((len(values), 0)),
    )


# AR(1) with 0, 0.5 and 0.9 from interval to interval: memories of 0, 1.44 and 9.5 intervals. Of
# 4,000 such runs `research/warmups` counts the false cuts.
@each_row(("rho", "most"), [(0.0, 0.02), (0.5, 0.03), (0.9, 0.05)])
def test_steady_runs_seldom_lose_anything_and_never_more_than_the_most(rho, most):
    rng = _seed()
    memory = -1 / math.log(rho) if rho else 0.0
    n_runs = 2 * N_RUNS
    found = [warm_up(_counts(wandering(rng, N, memory))) for _ in range(n_runs)]
    assert max(each.n_cut for each in found) <= LONGEST
    false = sum(each.n_cut > 0 or bool(each.reason) for each in found) / n_runs
    assert false <= most + _error(most, n_runs)


@pytest.mark.parametrize(
    "run",
    [
        lambda rng: poisson_run(rng, 1000, exponential(0.02)),
        lambda rng: queue_run(rng, 1000, 0.7),
        lambda rng: closed_run(rng, 20, lognormal(0.01, 0.5)),
    ],
)
def test_steady_servers_seldom_lose_anything(run):
    rng, n_runs = _seed(), 60
    found = [warm_up(series(run(rng))) for _ in range(n_runs)]
    assert max(each.n_cut for each in found) <= LONGEST
    # Three series are looked at here, and one of them is a share of few requests.
    assert sum(each.n_cut > 0 for each in found) / n_runs <= 0.08 + _error(0.08, n_runs)


@pytest.mark.parametrize(("factor", "memory_s"), [(1.5, 0.05), (3.0, 0.05), (1.3, 0.15)])
def test_a_warm_up_is_found_and_cut(factor, memory_s):
    rng, n_runs = _seed(), 40
    runs = [
        closed_run(rng, 15, lognormal(0.01, 0.3), warming_speed(factor, memory_s))
        for _ in range(n_runs)
    ]
    found = [warm_up(series(run)) for run in runs]
    assert sum(each.n_cut > 0 or bool(each.reason) for each in found) >= 0.9 * n_runs
    cut_s = np.array([each.cut_s for each in found if each.n_cut])
    assert len(cut_s) >= 0.7 * n_runs
    # What is left of it after the cut is small: e to the power of cut over memory.
    left = (factor - 1) * np.exp(-np.median(cut_s) / memory_s)
    assert left < 0.05
    assert all("warm-up found" in said(each.test) for each in found if each.n_cut)


def test_a_jump_is_cut_where_it_is():
    rng = _seed()
    values = rng.poisson(np.where(np.arange(N) < 30, 5, 10)).astype(float)
    found = warm_up(_counts(values))
    assert 30 <= found.n_cut <= 40
    assert found.cut_s == pytest.approx(found.n_cut * INTERVAL_S)
    assert found.reason is None


def test_slow_first_answers_are_found_though_the_rate_is_even():
    rng = _seed()
    ended = np.sort(rng.random(2000)) * RUN_S
    taken = rng.exponential(0.01, 2000) * np.where(ended < 0.2, 3, 1)
    found = warm_up(series((ended, taken)))
    assert 0.2 <= found.cut_s <= 0.35
    assert "latency" in said(found.test) or "slow requests" in said(found.test)


@each_row("shape", ["ramp", "late jump", "slow decay"])
def test_what_does_not_become_steady_has_a_reason_instead_of_an_interval(shape):
    rng, n_runs = _seed(), 40
    at = np.arange(N) / N
    rate = {
        "ramp": 5 + 15 * at,
        "late jump": np.where(at < 0.4, 5, 15),
        "slow decay": 10 + 15 * np.exp(-at / 0.5),
    }[shape]
    n_unsteady = n_refused = 0
    for _ in range(n_runs):
        run = _counts(rng.poisson(rate).astype(float))
        found = warm_up(run)
        if found.reason:
            n_unsteady += 1
            assert found.n_cut == 0
            assert "throughput was not steady, even without the first 600 ms" in said(found.reason)
        else:
            # A ramp is as unsteady in the half that its beginning is held against.
            n_refused += bool(throughput(run.after(found.n_cut), confidence=0.95).reason)
    assert n_unsteady >= 0.4 * n_runs
    assert n_unsteady + n_refused >= 0.9 * n_runs


def test_what_never_changes_is_steady():
    found = warm_up(_counts(np.full(N, 10.0)))
    assert (found.n_cut, found.reason) == (0, None)


def test_a_start_is_cut_from_what_never_changes_afterwards():
    values = np.full(N, 10.0)
    values[:7] = 0
    found = warm_up(_counts(values))
    assert 7 <= found.n_cut <= 10


def test_a_short_run_is_not_looked_at():
    found = warm_up(_counts(_seed().poisson(10, 79).astype(float)))
    assert found.n_cut == 0
    assert "800 ms is too short" in said(found.test)
    assert "too short" not in said(warm_up(_counts(_seed().poisson(10, 80).astype(float))).test)


def test_a_run_without_requests_has_no_warm_up():
    found = warm_up(series((np.zeros(0), np.zeros(0))))
    assert (found.n_cut, found.reason) == (0, None)
