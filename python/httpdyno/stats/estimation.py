"""What is known of a run's figures, and the sentences for what is not: no arrays here.

A test of a few requests says all that it can without the analysis of intervals, whose arrays take
longer to load than such a test takes to run.
"""

import math

from httpdyno.model import Batches, Record
from httpdyno.reason import Reason, because
from httpdyno.stats.histogram import MIN_TAIL_COUNT

MIN_INTERVALS = 40
"""Fewer leave fewer than eight coefficients, which tell nothing of dependence."""

REFERENCE_RATIO = 0.5
"""The end of the run that its beginning is held against, to find a warm-up."""

MIN_REQUESTS = 2 * MIN_TAIL_COUNT
"""A mean of fewer has no interval."""

_ROUNDING = 1e-6
"""Of an interval: so much may be missing of the last one."""


class Estimate(Record, frozen=True):
    """A figure with its interval; both ends are None where there is a reason for it."""

    value: float | None
    """None where the sample cannot carry it."""
    confidence: float
    low: float | None = None
    high: float | None = None
    n_batches: int = 0
    """The equal intervals that it rests on."""
    reason: Reason | None = None
    """Why there is no interval, or no value; None where there is."""
    is_lower_bound: bool = False
    """Whether the true value may be larger: requests that never ended could move it."""


class WarmUp(Record, frozen=True):
    """The beginning of a run that is not counted, and whether the rest is steady."""

    n_cut: int = 0
    """Intervals."""
    cut_s: float = 0.0
    test: Reason | None = None
    """What was tested, and what came out; None where nothing was."""
    reason: Reason | None = None
    """Why no part of the run is steady; None where one is."""


def n_whole_intervals(batches: Batches, measured_s: float) -> int:
    """Return how many intervals the measured part has; a last one that its end cut is none."""
    if batches.interval_s <= 0:
        return 0
    return math.floor(measured_s / batches.interval_s + _ROUNDING)


def too_short(interval_s: float) -> WarmUp:
    """Return what is said of a run that is too short to have a warm-up found."""
    needed_s = MIN_INTERVALS / REFERENCE_RATIO * interval_s
    return WarmUp(test=because("stats.too_short_for_warm_up", needed_s=needed_s))


def percentile_name(q: float) -> str:
    """Return `p99.9` for 0.999."""
    return f"p{round(100 * q, 6):g}"


def too_few_answers(n: int) -> Reason:
    """Return why throughput has no interval by so many right answers."""
    return because("stats.too_few_answers", needed=MIN_REQUESTS, n=n)


def too_few_requests(n: int) -> Reason:
    """Return why the mean latency of so many requests has no interval."""
    return because("stats.too_few_requests", needed=MIN_REQUESTS, n=n)


def too_few_for(q: float, n_requests: int) -> Reason:
    """Return why a percentile of so many requests has no value, or its share no interval."""
    needed = math.ceil(round(MIN_TAIL_COUNT / min(q, 1 - q), 6))
    return because("stats.percentile_too_few", name=percentile_name(q), needed=needed, n=n_requests)
