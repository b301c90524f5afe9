"""Servers whose truth is known: runs of load drawn from them, for tests and `benches/coverage`.

Each run is a pair of arrays, (n_requests,): when requests ended, in seconds from the beginning of
the measured part, and how long they had taken. All begin in the steady state.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from httpdyno.model import Batches, HistogramData
from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.stats.estimate import IntervalSeries, interval_series
from httpdyno.stats.estimation import Estimate
from httpdyno.stats.summary import Summary, summarise

INTERVAL_S = 0.01
RUN_S = 2.0
_FINE_BITS, _COARSE_BITS = 11, 8
_STEP_S = 0.001
"""Of the path of a server's state."""

Run = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """What an endless run would show."""

    throughput: float
    """Per second."""
    mean: float
    """In seconds, like the percentiles."""
    p50: float
    p90: float
    p99: float


def exponential(mean_s: float) -> Draw:
    return lambda rng, shape: rng.exponential(mean_s, shape)


def lognormal(median_s: float, sigma: float) -> Draw:
    return lambda rng, shape: median_s * np.exp(sigma * rng.standard_normal(shape))


def wandering(rng: np.random.Generator, n: int, memory: float) -> np.ndarray:
    """Draw a stationary AR(1) series of unit variance; `memory` in steps, 0 for white noise."""
    from scipy.signal import lfilter  # noqa: PLC0415 - slow to import, and few tests need it

    rho = math.exp(-1 / memory) if memory > 0 else 0.0
    noise = rng.standard_normal(n) * math.sqrt(1 - rho**2)
    noise[0] = rng.standard_normal()
    return lfilter([1], [1, -rho], noise)


def poisson_run(
    rng: np.random.Generator,
    rate_per_s: float,
    service: Draw,
    *,
    run_s: float = RUN_S,
    before_s: float = 0.5,
) -> Run:
    """Requests arrive at random, and each is served by itself: all is independent."""
    n = rng.poisson(rate_per_s * (run_s + before_s))
    arrived = np.sort(rng.random(n)) * (run_s + before_s) - before_s
    taken = service(rng, (n,))
    return within(arrived + taken, taken, run_s)


def even_run(
    rng: np.random.Generator, rate_per_s: float, service: Draw, *, run_s: float = RUN_S
) -> Run:
    """Requests arrive on a schedule, and each is served by itself."""
    arrived = np.arange(-0.5 + rng.random() / rate_per_s, run_s, 1 / rate_per_s)
    taken = service(rng, arrived.shape)
    return within(arrived + taken, taken, run_s)


def wandering_run(  # noqa: PLR0913 - a process has its parameters
    rng: np.random.Generator,
    rate_per_s: float,
    *,
    median_s: float,
    sigma: float,
    memory_s: float,
    run_s: float = RUN_S,
) -> Run:
    """Requests arrive at random, at a server whose speed wanders: latency is lognormal."""
    n = rng.poisson(rate_per_s * run_s)
    ended = np.sort(rng.random(n)) * run_s
    path = wandering(rng, math.ceil(run_s / _STEP_S), memory_s / _STEP_S)
    return ended, median_s * np.exp(sigma * path[(ended / _STEP_S).astype(int)])


def wandering_truth(rate_per_s: float, *, median_s: float, sigma: float) -> Truth:
    def at(q: float) -> float:
        return median_s * math.exp(sigma * NormalDist().inv_cdf(q))

    mean_s = median_s * math.exp(sigma**2 / 2)
    return Truth(throughput=rate_per_s, mean=mean_s, p50=at(0.5), p90=at(0.9), p99=at(0.99))


def exponential_truth(rate_per_s: float, mean_s: float) -> Truth:
    """Of independent exponential times; and of M/M/1, whose response times are exponential."""

    def at(q: float) -> float:
        return -mean_s * math.log(1 - q)

    return Truth(throughput=rate_per_s, mean=mean_s, p50=at(0.5), p90=at(0.9), p99=at(0.99))


def queue_run(
    rng: np.random.Generator, rate_per_s: float, load: float, *, run_s: float = RUN_S
) -> Run:
    """M/M/1: requests arrive at random and queue for one worker, which is busy for `load`."""
    service_per_s = rate_per_s / load
    n = int(rate_per_s * run_s + 8 * math.sqrt(rate_per_s * run_s)) + 50
    gaps, services = rng.exponential(1 / rate_per_s, n), rng.exponential(1 / service_per_s, n)
    # The first one waits as long as requests do in the steady state.
    first = rng.exponential(1 / (service_per_s - rate_per_s)) if rng.random() < load else 0.0
    walk = np.concatenate([[0.0], np.cumsum(services[:-1] - gaps[1:])])
    waits = np.maximum(walk + first, walk - np.minimum.accumulate(walk))
    taken = waits + services
    return within(np.cumsum(gaps) + taken, taken, run_s)


def queue_truth(rate_per_s: float, load: float) -> Truth:
    return exponential_truth(rate_per_s, 1 / (rate_per_s / load - rate_per_s))


Slowdown = Callable[[np.random.Generator, float], np.ndarray]
"""How many times slower the server is at each step of that many seconds."""


def wandering_speed(sigma: float, memory_s: float) -> Slowdown:
    def path(rng: np.random.Generator, run_s: float) -> np.ndarray:
        steps = math.ceil(run_s / _STEP_S)
        slowdown: np.ndarray = np.exp(sigma * wandering(rng, steps, memory_s / _STEP_S))
        return slowdown

    return path


