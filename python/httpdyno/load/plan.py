"""A load test that can begin: where to, what, how long and from which cores, all of it checked."""

import os
import re
import resource
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.load.access_log import Recording, read_access_log
from httpdyno.load.check import check_headers, check_workload
from httpdyno.load.message import WindowPlan, check_tls
from httpdyno.load.target import Target, addresses_of, check_permitted, is_loopback, taking
from httpdyno.model import Closed, Replay, Workload

# Which cores load and which serve, where a machine has enough to keep the two apart.
#
# On two cores both are shared unless the study says `method.cores = "apart"`: a server with one
# core is another server, to those at least that more workers are to make faster. What it gains is
# in `research/README.md`.

Cores = Literal["auto", "apart", "shared"]
"""What a study wants: cores of their own for client and servers, or all cores for both."""

_MIN_CPUS_TO_SPLIT = 4
"""Below, client and server share all unless the study wants them apart: a server that may use one
core of two is another server, to those at least that more workers are to make faster."""
_CPUS_PER_CLIENT = 4
"""One engine thread offers more than a server on three cores can answer."""
_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class CorePlan:
    """Logical CPUs for the one and the other; both empty where they share all."""

    client: tuple[int, ...] = ()
    """One for each engine thread, no two on the same core."""
    server: tuple[int, ...] = ()


def core_plan(
    cpus: Collection[int],
    siblings: Mapping[int, Collection[int]],
    *,
    n_threads: int = 1,
    cores: Cores = "auto",
) -> CorePlan:
    """Return the plan for a machine.

    The client gets whole cores, the last ones, one for each engine thread but never more than one
    in four: a hyperthread beside a busy one is no core of its own, so it is left idle.

    Args:
        cpus: What this process may run on.
        siblings: The CPUs of the same core, for each CPU that has others.
        n_threads: How many engine threads there are to be.
        cores: What the study wants; `apart` needs two cores.
    """
    whole = sorted(
        {tuple(sorted({cpu, *siblings.get(cpu, ())} & set(cpus))) for cpu in cpus},
    )
    n_client = min(n_threads, max(1, len(cpus) // _CPUS_PER_CLIENT), len(whole) - 1)
    is_shared = cores == "shared" or (cores == "auto" and len(cpus) < _MIN_CPUS_TO_SPLIT)
    if is_shared or n_client < 1:
        return CorePlan()
    return CorePlan(
        client=tuple(core[0] for core in whole[-n_client:]),
        server=tuple(sorted(cpu for core in whole[:-n_client] for cpu in core)),
    )


def own_core_plan(n_threads: int = 1, cores: Cores = "auto") -> CorePlan:
    """Return the plan for this machine, of the cores that this process may use."""
    cpus = os.sched_getaffinity(0)
    siblings = {cpu: _siblings(cpu) for cpu in cpus}
    return core_plan(cpus, siblings, n_threads=n_threads, cores=cores)


def cpu_list(text: str) -> Iterator[int]:
    """Yield the CPUs of a list as the kernel writes it: `0,4-6`."""
    for found in _RANGE.finditer(text):
        yield from range(int(found[1]), int(found[2] or found[1]) + 1)


def _siblings(cpu: int) -> tuple[int, ...]:
    try:
        return tuple(cpu_list(Path(_TOPOLOGY.format(cpu)).read_text(encoding="ascii")))
    except OSError:
        return ()  # not every container shows it


# What a load takes of this machine: threads, polling, open files.

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


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadPlan:
    """A load test that can begin."""

    target: Target
    address: str
    addresses: tuple[str, ...]
    """All that the name has, in the order in which they are tried."""
    workload: Workload
    recording: Recording | None
    """Of a replay: when its requests are due."""
    window: WindowPlan
    seed: int
    threads: int
    cpus: tuple[int, ...]
    spin_s: float
    warm_up: WindowPlan | None = None
    """The same load before it is measured."""

    @property
    def windows(self) -> list[WindowPlan]:
        """What is loaded; the last one is measured."""
        return [self.window] if self.warm_up is None else [self.warm_up, self.window]


def load_plan(  # noqa: PLR0913 - all that a load is made of
    target: Target,
    workload: Workload,
    window: WindowPlan,
    *,
    seed: int,
    threads: int,
    cpus: tuple[int, ...] = (),
    spin_s: float | None = None,
    warm_up: WindowPlan | None = None,
    allowed_host: str | None = None,
    log_headers: tuple[tuple[str, str], ...] = (),
    log_expect: Callable[[int], int | None] | None = None,
) -> LoadPlan:
    """Return the plan, having looked at all that can be wrong with it; a log is read here.

    Args:
        target: The server.
        workload: What it is offered; of a replay without requests.
        window: Ends with the log where that is shorter.
        seed: Of all that is random.
        threads: That send.
        cpus: Which they are kept on; empty leaves them free.
        spin_s: Polling before each due time; None is what suits this machine.
        warm_up: The same load before it is measured.
        allowed_host: May be loaded though it is neither this machine nor in a private network.
        log_headers: Of a replay: sent with each request.
        log_expect: Of a replay: the right status to one that the log has; None is as it says.

    Raises:
        UsageError: Something makes no sense.
        TargetError: The server has no address.
    """
    check_workload(workload)
    if isinstance(workload.arrival, Replay):
        check_headers(log_headers)
    if workload.tls is not None:
        check_tls(workload.tls)
    check_descriptors(workload, threads)
    addresses = addresses_of(target)
    address = taking(target, addresses, allowed_host=allowed_host)
    check_permitted(target, address, allowed_host=allowed_host)
    recording = None
    if isinstance(workload.arrival, Replay):
        # Last, because a long log takes seconds.
        recording = read_access_log(
            workload.arrival, seed=seed, headers=log_headers, expect=log_expect
        )
        workload = structs.replace(workload, requests=recording.requests)
        n = len(recording.steps)
        window = replace(window, n_requests=min(window.n_requests or n, n))
    return LoadPlan(
        target=target,
        address=address,
        addresses=addresses,
        workload=workload,
        recording=recording,
        window=window,
        seed=seed,
        threads=threads,
        cpus=cpus,
        spin_s=usual_spin_s(workload, address) if spin_s is None else spin_s,
        warm_up=warm_up,
    )
