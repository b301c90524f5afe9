"""A load test as metrics in Prometheus' text format, for a push gateway or a textfile collector.

Counters and gauges of the whole window; the latency as a histogram, whose buckets are cumulative
and hold what took at most `le` seconds.

Source:
    Prometheus, Exposition formats, text-based format 0.0.4.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate

from httpdyno.model import HistogramData, LoadOutcome
from httpdyno.report.load.tables import PHASES, request_names
from httpdyno.report.shared.workload_text import model_name
from httpdyno.stats.histogram import count

_STEPS = (1.0, 2.5, 5.0)
_LOWEST_DECADE, _HIGHEST_DECADE = -4, 1
"""Buckets from 100 µs to 50 s."""
BUCKETS_S = tuple(
    step * 10.0**decade for decade in range(_LOWEST_DECADE, _HIGHEST_DECADE + 1) for step in _STEPS
)

Labels = Mapping[str, str]


class _Page:
    """Lines of the exposition; each metric's help and type come once, before its samples."""

    def __init__(self, common: Labels) -> None:
        self.lines: list[str] = []
        self._common = common

    def family(self, name: str, kind: str, text: str) -> None:
        self.lines += [f"# HELP {name} {_escaped_help(text)}", f"# TYPE {name} {kind}"]

    def sample(self, name: str, value: float, labels: Labels | None = None) -> None:
        named = {**self._common, **(labels or {})}
        inner = ",".join(f'{key}="{_escaped(each)}"' for key, each in named.items())
        self.lines.append(f"{name}{{{inner}}} {_number(value)}")

    def single(self, name: str, kind: str, text: str, value: float) -> None:
        self.family(name, kind, text)
        self.sample(name, value)

    def histogram(self, name: str, data: HistogramData, labels: Labels | None = None) -> None:
        cumulative = list(accumulate(data.counts, initial=0))
        for limit_s in BUCKETS_S:
            reached = bisect_right(data.bounds_ns, round(limit_s * 1e9))
            le = {"le": f"{limit_s:.10g}"}
            self.sample(f"{name}_bucket", cumulative[reached], {**(labels or {}), **le})
        self.sample(f"{name}_bucket", count(data), {**(labels or {}), "le": "+Inf"})
        self.sample(f"{name}_sum", data.sum_s, labels)
        self.sample(f"{name}_count", count(data), labels)


def load_prometheus(outcome: LoadOutcome) -> str:
    """Return the exposition; every sample carries the URL and the model of the load."""
    page = _Page({"url": outcome.url, "model": model_name(outcome.workload)})
    _requests(page, outcome)
    _durations(page, outcome)
    _rates(page, outcome)
    return "\n".join(page.lines) + "\n"


def _requests(page: _Page, outcome: LoadOutcome) -> None:
    measurement = outcome.measurement
    name = "httpdyno_load_requests_total"
    page.family(name, "counter", "Requests by what became of them; they add up to those offered.")
    page.sample(name, measurement.completed, {"outcome": "completed"})
    for kind, n in sorted(measurement.errors.items()):
        page.sample(name, n, {"outcome": kind})
    name = "httpdyno_load_responses_total"
    page.family(name, "counter", "Whole answers by status.")
    for status, n in sorted(measurement.statuses.items()):
        page.sample(name, n, {"status": status})
    name = "httpdyno_load_bytes_total"
    page.family(name, "counter", "Bytes of requests sent and of answers received.")
    page.sample(name, measurement.bytes_sent, {"direction": "sent"})
    page.sample(name, measurement.bytes_received, {"direction": "received"})
    name = "httpdyno_load_tls_handshakes_total"
    page.family(name, "counter", "TLS handshakes.")
    page.sample(name, measurement.handshakes_full, {"kind": "full"})
    page.sample(name, measurement.handshakes_resumed, {"kind": "resumed"})
    page.single(
        "httpdyno_load_connects_total",
        "counter",
        "Connections that were tried to open.",
        measurement.connects,
    )


def _durations(page: _Page, outcome: LoadOutcome) -> None:
    measurement = outcome.measurement
    distributions = {
        "latency": ("Time to the whole answer, from when the model counts.", measurement.latency),
        "service_time": ("Time from sending to the whole answer.", measurement.service_time),
        "lateness": ("Time from a request's due time to its sending.", measurement.lateness),
        "page": ("Time to a page with all its objects.", measurement.pages.time),
    }
    for key, (text, data) in distributions.items():
        if count(data):
            name = f"httpdyno_load_{key}_seconds"
            page.family(name, "histogram", text)
            page.histogram(name, data)
    if len(measurement.by_request) > 1:
        name = "httpdyno_load_request_latency_seconds"
        page.family(name, "histogram", "Latency of each request of the mix.")
        for path, portion in zip(request_names(outcome), measurement.by_request, strict=False):
            if portion.latency is not None:
                page.histogram(name, portion.latency, {"request": path})
    name = "httpdyno_load_phase_seconds_total"
    page.family(name, "counter", "Time that completed requests spent in each phase.")
    for phase in PHASES:
        page.sample(name, getattr(measurement.phases, phase).sum_s, {"phase": phase})


def _rates(page: _Page, outcome: LoadOutcome) -> None:
    measurement = outcome.measurement
    singles = {
        "throughput": ("Right answers per second.", measurement.throughput_per_s),
        "duration_seconds": ("Length of the measured part.", measurement.measured_s),
        "client_cpu_seconds": ("CPU time of the load engine.", measurement.client_cpu_s),
    }
    for key, (text, value) in singles.items():
        page.single(f"httpdyno_load_{key}", "gauge", text, value)
    name = "httpdyno_load_limited_by"
    page.family(name, "gauge", "1 for who kept the throughput from being higher.")
    page.sample(name, 1, {"who": measurement.limited_by or "unknown"})


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return str(value) if isinstance(value, int) else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _escaped_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
