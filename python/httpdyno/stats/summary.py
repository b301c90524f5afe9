"""All figures of one run at once, each with its interval or the reason why there is none."""

import msgspec
from msgspec import structs

from httpdyno.model import Batches, HistogramData, Record
from httpdyno.reason import Reason, because
from httpdyno.stats.estimation import (
    MIN_INTERVALS,
    MIN_REQUESTS,
    REFERENCE_RATIO,
    Estimate,
    WarmUp,
    n_whole_intervals,
    percentile_name,
    too_few_answers,
    too_few_for,
    too_few_requests,
    too_short,
)
from httpdyno.stats.histogram import can_show, could_move, count, lower_edge_ns, mean_s, quantile_s

QUANTILES = (0.5, 0.9, 0.99, 0.999)


class Summary(Record, frozen=True):
    """One run's figures with their intervals."""

    throughput_per_s: Estimate
    latency_s: dict[str, Estimate]
    """mean, p50, p90, p99, p99.9."""
    warm_up: WarmUp = msgspec.field(default_factory=WarmUp)

    @property
    def reasons(self) -> tuple[Reason, ...]:
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
    found = _of_a_handful(batches, measured_s, latency, confidence)
    if found is None:
        # Its arrays take longer to load than a test of a handful of requests takes.
        from httpdyno.stats.estimate import from_intervals  # noqa: PLC0415

        found = from_intervals(batches, measured_s, latency, QUANTILES, confidence)
    rate, estimates, beginning = found
    if censored is not None and count(censored):
        estimates = _with_lower_bounds(estimates, latency, censored)
    return Summary(throughput_per_s=rate, latency_s=estimates, warm_up=beginning)


def _of_a_handful(
    batches: Batches, measured_s: float, latency: HistogramData, confidence: float
) -> tuple[Estimate, dict[str, Estimate], WarmUp] | None:
    """Return the bare figures of a run that is too short and of too few requests for intervals.

    None where it is not; else just what the analysis would say.
    """
    n = n_whole_intervals(batches, measured_s)
    n_completed = sum(batches.completed[:n])
    n_requests = sum(count(each) for each in batches.latency[:n])
    if n * REFERENCE_RATIO >= MIN_INTERVALS or max(n_completed, n_requests) >= MIN_REQUESTS:
        return None

    def bare(value: float | None, reason: Reason) -> Estimate:
        return Estimate(value=value, confidence=confidence, n_batches=n, reason=reason)

    rate = bare(
        n_completed / n / batches.interval_s if n else None,
        too_few_answers(n_completed),
    )
    mean = bare(
        mean_s(latency) if count(latency) else None,
        too_few_requests(n_requests),
    )
    estimates = {"mean": mean}
    for q in QUANTILES:
        estimates[percentile_name(q)] = (
            bare(
                quantile_s(latency, q),
                because("stats.interval_too_few", why=too_few_for(q, n_requests)),
            )
            if can_show(latency, q)
            else bare(None, too_few_for(q, count(latency)))
        )
    return rate, estimates, too_short(batches.interval_s)


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
    n, n_requests = count(censored), count(latency)
    changed = {}
    for name, each in estimates.items():
        if name in least_s:
            changed[name] = structs.replace(
                each,
                value=least_s[name],
                low=None,
                high=None,
                reason=because("stats.at_least", n=n, n_requests=n_requests),
                is_lower_bound=True,
            )
        elif each.high is not None and each.high >= youngest_s:
            changed[name] = structs.replace(
                each,
                low=None,
                high=None,
                reason=because("stats.upper_end_open", n=n, n_requests=n_requests),
            )
    return estimates | changed
