"""What is known of a run's figures, and the sentences for what is not: no arrays here.

A test of a few requests says all that it can without the analysis of intervals, whose arrays take
longer to load than such a test takes to run.
"""

import math

from httpdyno.model import Batches, Record
from httpdyno.stats.histogram import MIN_TAIL_COUNT
from httpdyno.units import format_duration

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
    reason: str = ""
    """One sentence why there is no interval, or no value; empty where there is."""
    is_lower_bound: bool = False
    """Whether the true value may be larger: requests that never ended could move it."""


class WarmUp(Record, frozen=True):
    """The beginning of a run that is not counted, and whether the rest is steady."""

    n_cut: int = 0
    """Intervals."""
    cut_s: float = 0.0
    test: str = ""
    """One sentence: what was tested, and what came out."""
    reason: str = ""
    """Why no part of the run is steady; empty where one is."""


def n_whole_intervals(batches: Batches, measured_s: float) -> int:
    """Return how many intervals the measured part has; a last one that its end cut is none."""
    if batches.interval_s <= 0:
        return 0
    return math.floor(measured_s / batches.interval_s + _ROUNDING)


def too_short(interval_s: float) -> WarmUp:
    """Return what is said of a run that is too short to have a warm-up found."""
    needed_s = MIN_INTERVALS / REFERENCE_RATIO * interval_s
    return WarmUp(
        test=f"a run of less than {format_duration(needed_s)} is too short to look for one"
    )


def percentile_name(q: float) -> str:
    """Return `p99.9` for 0.999."""
    return f"p{round(100 * q, 6):g}"


def too_few(name: str, n: int, what: str) -> str:
    """Return why a mean of so many has no interval."""
    return f"an interval of {name} takes {MIN_REQUESTS} {what}, there were {n}"


def too_few_for(q: float, n_requests: int) -> str:
    """Return why a percentile of so many requests has no value, or its share no interval."""
    needed = math.ceil(round(MIN_TAIL_COUNT / min(q, 1 - q), 6))
    return f"{percentile_name(q)} takes {needed:,} requests, there were {n_requests:,}"
