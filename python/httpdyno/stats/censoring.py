"""What requests that never ended leave open.

A request that timed out, was never answered or never sent is in the distribution at the age at
which it was given up: it would have taken at least that long. A figure that could be larger if
such requests had taken longer is a lower bound ("≥").
"""

import math
from bisect import bisect_right
from itertools import accumulate

from httpdyno.model import HistogramData
from httpdyno.stats.estimation import lower_edge_ns
from httpdyno.stats.histogram import count


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
