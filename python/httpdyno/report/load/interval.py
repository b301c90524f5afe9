"""The course of a load test: the engine's intervals, merged until they say something."""

from httpdyno.model import Batches, HistogramData
from httpdyno.stats.histogram import MIN_TAIL_COUNT, count, merge

_FEWEST = 32
"""Fewer points show no course."""
_WANTED = 100 * MIN_TAIL_COUNT
"""Requests in a usual interval, so that it carries a p99."""


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