def periodic_speed(amplitude: float, period_s: float) -> Slowdown:
    def path(rng: np.random.Generator, run_s: float) -> np.ndarray:
        turns = np.arange(math.ceil(run_s / _STEP_S)) * _STEP_S / period_s + rng.random()
        slowdown: np.ndarray = np.exp(amplitude * np.sin(2 * np.pi * turns))
        return slowdown

    return path


def switching_speed(slow_s: float, fast_s: float, factor: float) -> Slowdown:
    """Slow and fast by turns, for exponential times with these means."""

    def path(rng: np.random.Generator, run_s: float) -> np.ndarray:
        slowdown = np.ones(math.ceil(run_s / _STEP_S))
        at, is_slow = 0, rng.random() < slow_s / (slow_s + fast_s)
        while at < len(slowdown):
            steps = max(1, round(rng.exponential(slow_s if is_slow else fast_s) / _STEP_S))
            slowdown[at : at + steps] = factor if is_slow else 1.0
            at, is_slow = at + steps, not is_slow
        return slowdown

    return path


def warming_speed(factor: float, memory_s: float, *, lead_in_s: float = 0.3) -> Slowdown:
    """Slower by `factor` at first, which passes off exponentially once the run has begun."""

    def path(_rng: np.random.Generator, run_s: float) -> np.ndarray:
        age_s = np.maximum(np.arange(math.ceil(run_s / _STEP_S)) * _STEP_S - lead_in_s, 0)
        slowdown: np.ndarray = 1 + (factor - 1) * np.exp(-age_s / memory_s)
        return slowdown

    return path


def closed_run(  # noqa: PLR0913
    rng: np.random.Generator,
    n_users: int,
    service: Draw,
    slowdown: Slowdown | None = None,
    *,
    run_s: float = RUN_S,
    lead_in_s: float = 0.3,
) -> Run:
    """Users who send again at once, at a server that is more or less slow by the time of day."""
    at_s = rng.random(n_users) * 0.02 - lead_in_s
    path = None if slowdown is None else slowdown(rng, run_s + lead_in_s + 1)
    ends, taken = [], []
    while at_s.min() <= run_s:
        took = service(rng, at_s.shape)
        if path is not None:
            steps = ((at_s + lead_in_s) / _STEP_S).astype(int)
            took = took * path[np.minimum(steps, len(path) - 1)]
        at_s = at_s + took
        ends.append(at_s)
        taken.append(took)
    return within(np.concatenate(ends), np.concatenate(taken), run_s)


def long_truth(run: Callable[[np.random.Generator, float], Run], *, n_runs: int = 300) -> Truth:
    """Find the truth where no formula gives it: from many runs of ten seconds."""
    rng, run_s = np.random.default_rng(1), 10.0
    taken = np.concatenate([run(rng, run_s)[1] for _ in range(n_runs)])
    p50, p90, p99 = np.quantile(taken, [0.5, 0.9, 0.99])
    rate_per_s = len(taken) / (n_runs * run_s)
    return Truth(throughput=rate_per_s, mean=taken.mean(), p50=p50, p90=p90, p99=p99)


def within(ended: np.ndarray, taken: np.ndarray, run_s: float) -> Run:
    """Keep what ended within the measured part, in order."""
    is_in = (ended >= 0) & (ended < run_s)
    order = np.argsort(ended[is_in])
    return ended[is_in][order], taken[is_in][order]


def histogram(taken_s: np.ndarray, *, is_coarse: bool = False) -> HistogramData:
    """Count latencies into the engine's buckets."""
    if len(taken_s) == 0:
        return HistogramData()
    bounds_ns, counts = np.unique(bucket_bounds_ns(taken_s, is_coarse), return_counts=True)
    return HistogramData(
        bounds_ns=tuple(bounds_ns.tolist()),
        counts=tuple(counts.tolist()),
        sum_s=float(taken_s.sum()),
        max_s=float(taken_s.max()),
    )


def bucket_bounds_ns(taken_s: np.ndarray, is_coarse: bool) -> np.ndarray:
    values_ns = np.maximum((taken_s * 1e9).astype(np.int64), 1)
    n_bits = np.frexp(values_ns.astype(float))[1]
    excess = np.maximum(0, n_bits - (_COARSE_BITS if is_coarse else _FINE_BITS))
    bounds_ns: np.ndarray = (((values_ns >> excess) + 1) << excess) - 1
    return bounds_ns


def batches(run: Run, *, run_s: float = RUN_S) -> Batches:
    """Count a run as the engine does."""
    ended, taken = run
    n = round(run_s / INTERVAL_S)
    edges = np.searchsorted(ended, np.arange(n + 1) * INTERVAL_S)
    completed = tuple(np.diff(edges).tolist())
    return Batches(
        interval_s=INTERVAL_S,
        offered=completed,
        completed=completed,
        errors=(0,) * n,
        latency=tuple(histogram(taken[a:b], is_coarse=True) for a, b in pairwise(edges)),
    )


def series(run: Run, *, run_s: float = RUN_S) -> IntervalSeries:
    return interval_series(batches(run, run_s=run_s), run_s)


def ends(estimate: Estimate) -> tuple[float, float]:
    """Return the interval, which must be there."""
    assert estimate.low is not None, estimate.reason
    assert estimate.high is not None
    return estimate.low, estimate.high


def summary(run: Run, *, run_s: float = RUN_S) -> Summary:
    return summarise(batches(run, run_s=run_s), measured_s=run_s, latency=histogram(run[1]))


def said(reason: Reason | None) -> str:
    """Return the sentence of a reason; empty without."""
    return "" if reason is None else text(reason)
