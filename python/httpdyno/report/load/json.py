"""One load test as JSON: its records, published, and what reports make of them."""

from typing import Any

from msgspec import structs

from httpdyno.load.entrance import n_entered
from httpdyno.model import HistogramData, LoadOutcome, Measurement, Portion
from httpdyno.report.load.caveat import load_caveats
from httpdyno.report.load.tables import portion_censored, readable, request_names, summary_of
from httpdyno.report.load.threshold import judgements
from httpdyno.report.load.verdict import n_after_end, verdict_text
from httpdyno.report.shared import message
from httpdyno.report.shared.distribution import censored_service_time, figures
from httpdyno.report.shared.published import KEYS, SCHEMA_VERSION, published
from httpdyno.report.shared.workload_text import latency_label, model_name
from httpdyno.stats.histogram import count

_MADE_ANEW = (
    *("by_request", "by_population", "pages", "batches", "censored", "phases"),
    *("of_request", "beside", "trace", "cycles", "opened_s"),
)
"""Of a measurement: what stands below in another form, and what is the engine's or a study's."""
_ASKED = frozenset(
    {
        *("url", "address", "addresses", "began_at", "workload", "host", "seed", "threads"),
        "schedule_hash",
    }
)
"""Of the outcome: what was asked, where and when."""
_FOUND = frozenset({"is_interrupted", "look", "bottleneck", "behind", "warm_up_s"})


def load_json(outcome: LoadOutcome) -> dict[str, Any]:
    """Return the test in built-in types, ready for any JSON writer.

    `offered == completed + sum(errors)`. `at_least` names the figures that may be larger in truth,
    because requests never ended: those are in the latency at the age that they had.
    """
    measurement, workload = outcome.measurement, outcome.workload
    latency, censored = measurement.latency, measurement.censored
    return {
        "schema_version": SCHEMA_VERSION,
        **published(measurement, without=_MADE_ANEW),
        "latency_label": latency_label(workload),
        "provenance": _fields(outcome, _ASKED),
        "model": model_name(workload),
        "limited_by_text": verdict_text(outcome),
        "censored": count(censored),
        "at_least": {
            "latency_s": _at_least(latency, censored),
            "service_time_s": _at_least(
                measurement.service_time, censored_service_time(measurement)
            ),
        },
        "phases": {
            name: published(data)
            for name, data in structs.asdict(measurement.phases).items()
            if count(data)
        },
        "requests": [
            _portion(name, portion, workload.timeout_s)
            for name, portion in zip(request_names(outcome), measurement.by_request, strict=False)
        ],
        "populations": [
            _portion(name, portion, workload.timeout_s)
            for name, portion in measurement.by_population.items()
        ],
        "pages": _pages(measurement),
        "course": _course(measurement),
        # Of requests that were sent within the measured part, and not in the rate or the course.
        "after_end": {
            "completed": n_after_end(measurement),
            "errors": measurement.n_errors - sum(measurement.batches.errors),
        },
        "latency_histogram": {"bounds_ns": latency.bounds_ns, "counts": latency.counts},
        "intervals": published(summary_of(outcome)),
        "thresholds": [
            {
                "condition": each.threshold.text,
                "passed": each.is_passed,
                "value": each.value,
                "sentence": each.sentence,
            }
            for each in judgements(outcome)
        ],
        "caveats": published(load_caveats(outcome)),
        "first": _first(outcome),
        "not_looked": message.text(outcome.not_looked) if outcome.not_looked else "",
        **_fields(outcome, _FOUND),
    }


def _fields(outcome: LoadOutcome, names: frozenset[str]) -> dict[str, Any]:
    plain: dict[str, Any] = published(outcome, without=set(outcome.__struct_fields__) - names)
    return plain


def _at_least(data: HistogramData, censored: HistogramData) -> list[str]:
    seen = figures(data, censored)
    return [KEYS.get(name, name) for name, each in seen.items() if each.is_at_least]


def _portion(name: str, portion: Portion, timeout_s: float) -> dict[str, Any]:
    censored = portion_censored(portion, timeout_s)
    at_least = [] if portion.latency is None else _at_least(portion.latency, censored)
    # A distribution that is not kept is null.
    return {"name": name, "latency_s": None, **published(portion), "at_least": at_least}


def _pages(measurement: Measurement) -> dict[str, Any] | None:
    pages = measurement.pages
    if not pages.offered:
        return None
    return {
        "name": "pages",
        **published(pages, without=("censored", "failed")),
        "errors": {"failed": pages.failed} if pages.failed else {},
        "at_least": _at_least(pages.time, pages.censored),
    }


def _first(outcome: LoadOutcome) -> dict[str, Any] | None:
    """Return what the users' first steps came to, which is in no other figure."""
    entrance, workload = outcome.entrance, outcome.workload
    if entrance is None:
        return None
    portions = entrance.by_request[len(workload.requests) :]
    return {
        "users": workload.connections,
        "entered": n_entered(entrance, workload),
        "took_s": entrance.total_s,
        "requests": [
            _portion(f"{request.method} {request.path}", portion, workload.timeout_s)
            for request, portion in zip(workload.first, portions, strict=False)
        ],
    }


def _course(measurement: Measurement) -> dict[str, Any]:
    """Return the measured part in equal intervals; None for a percentile of too few requests.

    `offered` counts requests by when they were due (closed loop: sent), the others by when they
    ended; what the end cut off is an error of the interval in which it was due.
    """
    batches = readable(measurement.batches)
    seen = [figures(data) for data in batches.latency]
    return {
        **published(batches, without=("latency",)),
        **{f"{name}_s": [each[name].value_s for each in seen] for name in ("p50", "p99", "max")},
    }
