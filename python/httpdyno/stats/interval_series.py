"""A run as equal intervals, in arrays: what intervals and the end of a warm-up are found from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from httpdyno.model import Batches, HistogramData
from httpdyno.stats.dependence import Floats
from httpdyno.stats.estimation import n_whole_intervals


@dataclass(frozen=True, slots=True)
class IntervalSeries:
    """Equal intervals of a run, one after the other, without gaps."""

    interval_s: float
    completed: Floats
    """Right answers; (n_intervals,)."""
    sums_s: Floats
    """Of the latencies of the requests that ended; (n_intervals,)."""
    bounds_ns: NDArray[np.int64]
    """Upper bounds of the buckets of latency, ascending; (n_buckets,)."""
    counts: Floats
    """Requests that ended, by latency; (n_intervals, n_buckets)."""

    @property
    def n_intervals(self) -> int:
        """How many there are."""
        return len(self.completed)

    @property
    def duration_s(self) -> float:
        """Of all of them together."""
        return self.n_intervals * self.interval_s

    @property
    def ended(self) -> Floats:
        """Requests that ended and have a latency; (n_intervals,)."""
        totals: Floats = self.counts.sum(axis=1)
        return totals

    def after(self, n_cut: int) -> "IntervalSeries":
        """Return what is left when the first intervals are cut."""
        return IntervalSeries(
            interval_s=self.interval_s,
            completed=self.completed[n_cut:],
            sums_s=self.sums_s[n_cut:],
            bounds_ns=self.bounds_ns,
            counts=self.counts[n_cut:],
        )

    def distribution(self) -> HistogramData:
        """Return the latencies of all intervals together."""
        totals = self.counts.sum(axis=0)
        used = np.flatnonzero(totals)
        bounds_ns = self.bounds_ns[used].tolist()
        return HistogramData(
            bounds_ns=tuple(bounds_ns),
            counts=tuple(totals[used].astype(int).tolist()),
            sum_s=float(self.sums_s.sum()),
            max_s=bounds_ns[-1] / 1e9 if bounds_ns else 0.0,
        )


def interval_series(batches: Batches, measured_s: float) -> IntervalSeries:
    """Return the whole intervals of the measured part.

    A last interval that the end cut short is left out: its counts would say that the server
    became slow. Intervals after the last request are there, with nothing in them: a server that
    stopped answering did not make the run shorter.

    Args:
        batches: As the engine counted.
        measured_s: The length of the measured part.
    """
    interval_s = batches.interval_s
    n = n_whole_intervals(batches, measured_s)
    n_seen = min(n, len(batches.completed))
    n_timed = min(n, len(batches.latency))
    completed, sums_s = np.zeros(n), np.zeros(n)
    completed[:n_seen] = batches.completed[:n_seen]
    latency = batches.latency[:n_timed]
    sums_s[:n_timed] = [each.sum_s for each in latency]
    bounds_ns = np.array(
        sorted({bound for each in latency for bound in each.bounds_ns}), dtype=np.int64
    )
    counts = np.zeros((n, len(bounds_ns)))
    for row, each in zip(counts, latency, strict=False):
        row[np.searchsorted(bounds_ns, each.bounds_ns)] = each.counts
    return IntervalSeries(
        interval_s=interval_s,
        completed=completed,
        sums_s=sums_s,
        bounds_ns=bounds_ns,
        counts=counts,
    )
