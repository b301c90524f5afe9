"""A distribution's figures, with what the sample can't say of them.

A percentile is shown where ten requests lie beyond it. Requests that never ended are in the
distribution at the age at which they were given up, and their true time is at least that: so a
figure that they could move is a lower bound ("≥").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.model import HistogramData, Measurement
from httpdyno.report.shared.phrase import NOTHING, oxford, plural
from httpdyno.stats.histogram import (
    MIN_TAIL_COUNT,
    can_show,
    count,
    deviation_s,
    highest_quantile_s,
    mean_s,
    quantile_s,
)
from httpdyno.units import format_duration

QUANTILE_OF = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
MIN, DEVIATION = "min", "std dev"
FIGURE_NAMES = ("mean", *QUANTILE_OF, "max", MIN, DEVIATION)
_VISIBLE = 1.01
"""A figure that moves by less than this looks the same."""
_FINEST_S = 1e-6
"""Between an event and the reading of a clock lies most of a microsecond."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One figure of a distribution."""

    value_s: float | None
    """None where there is none, or where the sample can't carry it."""
    at_most_s: float | None = None
    """What the true value can't exceed, where some requests never ended; infinite for no limit."""
    reason: str = ""
    """Why there is no value."""

    @property
    def is_at_least(self) -> bool:
        """Whether the true value may be visibly larger."""
        if self.value_s is None or self.at_most_s is None:
            return False
        return self.at_most_s > self.value_s * _VISIBLE

    @property
    def text(self) -> str:
        """The figure as a table shows it."""
        if self.value_s is None:
            return NOTHING
        return f"{'≥ ' if self.is_at_least else ''}{time_text(self.value_s)}"


def time_text(seconds: float) -> str:
    """Return a time that the engine measured, no finer than two readings of its clock."""
    return "< 1 µs" if 0 < seconds < _FINEST_S else format_duration(seconds)


def figure(
    data: HistogramData,
    name: str,
    censored: HistogramData | None = None,
    *,
    noun: str = "request",
) -> Figure:
    """Return one figure of a distribution.

    Args:
        data: The distribution, censored values included.
        name: `mean`, `max`, `min`, `std dev`, or a percentile such as `p99.9`.
        censored: Those of its values that are lower bounds.
        noun: What it is a distribution of, for the reason.
    """
    if count(data) == 0:
        return Figure(value_s=None, reason=f"no {noun} was measured")
    never_ended = censored if censored is not None and count(censored) else None
    if name in {"mean", "max"}:
        value_s = mean_s(data) if name == "mean" else data.max_s
        return Figure(value_s=value_s, at_most_s=None if never_ended is None else math.inf)
    if name == DEVIATION:
        return _deviation(data, f"some {noun}s never ended" if never_ended else "")
    q = 0.0 if name == MIN else quantile_of(name)
    if name != MIN and not can_show(data, q):
        return Figure(value_s=None, reason=missing_reason(data, [name], noun))
    at_most_s = None if never_ended is None else highest_quantile_s(data, never_ended, q)
    return Figure(value_s=quantile_s(data, q), at_most_s=at_most_s)


def _deviation(data: HistogramData, reason: str) -> Figure:
    value_s = deviation_s(data)
    if not reason and math.isnan(value_s):
        reason = "all are the same, as far as they are told apart"
    return Figure(value_s=None if reason else value_s, reason=reason)


def figures(data: HistogramData, censored: HistogramData | None = None) -> dict[str, Figure]:
    """Return the usual figures of a distribution by name."""
    return {name: figure(data, name, censored) for name in FIGURE_NAMES}


def censored_service_time(measurement: Measurement) -> HistogramData:
    """Return the requests in the service time that never ended, by age; those of the latency.

    Requests that were never sent are in the latency only.
    """
    was_sent = any(measurement.errors.get(kind) for kind in ("timeout", "unfinished"))
    return measurement.censored if was_sent else HistogramData()


def quantile_of(name: str) -> float:
    """Return 0.999 for `p99.9`."""
    return round(float(name.removeprefix("p")) / 100, 12)


def missing_percentiles(data: HistogramData) -> str:
    """Return why percentiles are missing; empty when none is."""
    missing = [
        name for name in QUANTILE_OF if count(data) and not can_show(data, quantile_of(name))
    ]
    return missing_reason(data, missing) if missing else ""


def missing_reason(data: HistogramData, names: Sequence[str], noun: str = "request") -> str:
    """Return what it would take to show these percentiles."""
    needed = [f"{name} needs {_needed(quantile_of(name)):,}" for name in names]
    return (
        f"{oxford(needed)} {noun}s, so that {MIN_TAIL_COUNT} lie beyond it; "
        f"this run has {plural(count(data), noun)}"
    )


def _needed(q: float) -> int:
    return math.ceil(round(MIN_TAIL_COUNT / min(q, 1 - q), 6))
