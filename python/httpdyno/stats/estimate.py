"""Throughput and mean latency of one run with their intervals, or the reason why there is none.

An interval says how far the figure may be from what this server, in this state, would show in
an endless run. It does not say how much two starts of the server differ: that takes starts (see
`stats/sequence.py`).

Each figure is a mean over equal intervals. How much such a mean spreads, and whether the run is
long enough to know, is found in `stats/dependence.py`; here it is turned into an interval, or
into a sentence.
"""

import math
from dataclasses import dataclass

import numpy as np

from httpdyno.model import HistogramData
from httpdyno.stats.dependence import STRETCHES_PER_MEMORY, Dependence, Floats
from httpdyno.stats.estimation import MIN_INTERVALS, MIN_REQUESTS, Estimate, too_few
from httpdyno.stats.histogram import count, mean_s
from httpdyno.stats.interval_series import IntervalSeries
from httpdyno.units import format_duration

MAX_P_SLOW = 0.5
"""Above this it is more likely than not that the run is too short for the server's memory."""

DRIFT_P = 0.02
"""A first wave (half a period over the run: a rise or a fall) that is less likely than this under
what all the other waves say is called a drift."""

LONGER = 1.2
"""What a run that was too short is advised to be, beyond the least that would do."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a mean may be off, either way; or why that cannot be told."""

    half_width: float = math.nan
    reason: str = ""


def throughput(series: IntervalSeries, *, confidence: float) -> Estimate:
    """Estimate the right answers per second."""
    n = series.n_intervals
    value = float(series.completed.mean()) / series.interval_s if n else None
    n_completed = int(series.completed.sum())
    if n_completed < MIN_REQUESTS:
        reason = too_few("throughput", n_completed, "right answers")
        return without_interval(value, series, confidence, reason)
    spread = spread_of("throughput", series.completed, series.interval_s, confidence)
    if value is None or spread.reason:
        return without_interval(value, series, confidence, spread.reason)
    # Where answers come evenly, one more or less lies within the run's edges by chance.
    half_width_per_s = math.hypot(spread.half_width, 1 / n) / series.interval_s
    return Estimate(
        value=value,
        low=max(0.0, value - half_width_per_s),
        high=value + half_width_per_s,
        confidence=confidence,
        n_batches=n,
    )


def mean_latency(
    series: IntervalSeries, *, confidence: float, whole: HistogramData | None = None
) -> Estimate:
    """Estimate the mean latency in seconds.

    It is the ratio of two means, of latencies' sums and of requests, over the intervals; its
    error is the mean of the residuals. Where requests queue, a mean that came out too small also
    has too small a spread: the spread grows with the mean's square, so that of 1/mean is about
    the same whatever the mean. The interval is therefore even about 1/mean. At M/M/1 with a load
    of 0.7 it covers 93 % instead of 91 %; narrow intervals are the same.

    Args:
        whole: The run's own distribution, where nothing was cut: the value is taken from it.

    Source:
        Cochran, Sampling Techniques, 3rd edition (1977), section 6.3: the variance of a ratio.
        Whitt, Planning queueing simulations, Management Science 35 (1989): the variance of a
        queue's mean over a long run, for M/M/1 2ρ(1+ρ)/(1-ρ)⁴.
    """
    data = whole or series.distribution()
    n_requests = int(series.counts.sum())
    value = mean_s(data) if count(data) else None
    if n_requests < MIN_REQUESTS:
        reason = too_few("the mean latency", n_requests, "requests")
        return without_interval(value, series, confidence, reason)
    mean = float(series.sums_s.sum()) / n_requests
    errors = (series.sums_s - mean * series.ended) * series.n_intervals / n_requests
    spread = spread_of("the mean latency", errors, series.interval_s, confidence)
    if value is None or spread.reason:
        return without_interval(value, series, confidence, spread.reason)
    relative = spread.half_width / mean if mean > 0 else 0.0
    if relative >= 1:
        # The width falls with the square root of the run's length.
        needed_s = series.duration_s * relative**2 * LONGER
        reason = (
            "the mean latency rests on too few independent bunches of slow requests to bound it: "
            f"measure for {format_duration(needed_s)} or more"
        )
        return without_interval(value, series, confidence, reason)
    return Estimate(
        value=value,
        low=value / (1 + relative),
        high=value / (1 - relative),
        confidence=confidence,
        n_batches=series.n_intervals,
    )


def without_interval(
    value: float | None, series: IntervalSeries, confidence: float, reason: str
) -> Estimate:
    """Return the bare value, if there is one, with the reason."""
    return Estimate(value=value, confidence=confidence, n_batches=series.n_intervals, reason=reason)


def spread_of(name: str, values: Floats, interval_s: float, confidence: float) -> Spread:
    """Return how far the mean of the values may be off, if the run is fit to tell.

    Args:
        name: Of the figure, for the reason.
        values: One for each interval; (n_intervals,).
    """
    n = len(values)
    if n < MIN_INTERVALS:
        return Spread(
            reason=f"an interval takes {format_duration(MIN_INTERVALS * interval_s)} of a steady "
            f"run, there were {format_duration(n * interval_s)}"
        )
    dependence = Dependence(values)
    if dependence.is_constant:
        return Spread(half_width=0.0)
    if dependence.p_slow > MAX_P_SLOW:
        memory_s = dependence.slow_memory * interval_s
        return Spread(
            reason=f"{name} is correlated over about {format_duration(memory_s)}, so that "
            f"{format_duration(n * interval_s)} hold too few independent intervals: measure for "
            f"{format_duration(memory_s * STRETCHES_PER_MEMORY * LONGER)} or more"
        )
    if Dependence(values, n_left_out=1).p_of_slowest_wave() < DRIFT_P:
        is_rise = np.mean(values[n // 2 :]) > np.mean(values[: n // 2])
        return Spread(
            reason=f"{name} {'rose' if is_rise else 'fell'} throughout the run, so that there is "
            "no steady level to estimate"
        )
    return Spread(half_width=dependence.half_width(confidence))
