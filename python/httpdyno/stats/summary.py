"""All figures of one run at once, each with its interval or the reason why there is none."""

import msgspec
from msgspec import structs

from httpdyno.model import Batches, HistogramData, Record
from httpdyno.stats.censoring import could_move
from httpdyno.stats.estimate import Estimate, mean_latency, throughput
from httpdyno.stats.histogram import can_show, count, mean_s, quantile_s
from httpdyno.stats.interval_series import interval_series
from httpdyno.stats.percentile import lower_edge_ns, percentile, percentile_name
from httpdyno.stats.warmup import WarmUp, warm_up

QUANTILES = (0.5, 0.9, 0.99, 0.999)


class Summary(Record, frozen=True):
    """One run's figures with their intervals."""

    throughput_per_s: Estimate
    latency_s: dict[str, Estimate]
    """mean, p50, p90, p99, p99.9."""
    warm_up: WarmUp = msgspec.field(default_factory=WarmUp)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why figures have no interval, each reason once."""
        estimates = (self.throughput_per_s, *self.latency_s.values())
        return tuple(dict.fromkeys(each.reason for each in estimates if each.reason))


def summarise(
    batches: Batches,
    *,
    measured_s: float,
    latency: HistogramData,
    censored: HistogramData | None = None,
    confidence: float = 0.95,
) -> Summary:
    """Return the figures of one run with their intervals.

    Where no warm-up is found, values and ends are read from `latency`; else from the intervals
    after it, whose buckets are 1 % wide.

    Args:
        batches: The measured part in equal intervals.
        measured_s: The length of the measured part.
        latency: Of all measured requests, censored ones at their age.
        censored: Those of them that never ended.
        confidence: Of each interval by itself.
    """
    run = interval_series(batches, measured_s)
    beginning = warm_up(run)
    series = run.after(beginning.n_cut)
    whole = latency if beginning.n_cut == 0 else None
    estimates = {
        "mean": mean_latency(series, confidence=confidence, whole=whole),
        **{
            percentile_name(q): percentile(series, q, confidence=confidence, whole=whole)
            for q in QUANTILES
        },
    }
    rate = throughput(series, confidence=confidence)
    if beginning.reason:
        rate = _unsteady(rate, beginning.reason)
        estimates = {name: _unsteady(each, beginning.reason) for name, each in estimates.items()}
    if censored is not None and count(censored):
        estimates = _with_lower_bounds(estimates, latency, censored)
    return Summary(throughput_per_s=rate, latency_s=estimates, warm_up=beginning)


def _unsteady(estimate: Estimate, reason: str) -> Estimate:
    return structs.replace(estimate, low=None, high=None, reason=estimate.reason or reason)


def _with_lower_bounds(
    estimates: dict[str, Estimate], latency: HistogramData, censored: HistogramData
) -> dict[str, Estimate]:
    """Take the intervals from figures that requests which never ended could move.

    Such requests are not all in the intervals of the run: many were given up after it. So the
    value is that of the whole distribution.
    """
    least_s = {"mean": mean_s(latency)}
    for q in QUANTILES:
        if can_show(latency, q) and could_move(latency, censored, q):
            least_s[percentile_name(q)] = quantile_s(latency, q)
    youngest_s = min(lower_edge_ns(bound, is_coarse=True) for bound in censored.bounds_ns) / 1e9
    never_ended = f"{count(censored):,} of {count(latency):,} requests never ended"
    changed = {}
    for name, each in estimates.items():
        if name in least_s:
            changed[name] = structs.replace(
                each,
                value=least_s[name],
                low=None,
                high=None,
                reason=f"{never_ended}: the figure is at least this",
                is_lower_bound=True,
            )
        elif each.high is not None and each.high >= youngest_s:
            changed[name] = structs.replace(
                each,
                low=None,
                high=None,
                reason=f"{never_ended}: they could move the interval's upper end",
            )
    return estimates | changed
