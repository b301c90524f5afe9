"""The course of a load test: the engine's intervals, merged until they say something."""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.model import Batches, HistogramData, Measurement
from httpdyno.report.shared.distribution import figures
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, merge

_FEWEST = 50
"""Fewer points show no course."""
_WANTED = 100 * MIN_TAIL_COUNT
"""Requests in a usual interval, so that it carries a p99."""
_SHORT = 0.5
"""A last interval that is cut to less than this part of the others says little of a rate."""
_TAILS = ("p99", "p90")


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One interval of the course."""

    t_s: float
    """Its middle, from the start of the measured part."""
    offered_per_s: float
    completed_per_s: float
    errors_per_s: float
    figures_s: dict[str, float]
    """Those that its requests carry."""


def course(measurement: Measurement) -> list[Point]:
    """Return the intervals as rates and latencies; a last one that is cut short is left out."""
    batches = readable(measurement.batches)
    points = []
    for i, data in enumerate(batches.latency):
        begins_s = i * batches.interval_s
        length_s = min(batches.interval_s, measurement.measured_s - begins_s)
        if length_s < batches.interval_s * _SHORT:
            break
        seen = {name: each.value_s for name, each in figures(data).items()}
        points.append(
            Point(
                t_s=begins_s + length_s / 2,
                offered_per_s=batches.offered[i] / length_s,
                completed_per_s=batches.completed[i] / length_s,
                errors_per_s=batches.errors[i] / length_s,
                figures_s={name: value for name, value in seen.items() if value is not None},
            )
        )
    return points


def tail_name(points: Sequence[Point]) -> str:
    """Return the furthest percentile that most intervals carry; empty when none does."""
    for name in _TAILS:
        if 2 * sum(name in point.figures_s for point in points) > len(points):
            return name
    return ""


def readable(batches: Batches) -> Batches:
    """Return the intervals, pairs merged until a usual one carries a p99 or few are left."""
    while len(batches.latency) >= 2 * _FEWEST and _usual_count(batches) < _WANTED:
        batches = halved(batches)
    return batches


def halved(batches: Batches) -> Batches:
    """Return half as many intervals, each twice as long; the last may be shorter."""
    return Batches(
        interval_s=batches.interval_s * 2,
        offered=_summed(batches.offered),
        completed=_summed(batches.completed),
        errors=_summed(batches.errors),
        latency=tuple(
            _merged(batches.latency[i : i + 2]) for i in range(0, len(batches.latency), 2)
        ),
    )


def _usual_count(batches: Batches) -> int:
    sizes = sorted(count(data) for data in batches.latency)
    return sizes[len(sizes) // 2]


def _summed(counts: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sum(counts[i : i + 2]) for i in range(0, len(counts), 2))


def _merged(pair: tuple[HistogramData, ...]) -> HistogramData:
    return pair[0] if len(pair) == 1 else merge(pair)
