"""What `httpdyno load` uses of this machine: threads, cores, polling, open files."""

import os
import re
import resource

from httpdyno.errors import UsageError
from httpdyno.load.engine import SPIN_S, suited_threads
from httpdyno.load.target import is_loopback
from httpdyno.model import Closed, Workload
from httpdyno.report.shared.phrase import plural
from httpdyno.units import duration_s, format_duration

_MAX_SPIN_S = 0.1
_CPU_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")
_DESCRIPTORS_OF_A_THREAD = 5
_SPARE_DESCRIPTORS = 64
"""For the engine, and whatever else the program may open."""
_CPUS_TO_SPIN = 4
"""On fewer cores a local server wants the one that would spin."""


def threads_from(given: int | None, workload: Workload) -> int:
    """Return how many threads are to send.

    Raises:
        UsageError: More than connections, or none.
    """
    if given is None:
        return suited_threads(workload)
    if not 1 <= given <= workload.connections:
        raise UsageError(
            f"{given} threads cannot share {plural(workload.connections, 'connection')}",
            hint="give at least one connection to each thread",
        )
    return given


def cpus_from(text: str | None) -> tuple[int, ...]:
    """Return the cores in `2,3` or `2-5`; none leaves the threads free.

    Raises:
        UsageError: Not cores, or none of this process.
    """
    if text is None:
        return ()
    cpus: list[int] = []
    for part in text.split(","):
        found = _CPU_RANGE.fullmatch(part.strip())
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise UsageError(
                f"`--cpus {text}` makes no sense; expected cores such as `2,3` or `2-5`"
            )
        cpus += range(int(found[1]), int(found[2] or found[1]) + 1)
    present = os.sched_getaffinity(0)
    missing = [cpu for cpu in cpus if cpu not in present]
    if missing:
        raise UsageError(
            f"`--cpus {text}` names core {missing[0]}, which this process may not run on",
            hint=f"it may run on {', '.join(map(str, sorted(present)))}",
        )
    return tuple(dict.fromkeys(cpus))


def spin_s_from(text: str | None) -> float | None:
    """Return how long to poll before a due time; None leaves it to `usual_spin_s`.

    Raises:
        UsageError: Not a time, or a long one.
    """
    if text is None:
        return None
    try:
        seconds = duration_s(text)
    except UsageError as error:
        raise UsageError(
            f"`--spin {text}` makes no sense; expected a time such as `60us`"
        ) from error
    if seconds > _MAX_SPIN_S:
        raise UsageError(
            f"`--spin {text}` makes no sense; expected at most {format_duration(_MAX_SPIN_S)}"
        )
    return seconds


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
