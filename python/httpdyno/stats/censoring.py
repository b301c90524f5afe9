"""What requests that never ended leave open.

A request that timed out, was never answered or never sent is in the distribution at the age at
which it was given up: it would have taken at least that long. A figure that could be larger if
such requests had taken longer is a lower bound ("≥").
"""

import math

import numpy as np

from httpdyno.model import HistogramData
from httpdyno.stats.histogram import count
from httpdyno.stats.percentile import lower_edge_ns


def highest_quantile_s(latency: HistogramData, censored: HistogramData, q: float) -> float:
    """Return the quantile if no censored request had ever ended; infinite beyond the others.

    Args:
        latency: All requests, the censored ones at their age.
        censored: Those of them that never ended, by age; its buckets may be coarser.
        q: In [0, 1].
    """
    if count(latency) == 0:
        return math.nan
    bounds_ns = np.asarray(latency.bounds_ns)
    # Where buckets differ in width, a censored request may lie as low as its bucket begins.
    lowest_ns = np.array([lower_edge_ns(bound, is_coarse=True) for bound in censored.bounds_ns])
    n_given_up = np.concatenate([[0], np.cumsum(censored.counts)])
    n_ended = np.cumsum(latency.counts) - n_given_up[np.searchsorted(lowest_ns, bounds_ns, "right")]
    is_reached = n_ended >= max(1, math.ceil(q * count(latency)))
    if not is_reached.any():
        return math.inf
    return min(float(bounds_ns[int(np.argmax(is_reached))]) / 1e9, latency.max_s)


def could_move(latency: HistogramData, censored: HistogramData, q: float) -> bool:
    """Tell whether a percentile would be larger if censored requests had taken longer."""
    if count(censored) == 0 or count(latency) == 0:
        return False
    none = HistogramData()
    return highest_quantile_s(latency, censored, q) > highest_quantile_s(latency, none, q)
