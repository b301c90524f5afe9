"""What a load takes of this machine: threads, polling, open files."""

import os
import resource

from httpdyno.errors import UsageError
from httpdyno.load.target import is_loopback
from httpdyno.model import Closed, Workload

SPIN_S = 60e-6
"""How long an open-loop thread polls before a request is due, where it has a core of its own.

A timer alone wakes about 50 µs late; with this the median is below 1 µs at a tenth of a core and
1,000 requests per second. On a core shared with the server it would take the server's time."""

_CONNECTIONS_PER_THREAD = 64
_CPUS_PER_THREAD = 4
_DESCRIPTORS_OF_A_THREAD = 5
_SPARE_DESCRIPTORS = 64
"""For the engine, and whatever else the program may open."""
_CPUS_TO_SPIN = 4
"""On fewer cores a local server wants the one that would spin."""


def suited_threads(workload: Workload, n_cpus: int | None = None) -> int:
    """Return how many threads to load with: one, or more on a big machine with many connections.

    One thread offers far more than a server on the same few cores can answer; each further one
    takes a core from it.
    """
    cpus = n_cpus or os.cpu_count() or 1
    by_connections = workload.connections // _CONNECTIONS_PER_THREAD
    return max(1, min(cpus // _CPUS_PER_THREAD, by_connections))


def usual_spin_s(workload: Workload, address: str) -> float:
    """Return how long to poll before a due time: only in open loop, on a core of one's own."""
    cpus = os.cpu_count() or 1
    has_own_core = cpus >= _CPUS_TO_SPIN or (cpus > 1 and not is_loopback(address))
    return SPIN_S if workload.is_open_loop and has_own_core else 0.0


def _n_sockets(workload: Workload) -> int:
    """Return how many connections there may be at a time."""
    per_user = workload.connections_per_page if workload.has_pages else 1
    return workload.connections * (per_user if isinstance(workload.arrival, Closed) else 1)


def check_descriptors(workload: Workload, threads: int) -> None:
    """Refuse more connections than this process may have; the engine raises its soft limit.

    Raises:
        UsageError: The hard limit is too low.
    """
    n = _n_sockets(workload)
    open_files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a folder only the kernel has
    needed = n + threads * _DESCRIPTORS_OF_A_THREAD + open_files + _SPARE_DESCRIPTORS
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise UsageError(
            f"{n} connections need {needed} open files, the limit here is {hard}",
            hint=f"use fewer connections, or raise it with `ulimit -Hn {needed}` as root",
        )
