"""The figures of a run with their intervals, from its course in arrays."""

from collections.abc import Sequence

from msgspec import structs

from httpdyno.model import Batches, HistogramData
from httpdyno.stats.estimate import mean_latency, throughput
from httpdyno.stats.estimation import Estimate, WarmUp, percentile_name
from httpdyno.stats.interval_series import interval_series
from httpdyno.stats.percentile_interval import percentile
from httpdyno.stats.warmup import warm_up


def from_intervals(
    batches: Batches,
    measured_s: float,
    latency: HistogramData,
    quantiles: Sequence[float],
    confidence: float,
) -> tuple[Estimate, dict[str, Estimate], WarmUp]:
    """Return the throughput, the latencies' mean and percentiles by name, and the warm-up.

    Where no warm-up is found, values and ends are read from `latency`; else from the intervals
    after it, whose buckets are 1 % wide.
    """
    run = interval_series(batches, measured_s)
    beginning = warm_up(run)
    series = run.after(beginning.n_cut)
    whole = latency if beginning.n_cut == 0 else None
    estimates = {
        "mean": mean_latency(series, confidence=confidence, whole=whole),
        **{
            percentile_name(q): percentile(series, q, confidence=confidence, whole=whole)
            for q in quantiles
        },
    }
    rate = throughput(series, confidence=confidence)
    if beginning.reason:
        rate = _unsteady(rate, beginning.reason)
        estimates = {name: _unsteady(each, beginning.reason) for name, each in estimates.items()}
    return rate, estimates, beginning


def _unsteady(estimate: Estimate, reason: str) -> Estimate:
    return structs.replace(estimate, low=None, high=None, reason=estimate.reason or reason)
