"""What was measured: windows of load with the server's counters over the same time."""

import msgspec

from httpdyno.model.base import Record


class HistogramData(Record, frozen=True):
    """A latency distribution as sparse buckets; mergeable exactly."""

    bounds_ns: tuple[int, ...] = ()
    """Upper bound of each bucket that is not empty, ascending; (n_buckets,)."""
    counts: tuple[int, ...] = ()
    sum_s: float = 0.0
    max_s: float = 0.0


class Telemetry(Record, frozen=True):
    """The server's process tree over one window, reaped children included."""

    cpu_s: float
    """User and system CPU seconds."""
    pss_bytes: int | None = None
    """Proportional set size of the tree at the window's end; None when it was not read."""
    n_processes: int = 0
    steal_s: float = 0.0
    """CPU time the hypervisor took from this host in the window."""


class Measurement(Record, frozen=True):
    """One window of load. `offered == completed + sum(errors)`."""

    opened_s: float
    """Monotonic clock."""
    measured_s: float
    """Length of the measured part."""
    total_s: float
    """Whole window: lead-in, measured part and drain."""
    offered: int
    completed: int
    """Right answers of the whole window."""
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    statuses: dict[str, int] = msgspec.field(default_factory=dict)
    measured_offered: int = 0
    measured_completed: int = 0
    measured_errors: int = 0
    connects: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    latency: HistogramData = HistogramData()
    service_time: HistogramData = HistogramData()
    lateness: HistogramData = HistogramData()
    series_interval_s: float = 0.1
    series_completed: tuple[int, ...] = ()
    series_errors: tuple[int, ...] = ()
    series_latency_max_s: tuple[float, ...] = ()
    client_cpu_s: float = 0.0
    busy_connection_s: float = 0.0
    limited_by: str = ""
    evidence: dict[str, float] = msgspec.field(default_factory=dict)

    @property
    def throughput_per_s(self) -> float:
        """Right answers per second of the measured part."""
        return self.measured_completed / self.measured_s if self.measured_s > 0 else 0.0

    @property
    def n_errors(self) -> int:
        """Requests of the whole window that did not get the right answer."""
        return sum(self.errors.values())


class HostFacts(Record, frozen=True):
    """The machine and the software that a result was made on."""

    httpdyno: str
    python: str
    kernel: str
    cpu: str
    n_cpus: int
    memory_bytes: int
    limits: dict[str, int] = msgspec.field(default_factory=dict)
    """Such as open_files, processes, local_ports, somaxconn."""
    load_average: tuple[float, float, float] = (0.0, 0.0, 0.0)
    server: str = ""
    """The server's own version line."""
    client_cpus: tuple[int, ...] = ()
    server_cpus: tuple[int, ...] = ()
