"""The words, figures and JSON of turns that text and HTML share."""

import math
from typing import Any

from httpdyno.advice.bottleneck import differences
from httpdyno.metrics.table import named, of_ratio
from httpdyno.model import ArmSummary, Comparison, RatioInterval, TurnsOutcome
from httpdyno.report.shared.bottleneck import (
    RUN_QUEUE,
    behind_text,
    difference_text,
    run_queue_text,
    verdict_rows,
)
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.report.shared.published import SCHEMA_VERSION, published
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.secret import without_values
from httpdyno.units import Toward, format_duration, format_number, format_percent, format_rate

# The words and figures of turns that text and HTML share.

_MOST_DECIMALS = 4
LATENCIES = ("p50", "p90", "p99", "p999")


def headline(outcome: TurnsOutcome) -> str:
    """Return what was found, in one sentence for each claim."""
    return "; ".join(claim_words(outcome, each) for each in outcome.comparisons)


def claim_words(outcome: TurnsOutcome, found: Comparison) -> str:
    """Return a claim with its figure: `URL is better: throughput 1.31 × (1.27 … 1.35)`."""
    first, url = (outcome.plan.instances[n].url for n in (0, found.index))
    metric = named(found.metric)
    interval = found.ratios.get(metric.ratio)
    word = {
        "better": "is better than",
        "worse": "is worse than",
        "equivalent": "is equivalent to",
        "failed": "fails beside",
        "inconclusive": "is not told apart from",
        "not_measured": "is not measured against",
    }[found.verdict]
    figure = f": {metric.label} {interval_text(interval)}" if interval else ""
    return f"{url} {word} {first}{figure}"


def interval_text(interval: RatioInterval | None) -> str:
    """Return `1.31 × (1.27 … 1.35)`, its ends rounded outward, with digits that show their side."""
    if interval is None:
        return NOTHING
    low, high = _end(interval.low, "down"), _end(interval.high, "up")
    return f"{_number(interval.ratio)} × ({low} … {high})"


def confidence_text(outcome: TurnsOutcome) -> str:
    """Return what the intervals promise, and how the risk is shared."""
    whole = f"{outcome.plan.confidence:.0%}"
    n = len(outcome.comparisons)
    if n == 1:
        return whole
    each = 100 * outcome.objective.confidence
    return f"{whole} for all {n} claims together ({each:.4g} % for each)"


def ratio_rows(found: Comparison) -> list[tuple[str, str]]:
    """Return (name, interval) of each ratio that the periods bound."""
    return [(of_ratio(name).label, interval_text(each)) for name, each in found.ratios.items()]


def instance_rows(summary: ArmSummary) -> list[tuple[str, str]]:
    """Return (name, figure) of what an instance did."""
    rows = [("throughput", format_rate(summary.throughput_per_s))]
    rows += [
        (name.replace("p999", "p99.9"), format_duration(summary.latency_s[name]))
        if name in summary.latency_s
        else (name.replace("p999", "p99.9"), NOTHING)
        for name in LATENCIES
    ]
    cpu_s = summary.cpu_s_per_request
    rows.append(("CPU/request", format_duration(cpu_s) if cpu_s else NOTHING))
    rows.append(("wrong", format_percent(summary.error_ratio) if summary.error_ratio else "none"))
    return rows


def without_lines(outcome: TurnsOutcome) -> list[str]:
    """Return whom the CPU time of each instance is without; empty where that is told of none.

    `CPU/request of http://127.0.0.1:8901/: without postgres 812 (127.0.0.1:5432)`.
    """
    return [
        f"CPU/request of {each.url}: without {behind_text(each.behind)}"
        for each, summary in outcome.arms
        if each.behind and summary.cpu_s_per_request
    ]


def limit_rows(outcome: TurnsOutcome) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return what limited each instance that was looked at: (URL, [(name, sentence)]).

    Of a candidate also what differs inside from the reference: reasons, not proofs.
    """
    rows = []
    reference, of_reference = outcome.arms[0]
    first = of_reference.look
    for instance, summary in outcome.arms:
        look, found = summary.look, summary.bottleneck
        if look is None or found is None:
            continue
        told = list(verdict_rows(look, found, of="more of the same load"))
        if text := run_queue_text(look):
            told.append((RUN_QUEUE, text))
        if first is not None and look is not first and (moved := differences(first, look)):
            texts = "; ".join(difference_text(each) for each in moved)
            told.append((f"beside {reference.url}", texts))
        rows.append((instance.url, told))
    return rows


def measured_text(outcome: TurnsOutcome) -> str:
    """Return how it was measured, in one line."""
    return (
        f"{plural(outcome.n_periods, 'period')} of {len(outcome.plan.instances)} turns, each "
        f"measured for {format_duration(outcome.turn_s)}; {workload_text(outcome.plan.workload)}; "
        f"{format_duration(outcome.duration_s)} in all, seed {outcome.plan.seed}"
    )


def _number(value: float, toward: Toward = "nearest", decimals: int = 2) -> str:
    return format_number(value, decimals, toward=toward)


def _end(value: float, toward: Toward) -> str:
    """Return an end of an interval that does not read as 1 where it is not."""
    if not math.isfinite(value):
        return "∞"
    for decimals in range(2, _MOST_DECIMALS):
        text = _number(value, toward, decimals)
        if float(text.replace(",", "")) != 1.0 or value == 1.0:
            return text
    return _number(value, toward, _MOST_DECIMALS)


def turns_json(outcome: TurnsOutcome) -> dict[str, Any]:
    """Return the record, published, without the values of headers."""
    plain: dict[str, Any] = published(without_values(outcome))
    return {"schema_version": SCHEMA_VERSION, "headline": headline(outcome), **plain}
