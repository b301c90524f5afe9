"""The machine that a result was made on."""

import msgspec

from httpdyno.model.base import Record


class MachineCard(Record, frozen=True, omit_defaults=True):
    """What the machine takes for a few things; of one thread of Python, whose own time is in it."""

    stat_s: float
    """stat() of a file that there is not."""
    fork_s: float
    """A process begun, ended and waited for, from a small parent."""
    switch_s: float
    """From one process to another on the same core and its turn, half of a round through pipes."""
    copy_bytes_per_s: float
    """Of memory that does not fit into caches, read and written."""
    round_trips_per_s: float
    """One byte there and back over TCP on the loopback, between two processes: no HTTP is in it."""
    requests_per_s: float | None = None
    """The smallest requests and answers over loopback: of one thread of the load engine, and of a
    process of Python for each connection, of which there are as many as cores. None where it
    could not be measured."""
    others_cores: float = 0.0
    """What others used of this machine while it was taken; 0 where it was hardly anything."""


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
    limits_by: dict[str, int] = msgspec.field(default_factory=dict)
    """Controllers that enforce the limits which the study sets of its servers, each with the
    version of its control groups; empty where it sets none."""
    card: MachineCard | None = None
    """None where no figures of the machine were taken: before a load test in this boot, which takes
    none itself."""
    card_taken_at: str = ""
    """ISO 8601, UTC: in the same boot, but maybe before this run."""
