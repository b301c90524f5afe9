"""Percentiles of one run with their intervals, or the reason why there is none.

A percentile x is where the share of requests that take at most x is q: the share's interval, read
from the distribution, is the percentile's. Requests differ in number from interval to interval,
so a share is a ratio of two means, and its error is the mean of the residuals
(requests at most x) - share · (requests).

Source:
    Woodruff, Confidence intervals for medians and other position measures, Journal of the
    American Statistical Association 47 (1952): the share's interval, inverted. Francisco and
    Fuller, Quantile estimation with a complex survey design, Annals of Statistics 19 (1991):
    that this holds where observations are dependent. Heidelberger and Lewis, Quantile estimation
    in dependent sequences, Operations Research 32 (1984): how few bunches a high percentile of a
    queue rests on.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from httpdyno.model import HistogramData
from httpdyno.stats.estimate import LONGER, Spread, spread_of, without_interval
from httpdyno.stats.estimation import Estimate, lower_edge_ns, percentile_name, too_few_for
from httpdyno.stats.histogram import MIN_TAIL_COUNT, can_show, count, quantile_s
from httpdyno.stats.interval_series import IntervalSeries
from httpdyno.units import format_duration

_MEDIAN = 0.5

_TAIL_FACTOR = 5
"""A tail's dependence is also looked at where five times as many requests lie beyond."""

_TAIL_BUNCHES = 10.0
"""At so many independent bunches beyond a percentile, both looks weigh the same."""


def percentile(
    series: IntervalSeries, q: float, *, confidence: float, whole: HistogramData | None = None
) -> Estimate:
    """Estimate the latency in seconds that a share q of the requests does not exceed.

    Args:
        q: In (0, 1).
        whole: The run's own distribution, where nothing was cut: value and ends are read from it.
    """
    data = whole or series.distribution()
    if not can_show(data, q):
        return without_interval(None, series, confidence, too_few_for(q, count(data)))
    value = quantile_s(data, q)
    n_requests = int(series.counts.sum())
    if n_requests * min(q, 1 - q) < MIN_TAIL_COUNT:
        reason = f"an interval of {too_few_for(q, n_requests)}"
        return without_interval(value, series, confidence, reason)
    share = _share(series, q, confidence)
    if share.reason:
        return without_interval(value, series, confidence, share.reason)
    room = min(q, 1 - q)
    if share.half_width >= room:
        # The width falls with the square root of the run's length.
        needed_s = series.duration_s * (share.half_width / room) ** 2 * LONGER
        reason = (
            f"what lies beyond {percentile_name(q)} came in too few independent bunches to bound "
            f"it: measure for {format_duration(needed_s)} or more"
        )
        return without_interval(value, series, confidence, reason)
    low_s, high_s = _read(data, q, share.half_width, is_coarse=whole is None)
    return Estimate(
        value=value,
        low=min(low_s, value),
        high=max(high_s, value),
        confidence=confidence,
        n_batches=series.n_intervals,
    )


def _share(series: IntervalSeries, q: float, confidence: float) -> Spread:
    """Return how far the share of requests at most the q-quantile may be from q.

    Beyond a high percentile lie few requests and, where they come in bunches, fewer bunches: too
    few to see from them alone how large bunches are. A level with more requests beyond it tells
    better, so it has a say, the more the fewer bunches there are. Where the body of the
    distribution has no steady level, no percentile has an interval.
    """
    n_requests = series.counts.sum()
    own = _relative(series, q, confidence)
    size = own.half_width**2
    reasons = [own.reason]
    if q > _MEDIAN:
        body = _relative(series, _MEDIAN, confidence)
        inner_q = 1 - _TAIL_FACTOR * (1 - q)
        # Its level is an aid of ours: a reader asked for q, so that is what the reason is about.
        tail = f"the tail that {percentile_name(q)} lies in"
        inner = _relative(series, inner_q, confidence, tail) if inner_q > _MEDIAN else body
        n_bunches = n_requests * (1 - q) * _normal(confidence) ** 2 / size
        say = _TAIL_BUNCHES / (_TAIL_BUNCHES + n_bunches)
        size = max(size, (1 - say) * size + say * inner.half_width**2)
        reasons += [inner.reason, body.reason]
    reason = next(filter(None, reasons), "")
    return Spread(math.sqrt(size * q * (1 - q) / n_requests), reason)


def _relative(series: IntervalSeries, q: float, confidence: float, name: str = "") -> Spread:
    """Return the half-width of one share in standard errors of independent requests.

    A reason is about `name`, or else about that percentile.
    It is never smaller than theirs: requests that steady each other are not counted on.
    """
    totals = series.counts.sum(axis=0)
    n_requests = totals.sum()
    at_most = np.cumsum(totals)
    index = int(np.searchsorted(at_most, q * n_requests))
    # Where many requests take the same time, the share jumps there; the nearer side is looked at,
    # but not one with everything or nothing on it.
    sides = [i for i in (index - 1, index) if i >= 0 and 0 < at_most[i] < n_requests]
    if not sides:
        return Spread(_normal(confidence))
    side = min(sides, key=lambda i: abs(float(at_most[i]) / n_requests - q))
    share = at_most[side] / n_requests
    # More requests at most as slow means a lower percentile: what rises is what is beyond.
    errors = share * series.ended - series.counts[:, : side + 1].sum(axis=1)
    errors *= series.n_intervals / n_requests
    spread = spread_of(name or percentile_name(q), errors, series.interval_s, confidence)
    relative = spread.half_width / math.sqrt(share * (1 - share) / n_requests)
    return Spread(max(relative, _normal(confidence)), spread.reason)


def _normal(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _read(
    data: HistogramData, q: float, half_width: float, *, is_coarse: bool
) -> tuple[float, float]:
    """Return the latencies in seconds where the share is half_width below and above q."""
    cumulative = np.cumsum(data.counts)
    n_requests = int(cumulative[-1])
    ranks = (
        max(1, math.ceil((q - half_width) * n_requests)),
        min(n_requests, math.floor((q + half_width) * n_requests) + 1),
    )
    many = half_width * n_requests
    low, high = (_at_rank(data, cumulative, rank, many, is_coarse=is_coarse) for rank in ranks)
    return low[0], min(high[1], data.max_s)


def _at_rank(
    data: HistogramData,
    cumulative: NDArray[np.int64],
    rank: int,
    many: float,
    *,
    is_coarse: bool,
) -> tuple[float, float]:
    """Return the least and the most that the value of that rank can be, in seconds.

    Within a bucket values are taken to be spread evenly, unless it alone holds as many as the
    interval is wide: then all of them may be anywhere in it.
    """
    index = int(np.searchsorted(cumulative, rank))
    high_ns, inside = data.bounds_ns[index], data.counts[index]
    low_ns = lower_edge_ns(high_ns, is_coarse=is_coarse)
    if inside > many:
        return low_ns / 1e9, high_ns / 1e9
    before = int(cumulative[index]) - inside
    value_s = (low_ns + (rank - before) / inside * (high_ns - low_ns)) / 1e9
    return value_s, value_s
