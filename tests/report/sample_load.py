"""A realistic plain load test, built by code: same bytes every time."""

from tests.report.sample import latency_data

from httpdyno.model import HistogramData, Measurement


def load_measurement(
    *,
    completed: int = 12_345,
    errors: dict[str, int] | None = None,
    statuses: dict[str, int] | None = None,
    latency: HistogramData | None = None,
) -> Measurement:
    """Return one plain window of ten seconds."""
    errors = errors or {}
    offered = completed + sum(errors.values())
    seen = latency_data(0.0039, 0.4, completed) if latency is None else latency
    return Measurement(
        opened_s=100.0,
        measured_s=10.0,
        total_s=10.004,
        offered=offered,
        completed=completed,
        errors=errors,
        statuses={"200": completed} if statuses is None else statuses,
        measured_offered=offered,
        measured_completed=completed,
        measured_errors=sum(errors.values()),
        connects=50,
        bytes_sent=offered * 84,
        bytes_received=offered * 1290,
        latency=seen,
        service_time=seen,
        lateness=HistogramData(),
        series_completed=(completed // 4,) * 4,
        series_errors=(0,) * 4,
        series_latency_max_s=(0.01, 0.012, 0.02, 0.011),
        client_cpu_s=0.61,
        busy_connection_s=49.2,
        limited_by="server",
        evidence={"client_cpu_ratio": 0.061, "busy_connection_ratio": 0.984},
    )
