"""A load test as metrics in Prometheus' text format, for a push gateway or a textfile collector.

Counters and gauges of the whole window; the latency as a histogram, whose buckets are cumulative
and hold what took at most `le` seconds.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

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


def load_prometheus(outcome: LoadOutcome) -> str:
    """Return the exposition; every sample carries the URL and the model of the load."""
    registry = CollectorRegistry()
    registry.register(_LoadMetrics(outcome))
    return generate_latest(registry).decode()


class _LoadMetrics(Collector):
    """The metrics of one load test."""

    def __init__(self, outcome: LoadOutcome) -> None:
        self._outcome = outcome
        self._measurement = outcome.measurement
        self._common = {"url": outcome.url, "model": model_name(outcome.workload)}

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its samples."""
        yield from self._requests()
        yield from self._durations()
        yield from self._rates()

    def _requests(self) -> Iterator[Metric]:
        seen = self._measurement
        yield self._counted(
            "requests",
            "Requests by what became of them; they add up to those offered.",
            "outcome",
            {"completed": seen.completed, **dict(sorted(seen.errors.items()))},
        )
        statuses = {str(status): n for status, n in sorted(seen.statuses.items())}
        yield self._counted("responses", "Whole answers by status.", "status", statuses)
        traffic = {"sent": seen.bytes_sent, "received": seen.bytes_received}
        about = "Bytes of requests sent and of answers received."
        yield self._counted("bytes", about, "direction", traffic)
        handshakes = {"full": seen.handshakes_full, "resumed": seen.handshakes_resumed}
        yield self._counted("tls_handshakes", "TLS handshakes.", "kind", handshakes)
        connects = self._metric("connects", "Connections that were tried to open.", "counter")
        self._add(connects, "_total", seen.connects)
        yield connects

    def _durations(self) -> Iterator[Metric]:
        seen = self._measurement
        distributions = {
            "latency": ("Time to the whole answer, from when the model counts.", seen.latency),
            "service_time": ("Time from sending to the whole answer.", seen.service_time),
            "lateness": ("Time from a request's due time to its sending.", seen.lateness),
            "page": ("Time to a page with all its objects.", seen.pages.time),
        }
        for key, (about, data) in distributions.items():
            if count(data):
                metric = self._metric(f"{key}_seconds", about, "histogram")
                self._add_histogram(metric, data)
                yield metric
        if len(seen.by_request) > 1:
            about = "Latency of each request of the mix."
            metric = self._metric("request_latency_seconds", about, "histogram")
            for path, portion in zip(request_names(self._outcome), seen.by_request, strict=False):
                if portion.latency is not None:
                    self._add_histogram(metric, portion.latency, {"request": path})
            yield metric
        phases = {phase: getattr(seen.phases, phase).sum_s for phase in PHASES}
        about = "Time that completed requests spent in each phase."
        yield self._counted("phase_seconds", about, "phase", phases)

    def _rates(self) -> Iterator[Metric]:
        seen = self._measurement
        singles = {
            "throughput": ("Right answers per second.", seen.throughput_per_s),
            "duration_seconds": ("Length of the measured part.", seen.measured_s),
            "client_cpu_seconds": ("CPU time of the load engine.", seen.client_cpu_s),
        }
        for key, (about, value) in singles.items():
            metric = self._metric(key, about, "gauge")
            self._add(metric, "", value)
            yield metric
        about = "1 for who kept the throughput from being higher."
        limit = self._metric("limited_by", about, "gauge")
        self._add(limit, "", 1, {"who": seen.limited_by or "unknown"})
        yield limit

    @staticmethod
    def _metric(key: str, about: str, kind: str) -> Metric:
        return Metric(f"httpdyno_load_{key}", about, kind)

    def _add(self, metric: Metric, suffix: str, value: float, labels: Labels | None = None) -> None:
        metric.add_sample(f"{metric.name}{suffix}", {**self._common, **(labels or {})}, value)

    def _counted(self, key: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
        """Return a counter with a sample for each value of one label."""
        metric = self._metric(key, about, "counter")
        for name, value in values.items():
            self._add(metric, "_total", value, {label: name})
        return metric

    def _add_histogram(
        self, metric: Metric, data: HistogramData, labels: Labels | None = None
    ) -> None:
        cumulative = list(accumulate(data.counts, initial=0))
        for limit_s in BUCKETS_S:
            n = cumulative[bisect_right(data.bounds_ns, round(limit_s * 1e9))]
            self._add(metric, "_bucket", n, {**(labels or {}), "le": f"{limit_s:.10g}"})
        self._add(metric, "_bucket", count(data), {**(labels or {}), "le": "+Inf"})
        self._add(metric, "_sum", data.sum_s, labels)
        self._add(metric, "_count", count(data), labels)
