"""The machine that a result was made on."""

import msgspec

from httpdyno.model.base import Record


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
    limited_by: str = ""
    """What enforces the limits that the study sets of its servers; empty where it sets none."""
