import math
import random

import pytest
from tests.experiment.test_doubt import NOISE, starts_of, unfollowed
from tests.rows import each_row

from httpdyno.experiment.decide.turns_claim import (
    FEWEST_PERIODS,
    independent_interval,
    periods_of,
    turns_comparison,
)
from httpdyno.model import (
    Comparison,
    Constant,
    HistogramData,
    Measurement,
    Objective,
    StartRecord,
    Telemetry,
    TrialStatus,
    WindowRecord,
    Workload,
)
from httpdyno.report.shared.message import joined
from httpdyno.stats.sequence import mean_interval

OPEN = Workload(arrival=Constant(rate_per_s=1000.0))
P50 = Objective(metric="latency_p50_s")
N_REQUESTS = 400


def turn(block: int, arm: int, latency_s: float, *, failed: int = 0) -> WindowRecord:
    bound_ns = round(latency_s * 1e9)
    completed = N_REQUESTS - failed
    measurement = Measurement(
        opened_s=float(block),
        measured_s=0.4,
        total_s=0.5,
        offered=N_REQUESTS,
        completed=completed,
        errors={"status": failed} if failed else {},
        measured_offered=N_REQUESTS,
        measured_completed=completed,
        measured_errors=failed,
        latency=HistogramData(
            bounds_ns=(bound_ns,),
            counts=(N_REQUESTS,),
            sum_s=latency_s * N_REQUESTS,
            max_s=latency_s,
        ),
    )
    return WindowRecord(
        comparison=0,
        start=0,
        block=block,
        arm=arm,
        measurement=measurement,
        telemetry=Telemetry(cpu_s=0.0),
    )


def turns(
    *factors: float, n: int = 30, failed: tuple[int, ...] = (), noise: float = 0.05
) -> list[WindowRecord]:
    """Return the turns of instances that take so many times 10 ms, in the order they came."""
    draw = random.Random(1)
    windows = []
    for block in range(n):
        drift = 0.01 * (1 + block / n)  # hits all of them
        arms = list(enumerate(factors))
        draw.shuffle(arms)
        windows += [
            turn(
                block,
                arm,
                drift * factor * math.exp(draw.gauss(0, noise)),
                failed=failed[arm] if failed else 0,
            )
            for arm, factor in arms
        ]
    return windows


def start_of(windows: list[WindowRecord], n_arms: int = 2) -> StartRecord:
    return StartRecord(
        comparison=0,
        start=0,
        began_at="",
        duration_s=60.0,
        statuses=tuple[TrialStatus, ...](["complete"] * n_arms),
        windows=tuple(windows),
    )


def claimed(windows: list[WindowRecord], n_arms: int = 2, candidate: int = 1) -> Comparison:
    periods = periods_of(start_of(windows, n_arms))
    return turns_comparison(periods, candidate, objective=P50, workload=OPEN)


@each_row(
    ("factor", "noise", "verdict"),
    [
        (0.7, 0.05, "better"),
        (1.4, 0.05, "worse"),
        (1.0, 0.001, "equivalent"),
        (1.0, 0.2, "inconclusive"),
    ],
)
def test_what_turns_prove(factor, noise, verdict):
    claim = claimed(turns(1.0, factor, noise=noise))
    assert claim.verdict == verdict
    interval = claim.ratios["latency_p50"]
    assert interval.low < factor < interval.high
    assert (claim.needed_s is not None) == (
        verdict == "inconclusive" and "takes" in joined(claim.reasons)
    )


def test_each_is_held_against_the_first():
    windows = turns(1.0, 0.7, 1.5)
    first, second = (claimed(windows, 3, candidate) for candidate in (1, 2))
    assert (first.verdict, second.verdict) == ("better", "worse")


def test_only_whole_periods_count():
    windows = turns(1.0, 1.0, n=8)
    assert len(periods_of(start_of(windows))) == 8
    assert len(periods_of(start_of(windows[:-1]))) == 7
    claim = claimed(windows[: 2 * FEWEST_PERIODS - 1])
    assert claim.verdict == "not_measured"
    assert "after 5 of at least 6 periods" in joined(claim.reasons)
    assert claimed([]).verdict == "not_measured"


def test_an_instance_that_fails_is_said_by_name():
    claim = claimed(turns(1.0, 0.5, failed=(0, 40)))
    assert claim.verdict == "failed"
    assert "1,200 of 12,000 requests" in joined(claim.reasons)
    claim = claimed(turns(1.0, 0.5, failed=(40, 0)))
    assert claim.verdict == "not_measured"
    assert "the first one fails" in joined(claim.reasons)


def wandering(seed: int, memory: float, n: int = 80) -> list[float]:
    """Return log ratios around 0 that remember the one before so well."""
    draw = random.Random(seed)
    values, now = [], draw.gauss(0, 1)
    for _ in range(n):
        now = memory * now + math.sqrt(1 - memory**2) * draw.gauss(0, 1)
        values.append(0.05 * now)
    return values


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_intervals_hold_also_where_periods_hang_together(memory):
    def misses(bounds):
        return bounds is not None and not bounds[0] <= 0 <= bounds[1]

    series = [wandering(seed, memory) for seed in range(200)]
    judged = [independent_interval(values, alpha=0.05) for values in series]
    wrong = sum(misses(bounds) for bounds, doubt in judged if not doubt)
    assert wrong <= 16  # 5 % of 200, and three standard errors
    if memory == 0.8:
        plain = sum(misses(mean_interval(values, alpha=0.05)) for values in series)
        assert plain > 16
        assert plain > wrong


def test_a_ratio_that_wanders_for_long_is_doubted():
    bounds, doubt = independent_interval(wandering(1, 0.99), alpha=0.05)
    assert bounds is not None
    assert "too few independent ones" in joined(doubt)


@each_row(
    ("ratio", "factor", "verdict"),
    [(3.0, 0.9, "better"), (1.05, 0.9, "inconclusive"), (3.0, 1.0, "better")],
)
def test_what_littles_law_differs_by_is_in_the_interval(ratio, factor, verdict):
    def told(periods):
        return turns_comparison(periods, 1, objective=Objective(), workload=Workload())

    claim = told(starts_of(ratio, of_a=(factor, 0.0)))
    plain = told(starts_of(ratio))
    wide, narrow = (each.ratios["throughput"] for each in (claim, plain))
    assert wide.low == pytest.approx(narrow.low * factor)
    assert wide.high == pytest.approx(narrow.high / factor)
    assert (claim.verdict, plain.verdict) == (verdict, "better")
    assert ("Little's law" in joined(claim.reasons)) is (factor != 1)
    unsized = told([*starts_of(ratio)[:-1], *unfollowed(starts_of(ratio))[-1:]])
    assert unsized.verdict == "inconclusive"
    assert "without following" in joined(unsized.reasons)
    assert len(NOISE) == unsized.n_starts
