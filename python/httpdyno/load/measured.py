"""What the engine saw of a window, as a measurement: the one place where it is converted."""

from enum import Enum, auto

from httpdyno import _native
from httpdyno.model import HistogramData, LiveLoad, Measurement


class Detail(Enum):
    """How much of a window is converted."""

    WINDOW = auto()
    """What a comparison of many windows needs and stores."""
    WHOLE = auto()
    """All that one load test has to tell: phases, each request's part, time batches, a trace."""


def measurement(result: _native.WindowResult, detail: Detail = Detail.WINDOW) -> Measurement:
    """Return what one window saw."""
    return Measurement(
        opened_s=result.opened_ns / 1e9,
        measured_s=(result.measure_end_ns - result.measure_start_ns) / 1e9,
        total_s=(result.closed_ns - result.opened_ns) / 1e9,
        offered=result.offered,
        completed=result.completed,
        errors=dict(result.errors),
        statuses={str(status): n for status, n in sorted(result.statuses.items())},
        measured_offered=result.measured_offered,
        measured_completed=result.measured_completed,
        measured_errors=result.measured_errors,
        connects=result.connects,
        bytes_sent=result.bytes_sent,
        bytes_received=result.bytes_received,
        latency=histogram(result.latency),
        service_time=histogram(result.service_time),
        lateness=histogram(result.lateness),
        series_interval_s=result.series_interval_s,
        series_completed=tuple(result.series_completed),
        series_errors=tuple(result.series_errors),
        series_latency_max_s=tuple(result.series_latency_max_s),
        client_cpu_s=result.client_cpu_s,
        busy_connection_s=result.busy_connection_s,
        limited_by=result.limited_by,
        evidence=dict(result.evidence),
    )


def histogram(native: _native.Histogram) -> HistogramData:
    """Return a distribution as sparse buckets."""
    bounds_ns, counts = native.buckets()
    return HistogramData(
        bounds_ns=tuple(bounds_ns),
        counts=tuple(counts),
        sum_s=native.sum_s,
        max_s=native.max_s,
    )


def live(run: _native.LoadRun) -> LiveLoad | None:
    """Return the window that is under way, so far; None when there is none."""
    snapshot = getattr(run, "live", None)
    seen = snapshot() if snapshot else None
    if seen is None:
        return None
    return LiveLoad(
        elapsed_s=seen.elapsed_s,
        offered=seen.offered,
        completed=seen.completed,
        errors=seen.errors,
        in_flight=seen.in_flight,
        latency=histogram(seen.latency),
    )
