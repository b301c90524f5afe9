"""One load test as JSON. Keys are only ever added: what reads this today reads it tomorrow."""

from typing import Any

import msgspec
from msgspec import structs

from httpdyno.load.entrance import n_entered
from httpdyno.model import (
    Bottleneck,
    Evidence,
    HistogramData,
    HostFacts,
    LoadOutcome,
    Look,
    Measurement,
    Portion,
    Record,
    Visits,
    Workload,
)
from httpdyno.report.load.caveat import load_caveats
from httpdyno.report.load.course import readable
from httpdyno.report.load.distribution import DEVIATION, censored_service_time, figures
from httpdyno.report.load.headline import n_after_end
from httpdyno.report.load.limit import verdict_text
from httpdyno.report.load.precision import summary_of
from httpdyno.report.load.tables import PHASES, portion_censored, request_names
from httpdyno.report.load.threshold import judgements
from httpdyno.report.shared.behind_text import BehindJson, behind_json
from httpdyno.report.shared.caveat import Caveat
from httpdyno.report.shared.workload_text import latency_label, model_name
from httpdyno.stats.histogram import count
from httpdyno.stats.summary import Summary

_KEYS = {"p99.9": "p999", DEVIATION: "std_dev"}


class LatencyJson(Record, frozen=True):
    """A distribution; None where the sample is too small to carry the percentile."""

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float | None
    p95: float | None
    min: float | None
    std_dev: float | None
    """None too where requests never ended: nobody knows how far those lie."""


class SeriesJson(Record, frozen=True):
    """Counts in each interval from the start until the last answer, by the time of the end."""

    interval_s: float
    completed: tuple[int, ...]
    errors: tuple[int, ...]
    latency_max_s: tuple[float, ...]


class CourseJson(Record, frozen=True):
    """The measured part in equal intervals.

    `offered` counts requests by when they were due (closed loop: sent), the others by when they
    ended; what the end of the test cut off (`unsent`, `unfinished`) is an error of the interval in
    which it was due. A percentile is None where too few requests ended.
    """

    interval_s: float
    offered: tuple[int, ...]
    completed: tuple[int, ...]
    errors: tuple[int, ...]
    p50_s: tuple[float | None, ...]
    p99_s: tuple[float | None, ...]
    max_s: tuple[float | None, ...]


class AfterEndJson(Record, frozen=True):
    """What came after the measured part: of requests that were sent within it."""

    completed: int
    """Right answers; in `completed`, but not in `throughput_per_s` and `course`."""
    errors: int
    """Failures; in `errors`, but not in `course`."""


class PhaseJson(Record, frozen=True):
    """One phase of the completed requests; the sums of all phases add up to their latency."""

    n: int
    """Requests that had this phase: only the first on a connection connects."""
    sum_s: float
    p50: float | None
    p99: float | None
    max: float | None


class PortionJson(Record, frozen=True):
    """What became of some of the measured requests: `offered == completed + sum(errors)`."""

    name: str
    offered: int
    completed: int
    errors: dict[str, int]
    latency_s: LatencyJson | None
    """None where it is not kept."""
    at_least: tuple[str, ...]
    """The figures that may be larger in truth, because requests never ended."""


class FirstJson(Record, frozen=True):
    """What the users' first steps came to; none of it is in the other figures."""

    users: int
    entered: int
    """Who did all of them."""
    took_s: float
    requests: tuple[PortionJson, ...]


class HistogramJson(Record, frozen=True):
    """The latency distribution whole: counts up to each bound, buckets 0.1 % wide."""

    bounds_ns: tuple[int, ...]
    counts: tuple[int, ...]


class ThresholdJson(Record, frozen=True):
    """A condition of `--fail-if`, and what the test says of it."""

    condition: str
    passed: bool
    value: float | None
    """In seconds, requests, a ratio, or requests per second; None where it could not be told."""
    sentence: str


class ProvenanceJson(Record, frozen=True):
    """What was asked, where, and when."""

    url: str
    began_at: str
    workload: Workload
    host: HostFacts
    seed: int = 0
    threads: int = 1
    schedule_hash: str = ""
    address: str = ""
    """Where it was connected to."""
    addresses: tuple[str, ...] = ()
    """Of a name that has several: all of them, in the order in which they were tried."""


