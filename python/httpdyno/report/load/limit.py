"""Who kept the throughput from being higher, in words, with the figures it rests on."""

from collections.abc import Callable, Mapping

from httpdyno.model import Measurement, Workload
from httpdyno.report.load.words import percent_text
from httpdyno.report.phrase import plural
from httpdyno.units import format_duration, format_rate

_WHO = {
    "server": "the server",
    "rate": "the rate that was asked for",
    "client_cpu": "this client's CPU",
    "client_schedule": "this client's schedule",
    "connections": "the number of connections",
    "descriptors": "this client's limit of open files",
    "ports": "this client's local ports",
    "network": "the network stack",
}
_UNITS = {"_s": format_duration, "_per_s": format_rate}


def who(limited_by: str) -> str:
    """Return who was limiting: `the server`."""
    return _WHO.get(limited_by, limited_by.replace("_", " "))


def limit_text(measurement: Measurement, workload: Workload) -> str:
    """Return who was limiting and why; empty where nobody knows.

    `the server: 49.2 of 50 connections waited for it, while this client used 6 % of a core`.
    """
    limited_by = measurement.limited_by
    if not limited_by:
        return ""
    because = _BECAUSE.get(limited_by)
    reason = because(measurement, workload) if because else ""
    return f"{who(limited_by)}: {reason}" if reason else who(limited_by)


def evidence_rows(evidence: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return all figures that the verdict rests on, each with its unit."""
    return [(_name(key), _value(key, value)) for key, value in sorted(evidence.items())]


def _name(key: str) -> str:
    for suffix in ("_per_s", "_ratio", "_s"):
        if key.endswith(suffix):
            return key.removesuffix(suffix).replace("_", " ")
    return key.replace("_", " ")


def _value(key: str, value: float) -> str:
    if key.endswith("_ratio"):
        return f"{value:.2f} ×" if "inflation" in key else percent_text(value)
    for suffix in ("_per_s", "_s"):
        if key.endswith(suffix):
            return _UNITS[suffix](value)
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.1f}"


def _cpu(measurement: Measurement) -> str:
    return percent_text(measurement.evidence.get("client_cpu_ratio", 0.0))


def _n(measurement: Measurement, key: str) -> int:
    return round(measurement.evidence.get(key, 0.0))


def _server(measurement: Measurement, workload: Workload) -> str:
    idle = f"this client used {_cpu(measurement)} of a core"
    if not workload.is_open_loop:
        busy = measurement.evidence.get("busy_connections", 0.0)
        waited = f"{busy:.1f} of {plural(workload.connections, 'connection')}"
        if busy > 0:
            return f"{waited} waited for it on average, while {idle}"
        return f"every connection waited for it, while {idle}"
    reasons = []
    n_waited, inflation = _n(measurement, "waited_requests"), _inflation(measurement)
    if n_waited:
        reasons.append(f"{plural(n_waited, 'request')} waited because no connection was free")
    if inflation > 1:
        reasons.append(f"answers took {inflation:.1f} times the fastest")
    if measurement.n_errors:
        ratio = measurement.n_errors / max(1, measurement.offered)
        reasons.append(f"{percent_text(ratio)} of the requests failed")
    return ", ".join([*reasons, idle])


def _rate(measurement: Measurement, workload: Workload) -> str:
    late_s = measurement.evidence.get("lateness_p99_s", 0.0)
    punctual = f"; 99 % went out within {format_duration(late_s)} of their due time"
    return f"the server kept up and this client had room{punctual if late_s > 0 else ''}"


def _client_cpu(measurement: Measurement, workload: Workload) -> str:
    return (
        f"its busiest thread used {_cpu(measurement)} of a core, so the server could do more than "
        "this shows; use more `--threads`, or load from another machine"
    )


def _client_schedule(measurement: Measurement, workload: Workload) -> str:
    n_late = plural(_n(measurement, "late_requests"), "request")
    return (
        f"{n_late} went out over 1 ms late though a connection was free, and the CPU was not "
        f"short ({_cpu(measurement)} of a core); something else kept it from running"
    )


def _connections(measurement: Measurement, workload: Workload) -> str:
    n_waited = plural(_n(measurement, "waited_requests"), "request")
    return (
        f"{n_waited} waited for a free one of {workload.connections:,}, while the server "
        f"answered nearly as fast as ever ({_inflation(measurement):.1f} times the fastest); "
        "allow more with `-c`"
    )


def _inflation(measurement: Measurement) -> float:
    return measurement.evidence.get("service_inflation_ratio", 0.0)


def _descriptors(measurement: Measurement, workload: Workload) -> str:
    n = plural(_n(measurement, "no_descriptors"), "request")
    return f"{n} found none left; raise it with `ulimit -n`"


def _ports(measurement: Measurement, workload: Workload) -> str:
    n = plural(_n(measurement, "no_ports"), "request")
    return f"{n} found none left; keep connections alive, or widen `net.ipv4.ip_local_port_range`"


def _network(measurement: Measurement, workload: Workload) -> str:
    names = {
        "listen_overflows": "connections found the server's accept queue full",
        "listen_drops": "connections were dropped at the server's accept queue",
        "syn_retransmits": "connection attempts had to be repeated",
        "tcp_retransmits": "segments had to be repeated",
    }
    seen = [f"{_n(measurement, key):,} {text}" for key, text in names.items()]
    return ", ".join(text for text in seen if not text.startswith("0 "))


_BECAUSE: dict[str, Callable[[Measurement, Workload], str]] = {
    "server": _server,
    "rate": _rate,
    "client_cpu": _client_cpu,
    "client_schedule": _client_schedule,
    "connections": _connections,
    "descriptors": _descriptors,
    "ports": _ports,
    "network": _network,
}
