"""How far the figures of a load test may be off, and where its warm-up ended."""

from functools import lru_cache

from httpdyno.model import Batches, HistogramData, LoadOutcome
from httpdyno.report.load.tables import Grid
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.stats.estimation import Estimate
from httpdyno.stats.summary import Summary, summarise
from httpdyno.units import Format, format_bounds, format_duration, format_rate


def summary_of(outcome: LoadOutcome) -> Summary:
    """Return the figures with their intervals, or the reasons why there are none."""
    measurement = outcome.measurement
    return _summary(
        measurement.batches, measurement.measured_s, measurement.latency, measurement.censored
    )


@lru_cache(maxsize=8)
def _summary(
    batches: Batches, measured_s: float, latency: HistogramData, censored: HistogramData
) -> Summary:
    """Return it once for all reports of a test: it takes a tenth of a second."""
    return summarise(batches, measured_s=measured_s, latency=latency, censored=censored)


def half_width_text(outcome: LoadOutcome) -> str:
    """Return how far the throughput may be off, such as `9.1/s`; empty where nobody knows.

    It is that of the whole measured part; where a warm-up was cut, `warm_up_text` has the rest's.
    """
    summary = summary_of(outcome)
    rate = summary.throughput_per_s
    if rate.low is None or rate.high is None or summary.warm_up.n_cut:
        return ""
    return format_rate((rate.high - rate.low) / 2, toward="up")


def no_interval_text(outcome: LoadOutcome) -> str:
    """Return why the throughput has no interval; empty where it has one, or no value."""
    rate = summary_of(outcome).throughput_per_s
    return rate.reason if rate.low is None and rate.value else ""


def warm_up_text(outcome: LoadOutcome) -> str:
    """Return what the test shows without its warm-up; empty where none, or nothing else, is."""
    summary = summary_of(outcome)
    if not summary.warm_up.n_cut or not summary.throughput_per_s.value:
        return ""
    cut = format_duration(summary.warm_up.cut_s)
    figures = [_estimate_text(summary.throughput_per_s, format_rate)]
    figures += [
        f"{name} {format_duration(each.value)}"
        for name, each in summary.latency_s.items()
        if name in {"p50", "p99"} and each.value is not None
    ]
    return f"the first {cut} are unlike the rest; without them {', '.join(figures)}"


def unsteady_text(outcome: LoadOutcome) -> str:
    """Return why no part of the test is steady; empty where one is."""
    return summary_of(outcome).warm_up.reason


def interval_grid(outcome: LoadOutcome) -> Grid:
    """Return each figure with its interval, or the reason why there is none."""
    summary = summary_of(outcome)
    confidence = f"{summary.throughput_per_s.confidence * 100:g} % interval"
    rows = [_row("throughput", summary.throughput_per_s, format_rate)]
    rows += [_row(name, each, format_duration) for name, each in summary.latency_s.items()]
    return Grid(head=("", "value", confidence), rows=tuple(rows), note=summary.warm_up.test)


def _row(name: str, estimate: Estimate, text: Format) -> tuple[str, ...]:
    if estimate.value is None:
        return (name, NOTHING, f"none: {estimate.reason}")
    mark = "≥ " if estimate.is_lower_bound else ""
    interval = _bounds(estimate, text) or f"none: {estimate.reason}"
    return (name, f"{mark}{text(estimate.value)}", interval)


def _estimate_text(estimate: Estimate, text: Format) -> str:
    if estimate.value is None:
        return NOTHING
    bounds = _bounds(estimate, text)
    return f"{text(estimate.value)} ({bounds})" if bounds else text(estimate.value)


def _bounds(estimate: Estimate, text: Format) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return format_bounds(estimate.low, estimate.high, text)