class LoadJson(Record, frozen=True):
    """The output of `httpdyno load --json`. `offered == completed + sum(errors)`."""

    offered: int
    completed: int
    errors: dict[str, int]
    reasons: dict[str, tuple[str, str]]
    """Of a kind of error why its first request failed, where more is known: a word, a detail."""
    statuses: dict[str, int]
    duration_s: float
    throughput_per_s: float
    latency_label: str
    latency_s: LatencyJson
    service_time_s: LatencyJson
    lateness_s: LatencyJson
    series: SeriesJson
    connects: int
    bytes_sent: int
    bytes_received: int
    client_cpu_s: float
    limited_by: str
    evidence: Evidence
    provenance: ProvenanceJson
    model: str
    """`closed loop`, `constant rate`, `Poisson`, `stages`, `sessions`, `replay` …"""
    limited_by_text: str
    is_interrupted: bool
    censored: int
    """Measured requests that never ended; they are in the latency at the age they had."""
    at_least: dict[str, tuple[str, ...]]
    """The figures of `latency_s` and `service_time_s` that may be larger in truth, therefore."""
    phases: dict[str, PhaseJson]
    requests: tuple[PortionJson, ...]
    populations: tuple[PortionJson, ...]
    pages: PortionJson | None
    visits: Visits
    handshakes_full: int
    handshakes_resumed: int
    course: CourseJson
    after_end: AfterEndJson
    latency_histogram: HistogramJson
    intervals: Summary
    """The figures after any warm-up, with their intervals or the reasons why there are none."""
    thresholds: tuple[ThresholdJson, ...]
    caveats: tuple[Caveat, ...]
    first: FirstJson | None
    """None where users have no first steps."""
    bottleneck: Bottleneck | None
    """What limited the server; None where nobody looked at it."""
    look: Look | None
    """What that rests on."""
    not_looked: str
    """Why nobody looked, where that should be known."""
    behind: tuple[BehindJson, ...]
    """Of a server that was looked at."""
    warm_up_s: float
    """How long the same load was sent before, which is in no figure."""


def load_json(outcome: LoadOutcome) -> dict[str, Any]:
    """Return the test in built-in types, ready for any JSON writer."""
    plain: dict[str, Any] = msgspec.to_builtins(_record(outcome))
    return plain


_MEASURED = {each.name: each.type for each in structs.fields(Measurement)}
_AS_MEASURED = [
    each.name for each in structs.fields(LoadJson) if _MEASURED.get(each.name) == each.type
]
"""What has the same name and type in a measurement is given out as it is."""


def _record(outcome: LoadOutcome) -> LoadJson:
    measurement = outcome.measurement
    return LoadJson(
        **{name: getattr(measurement, name) for name in _AS_MEASURED},
        duration_s=measurement.measured_s,
        throughput_per_s=measurement.throughput_per_s,
        latency_label=latency_label(outcome.workload),
        latency_s=_latency(measurement.latency),
        service_time_s=_latency(measurement.service_time),
        lateness_s=_latency(measurement.lateness),
        series=_series(measurement),
        provenance=_provenance(outcome),
        model=model_name(outcome.workload),
        limited_by_text=verdict_text(outcome),
        is_interrupted=outcome.is_interrupted,
        censored=count(measurement.censored),
        at_least={
            "latency_s": _at_least(measurement.latency, measurement.censored),
            "service_time_s": _at_least(
                measurement.service_time, censored_service_time(measurement)
            ),
        },
        phases=_phases(measurement),
        requests=_requests(outcome),
        populations=tuple(
            _portion(name, portion, outcome.workload.timeout_s)
            for name, portion in measurement.by_population.items()
        ),
        pages=_pages(measurement),
        course=_course(measurement),
        after_end=AfterEndJson(
            completed=n_after_end(measurement),
            errors=measurement.n_errors - sum(measurement.batches.errors),
        ),
        latency_histogram=HistogramJson(
            bounds_ns=measurement.latency.bounds_ns, counts=measurement.latency.counts
        ),
        intervals=summary_of(outcome),
        thresholds=_thresholds(outcome),
        caveats=load_caveats(outcome),
        first=_first(outcome),
        bottleneck=outcome.bottleneck,
        look=outcome.look,
        not_looked=outcome.not_looked,
        behind=tuple(behind_json(outcome.behind)),
        warm_up_s=outcome.warm_up_s,
    )


