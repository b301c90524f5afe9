"""One plain load test, as JSON and as a summary that readers of ab or wrk know at a glance."""

import math
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.model import HistogramData, HostFacts, Measurement, Record, Workload
from httpdyno.report.phrase import NOTHING, oxford, plural
from httpdyno.stats.histogram import MIN_TAIL_COUNT, can_show, count, mean_s, quantile_s
from httpdyno.units import format_bytes, format_duration, format_rate

OPEN_LOOP = "from the due time"
CLOSED_LOOP = "from sending; closed loop, not corrected for coordinated omission"
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
_TIMEOUT_SLACK = 0.999
"""A timeout is recorded at its age, in a bucket 0.1 % wide."""
_MANY_LATE_S = 0.001
"""From here the client's own delay is worth a word."""


class LatencyJson(Record, frozen=True):
    """A distribution; None where the sample is too small to carry the percentile."""

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    p999: float | None
    max: float | None


class SeriesJson(Record, frozen=True):
    """Counts in each interval from the start on."""

    interval_s: float
    completed: tuple[int, ...]
    errors: tuple[int, ...]
    latency_max_s: tuple[float, ...]


class ProvenanceJson(Record, frozen=True):
    """What was asked, where, and when."""

    url: str
    began_at: str
    workload: Workload
    host: HostFacts


class LoadJson(Record, frozen=True):
    """The output of `httpdyno load --json`. `offered == completed + sum(errors)`."""

    offered: int
    completed: int
    errors: dict[str, int]
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
    evidence: dict[str, float]
    provenance: ProvenanceJson


def load_json(
    measurement: Measurement,
    workload: Workload,
    host: HostFacts,
    *,
    url: str = "",
    began_at: str = "",
) -> dict[str, Any]:
    """Return the measurement in built-in types, ready for any JSON writer."""
    record = LoadJson(
        offered=measurement.offered,
        completed=measurement.completed,
        errors=measurement.errors,
        statuses=measurement.statuses,
        duration_s=measurement.measured_s,
        throughput_per_s=measurement.throughput_per_s,
        latency_label=latency_label(workload),
        latency_s=_distribution(measurement.latency),
        service_time_s=_distribution(measurement.service_time),
        lateness_s=_distribution(measurement.lateness),
        series=SeriesJson(
            interval_s=measurement.series_interval_s,
            completed=measurement.series_completed,
            errors=measurement.series_errors,
            latency_max_s=measurement.series_latency_max_s,
        ),
        connects=measurement.connects,
        bytes_sent=measurement.bytes_sent,
        bytes_received=measurement.bytes_received,
        client_cpu_s=measurement.client_cpu_s,
        limited_by=measurement.limited_by,
        evidence=measurement.evidence,
        provenance=ProvenanceJson(url=url, began_at=began_at, workload=workload, host=host),
    )
    plain: dict[str, Any] = msgspec.to_builtins(record)
    return plain


def load_schema() -> dict[str, Any]:
    """Return the JSON Schema of `load_json`."""
    return msgspec.json.schema(LoadJson)


def latency_label(workload: Workload) -> str:
    """Return from which moment latency counts."""
    return CLOSED_LOOP if workload.rate_per_s is None else OPEN_LOOP


def _distribution(data: HistogramData) -> LatencyJson:
    if count(data) == 0:
        return LatencyJson(mean=None, p50=None, p90=None, p99=None, p999=None, max=None)
    shown = {
        name: quantile_s(data, q) if can_show(data, q) else None for name, q in QUANTILES.items()
    }
    return LatencyJson(mean=mean_s(data), max=data.max_s, **shown)


def load_text(
    measurement: Measurement, workload: Workload, host: HostFacts, *, url: str = ""
) -> RenderableType:
    """Return a summary whose first line is the verdict."""
    parts: list[RenderableType] = [Text(verdict_line(measurement, workload), _style(measurement))]
    if url:
        parts.append(Text(f"{url}, {_offer(workload)}"))
    if measurement.errors:
        parts += [Text(), Text("errors"), _counts(measurement.errors)]
    statuses = {key: n for key, n in measurement.statuses.items() if n}
    if len(statuses) > 1:
        parts += [Text(), Text("statuses"), _counts(statuses)]
    if count(measurement.latency):
        parts += [Text(), Text(f"latency, {latency_label(workload)}")]
        parts.append(_latency_table(measurement, workload))
        reason = missing_percentiles(measurement.latency)
        if reason:
            parts.append(Padding(Text(reason), (0, 0, 0, 2)))
    return Group(*parts, Text(), _facts(measurement, workload, host))


def verdict_line(measurement: Measurement, workload: Workload) -> str:
    """Return how many requests got the right answer, and what happened to the others."""
    offered, completed = measurement.offered, measurement.completed
    if offered == 0:
        return "no request was sent"
    text = f"{completed:,} of {plural(offered, 'request')} completed"
    if completed:
        duration = format_duration(measurement.measured_s)
        text += f", {format_rate(measurement.throughput_per_s)} over {duration}"
    return f"{text}: {_failures(measurement, workload)}" if measurement.errors else text


def _failures(measurement: Measurement, workload: Workload) -> str:
    named = sorted(measurement.errors.items(), key=lambda item: -item[1])
    (kind, most), *others = [(kind, n) for kind, n in named if n] or [("", 0)]
    words = [_failure(kind, most, measurement, workload)]
    words += [_failure(kind, n, measurement, workload) for kind, n in others]
    if most == measurement.offered:
        return f"all {most:,} {words[0]}"
    each = [f"{n:,} {text}" for text, (_, n) in zip(words, [(kind, most), *others], strict=True)]
    return oxford(each)


