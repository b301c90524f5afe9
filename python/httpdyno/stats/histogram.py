"""Latency distributions kept as sparse buckets.

Buckets come from one fixed log-linear grid, so distributions merge exactly: percentiles are
taken from merged counts and never averaged.

A request that timed out, was never answered or never sent is in the distribution at the age at
which it was given up: it would have taken at least that long. A figure that could be larger if
such requests had taken longer is a lower bound ("≥").
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from httpdyno.model import HistogramData

MIN_TAIL_COUNT = 10
"""Requests that must lie beyond a percentile before it is shown.

With k observations above it, the relative standard error of the tail's probability is about
1/√k: ten leave ±30 %, fewer say nothing. So p99 takes 1,000 requests.
"""
_UNLIKE = 1.5
"""Times, between the percentiles just below and above a median that lies in a gap."""
_ENOUGH = 100
"""Values of which a twentieth is some."""


def count(data: HistogramData) -> int:
    """Return the number of values."""
    return sum(data.counts)


def mean_s(data: HistogramData) -> float:
    """Return the mean in seconds; NaN when empty."""
    n = count(data)
    return data.sum_s / n if n else float("nan")


def deviation_s(data: HistogramData) -> float:
    """Return the standard deviation in seconds; NaN where all values lie in one bucket, or none."""
    n, mean = count(data), mean_s(data)
    within = [each for each in zip(data.bounds_ns, data.counts, strict=True) if each[1]]
    if len(within) < 2:  # noqa: PLR2004 - how far they lie within one, nobody knows
        return float("nan")
    squares = math.fsum(k * (bound_ns / 1e9 - mean) ** 2 for bound_ns, k in within)
    return math.sqrt(squares / n)


def merge(parts: Iterable[HistogramData]) -> HistogramData:
    """Return the distribution of all values together."""
    counts: Counter[int] = Counter()
    sum_s, max_s = 0.0, 0.0
    for part in parts:
        for bound_ns, n in zip(part.bounds_ns, part.counts, strict=True):
            counts[bound_ns] += n
        sum_s += part.sum_s
        max_s = max(max_s, part.max_s)
    bounds_ns = tuple(sorted(counts))
    return HistogramData(
        bounds_ns=bounds_ns,
        counts=tuple(counts[bound] for bound in bounds_ns),
        sum_s=sum_s,
        max_s=max_s,
    )


def quantile_s(data: HistogramData, q: float) -> float:
    """Return the smallest value that at least a fraction `q` does not exceed; NaN when empty.

    Within a bucket (0.1 % wide) the upper bound stands for all; never above the true maximum.

    Args:
        q: In [0, 1].
    """
    if not data.counts:
        return float("nan")
    cumulative = list(accumulate(data.counts))
    rank = max(1, math.ceil(q * cumulative[-1]))
    index = bisect_left(cumulative, rank)
    return min(data.bounds_ns[index] / 1e9, data.max_s)


def is_median_between(data: HistogramData) -> bool:
    """Tell whether the median lies between two unlike halves, as of a fast page and a slow one.

    The tenth of all around it is then further apart than where times come at random: those of an
    exponential distribution lie within 1.34 times.
    """
    if count(data) < _ENOUGH:
        return False
    return quantile_s(data, 0.55) > _UNLIKE * quantile_s(data, 0.45)


def can_show(data: HistogramData, q: float) -> bool:
    """Tell whether the sample is large enough to carry that percentile."""
    return round(count(data) * min(q, 1 - q), 6) >= MIN_TAIL_COUNT


def lower_edge_ns(bound_ns: int, *, is_coarse: bool) -> int:
    """Return where the bucket with that upper bound begins.

    Buckets are those of HdrHistogram with three significant digits (coarse: two): 1024 (128) for
    each power of two.
    """
    bits = 8 if is_coarse else 11
    return bound_ns + 1 - (1 << max(0, bound_ns.bit_length() - bits))


def highest_quantile_s(latency: HistogramData, censored: HistogramData, q: float) -> float:
    """Return the quantile if no censored request had ever ended; infinite beyond the others.

    Args:
        latency: All requests, the censored ones at their age.
        censored: Those of them that never ended, by age; its buckets may be coarser.
        q: In [0, 1].
    """
    if count(latency) == 0:
        return math.nan
    # Where buckets differ in width, a censored request may lie as low as its bucket begins.
    lowest_ns = [lower_edge_ns(bound, is_coarse=True) for bound in censored.bounds_ns]
    n_given_up = list(accumulate(censored.counts, initial=0))
    rank = max(1, math.ceil(q * count(latency)))
    for bound_ns, n_up_to in zip(latency.bounds_ns, accumulate(latency.counts), strict=True):
        if n_up_to - n_given_up[bisect_right(lowest_ns, bound_ns)] >= rank:
            return min(bound_ns / 1e9, latency.max_s)
    return math.inf


def could_move(latency: HistogramData, censored: HistogramData, q: float) -> bool:
    """Tell whether a percentile would be larger if censored requests had taken longer."""
    if count(censored) == 0 or count(latency) == 0:
        return False
    none = HistogramData()
    return highest_quantile_s(latency, censored, q) > highest_quantile_s(latency, none, q)