def _latency(data: HistogramData) -> LatencyJson:
    return LatencyJson(
        **{_KEYS.get(name, name): each.value_s for name, each in figures(data).items()}
    )


def _at_least(data: HistogramData, censored: HistogramData) -> tuple[str, ...]:
    seen = figures(data, censored)
    return tuple(_KEYS.get(name, name) for name, each in seen.items() if each.is_at_least)


def _series(measurement: Measurement) -> SeriesJson:
    return SeriesJson(
        interval_s=measurement.series_interval_s,
        completed=measurement.series_completed,
        errors=measurement.series_errors,
        latency_max_s=measurement.series_latency_max_s,
    )


def _provenance(outcome: LoadOutcome) -> ProvenanceJson:
    return ProvenanceJson(
        url=outcome.url,
        began_at=outcome.began_at,
        workload=outcome.workload,
        host=outcome.host,
        seed=outcome.seed,
        threads=outcome.threads,
        schedule_hash=outcome.schedule_hash,
        address=outcome.address,
        addresses=outcome.addresses,
    )


def _phases(measurement: Measurement) -> dict[str, PhaseJson]:
    seen = {name: getattr(measurement.phases, name) for name in PHASES}
    return {
        name: PhaseJson(
            n=count(data),
            sum_s=data.sum_s,
            **{which: figures(data)[which].value_s for which in ("p50", "p99", "max")},
        )
        for name, data in seen.items()
        if count(data)
    }


def _requests(outcome: LoadOutcome) -> tuple[PortionJson, ...]:
    portions = outcome.measurement.by_request
    return tuple(
        _portion(name, portion, outcome.workload.timeout_s)
        for name, portion in zip(request_names(outcome), portions, strict=False)
    )


def _first(outcome: LoadOutcome) -> FirstJson | None:
    entrance, workload = outcome.entrance, outcome.workload
    if entrance is None:
        return None
    portions = entrance.by_request[len(workload.requests) :]
    return FirstJson(
        users=workload.connections,
        entered=n_entered(entrance, workload),
        took_s=entrance.total_s,
        requests=tuple(
            _portion(f"{request.method} {request.path}", portion, workload.timeout_s)
            for request, portion in zip(workload.first, portions, strict=False)
        ),
    )


def _portion(name: str, portion: Portion, timeout_s: float) -> PortionJson:
    censored = portion_censored(portion, timeout_s)
    return PortionJson(
        name=name,
        offered=portion.offered,
        completed=portion.completed,
        errors=portion.errors,
        latency_s=None if portion.latency is None else _latency(portion.latency),
        at_least=() if portion.latency is None else _at_least(portion.latency, censored),
    )


def _pages(measurement: Measurement) -> PortionJson | None:
    pages = measurement.pages
    if not pages.offered:
        return None
    return PortionJson(
        name="pages",
        offered=pages.offered,
        completed=pages.completed,
        errors={"failed": pages.failed} if pages.failed else {},
        latency_s=_latency(pages.time),
        at_least=_at_least(pages.time, pages.censored),
    )


def _course(measurement: Measurement) -> CourseJson:
    batches = readable(measurement.batches)
    seen = [figures(data) for data in batches.latency]
    return CourseJson(
        interval_s=batches.interval_s,
        offered=batches.offered,
        completed=batches.completed,
        errors=batches.errors,
        p50_s=tuple(each["p50"].value_s for each in seen),
        p99_s=tuple(each["p99"].value_s for each in seen),
        max_s=tuple(each["max"].value_s for each in seen),
    )


def _thresholds(outcome: LoadOutcome) -> tuple[ThresholdJson, ...]:
    return tuple(
        ThresholdJson(
            condition=each.threshold.text,
            passed=each.is_passed,
            value=each.value,
            sentence=each.sentence,
        )
        for each in judgements(outcome)
    )