def _failure(kind: str, n: int, measurement: Measurement, workload: Workload) -> str:
    """Return what happened to the `n` requests of one kind of error."""
    if kind == "wrong_status":
        got = _wrong_statuses(measurement, workload)
        which = f"status {next(iter(got))}" if len(got) == 1 else "another status"
        return f"got {which} (expected {_expected(workload)})"
    if kind == "timeout":
        verb = "got no whole answer within"
        return f"{verb} {format_duration(workload.timeout_s)}"
    words = _ERROR_WORDS.get(kind)
    return words if words else f"ended as {kind.replace('_', ' ')}"


_ERROR_WORDS = {
    "refused": "were refused a connection",
    "reset": "had their connection reset",
    "short_body": "got a body that ended early",
    "bad_response": "got an answer that is not HTTP",
    "wrong_length": "got a body of another length than expected",
    "no_descriptors": "found no file descriptor left on this client",
    "no_ports": "found no local port left on this client",
    "connect": "could not connect",
    "unsent": "were due but never sent",
    "unfinished": "were under way when the run was stopped",
}


def _wrong_statuses(measurement: Measurement, workload: Workload) -> list[str]:
    expected = {spec.expect_status for spec in workload.requests}
    if len(expected) != 1:
        return []
    wanted = next(iter(expected))
    return [
        status
        for status, n in measurement.statuses.items()
        if n and not _is_expected(status, wanted)
    ]


def _is_expected(status: str, wanted: int | None) -> bool:
    return status[:1] in {"2", "3"} if wanted is None else status == str(wanted)


def _expected(workload: Workload) -> str:
    wanted = {spec.expect_status for spec in workload.requests}
    return oxford(sorted("2xx or 3xx" if status is None else str(status) for status in wanted))


def _style(measurement: Measurement) -> str:
    return "bold red" if measurement.errors or not measurement.completed else "bold green"


def _offer(workload: Workload) -> str:
    connections = plural(workload.connections, "connection")
    reuse = "keep-alive" if workload.keep_alive else "no keep-alive"
    if workload.rate_per_s is None:
        return f"{connections}, closed loop, {reuse}"
    return f"{format_rate(workload.rate_per_s)} offered over {connections}, {reuse}"


def _counts(numbers: dict[str, int]) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=True, show_header=False)
    table.add_column(justify="right")
    for name, n in sorted(numbers.items(), key=lambda item: -item[1]):
        table.add_row(f"{n:,}", name.replace("_", " "))
    return table


def _latency_table(measurement: Measurement, workload: Workload) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("")
    for name in ("mean", "p50", "p90", "p99", "p99.9", "max"):
        table.add_column(name, justify="right")
    rows = {"latency": measurement.latency}
    if workload.rate_per_s is not None:
        rows |= {"service time": measurement.service_time, "lateness": measurement.lateness}
    for name, data in rows.items():
        table.add_row(f"  {name}", *_latency_cells(data, measurement, workload))
    return table


def _latency_cells(data: HistogramData, measurement: Measurement, workload: Workload) -> list[str]:
    if count(data) == 0:
        return [NOTHING] * (len(QUANTILES) + 2)
    values = [mean_s(data)]
    values += [quantile_s(data, q) if can_show(data, q) else math.nan for q in QUANTILES.values()]
    values.append(data.max_s)
    has_timeouts = measurement.errors.get("timeout", 0) > 0 and data is not measurement.lateness
    limit_s = workload.timeout_s * _TIMEOUT_SLACK if has_timeouts else math.inf
    cells = [f"{'≥ ' if value >= limit_s else ''}{format_duration(value)}" for value in values]
    if has_timeouts:
        cells[0] = f"≥ {cells[0].removeprefix('≥ ')}"
    return cells


def missing_percentiles(data: HistogramData) -> str:
    """Return why percentiles are missing; empty when none is."""
    n = count(data)
    missing = [name for name, q in QUANTILES.items() if n and not can_show(data, q)]
    if not missing:
        return ""
    needed = [
        f"{name.replace('p999', 'p99.9')} needs "
        f"{math.ceil(round(MIN_TAIL_COUNT / (1 - QUANTILES[name]), 6)):,}"
        for name in missing
    ]
    return (
        f"{oxford(needed)} requests, so that {MIN_TAIL_COUNT} lie beyond it; "
        f"this run has {plural(n, 'request')}"
    )


def _facts(measurement: Measurement, workload: Workload, host: HostFacts) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    if measurement.limited_by:
        table.add_row("limited by", _limited(measurement))
    cpu_ratio = measurement.client_cpu_s / measurement.total_s if measurement.total_s else 0.0
    table.add_row(
        "client CPU",
        f"{format_duration(measurement.client_cpu_s)}, {cpu_ratio * 100:.0f} % of one core of "
        f"{host.n_cpus}",
    )
    table.add_row(
        "connects", f"{measurement.connects:,} for {plural(measurement.offered, 'request')}"
    )
    table.add_row(
        "bytes",
        f"{format_bytes(measurement.bytes_sent)} sent, "
        f"{format_bytes(measurement.bytes_received)} received",
    )
    if workload.rate_per_s is not None and count(measurement.lateness):
        late_s = quantile_s(measurement.lateness, 0.5)
        if late_s >= _MANY_LATE_S:
            table.add_row(
                "caveat",
                f"half of the requests were sent {format_duration(late_s)} late or later; "
                "this client is near its limit",
            )
    return table


def _limited(measurement: Measurement) -> str:
    # What is zero is no evidence; all of it is in the JSON.
    facts = [
        f"{name} {value:,.0f}" if value >= 100 else f"{name} {value:.3g}"  # noqa: PLR2004
        for name, value in sorted(measurement.evidence.items())
        if value
    ]
    who = measurement.limited_by.replace("_", " ")
    return f"{who} ({', '.join(facts)})" if facts else who
