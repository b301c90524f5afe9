"""What is around a server: memory that it may have, pressure, full listen queues.

Read by anybody, mostly; what cannot be told is left out.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.host.procfs import content
from httpdyno.telemetry.kernel_text import (
    Pressure,
    counters,
    held_bytes,
    limit_files,
    pressure,
    running_threads,
    tcp_extensions,
)

_RESOURCES = ("cpu", "memory", "io")
_PROC = "/proc"
_NO_LIMIT_BYTES = 1 << 60
_NETWORK = re.compile(r"(/proc/[^/]+)/ns/net")


@dataclass(frozen=True, kw_only=True, slots=True)
class HostMemory:
    """The machine's memory, and who waits for what of it, at one moment."""

    available_bytes: int | None
    """What new programs could have without swapping, as the kernel estimates it; None before Linux
    3.14, and where /proc/meminfo may not be read."""
    swap_ins: int
    """Pages that were read back from swap since the machine began."""
    pressure: Mapping[str, Pressure]
    """By resource, `cpu`, `memory`, `io`; empty where the kernel does not tell it."""
    run_queue: int | None = None
    """Threads of the machine that run or are ready to, without the one that looks; None where
    /proc/loadavg may not be read."""
    n_cpus: int = 0
    """Of the machine; 0 where nobody asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListenQueue:
    """Connections that wait to be accepted."""

    address: str
    waiting: int
    backlog: int
    """The most that may wait."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sockets:
    """What a server's sockets do at one moment."""

    queues: tuple[ListenQueue, ...] = ()
    states: Mapping[str, int] = field(default_factory=dict)
    """TCP connections at its ports, by state: `established`, `time-wait` and so on."""
    overflows: int | None = None
    """Connections that found a full queue, since its network namespace began: those of all servers
    in there."""
    drops: int | None = None
    """Connections that were dropped while they were set up, for whatever reason; the same."""
    hidden: tuple[str, ...] = ()


def host_memory() -> HostMemory:
    """Return the machine's memory now."""
    told = {name: pressure(_text(f"{_PROC}/pressure/{name}")) for name in _RESOURCES}
    available_kib = counters(_text(f"{_PROC}/meminfo")).get("MemAvailable")
    return HostMemory(
        available_bytes=None if available_kib is None else available_kib * 1024,
        swap_ins=counters(_text(f"{_PROC}/vmstat")).get("pswpin", 0),
        pressure={name: each for name, each in told.items() if each is not None},
        run_queue=run_queue(),
        n_cpus=cpu_count(),
    )


def cpu_count() -> int:
    """Return how many CPUs the machine has, whoever may use them."""
    return os.sysconf("SC_NPROCESSORS_ONLN")


def run_queue() -> int | None:
    """Return how many threads of the machine run or are ready, without this one; None: not told."""
    told = content(b"/proc/loadavg")
    return max(0, running_threads(told) - 1) if told else None


def memory_limit_bytes(pid: int, own_bytes: int) -> int | None:
    """Return what the limits of a process's control groups, such as `MemoryMax`, leave to a server.

    The least of them, each less what others in that group hold: a container or a slice may have
    several servers.

    Args:
        pid: One of its processes.
        own_bytes: What it holds itself, without pages of files.
    """
    files = limit_files(_text(f"{_PROC}/self/mountinfo"), _text(f"{_PROC}/{pid}/cgroup"))
    limits = {file: int(text) for file in files if (text := _text(file).strip()).isdigit()}
    left = (
        limit - max(0, held_bytes(_text(f"{file.rpartition('/')[0]}/memory.stat")) - own_bytes)
        for file, limit in limits.items()
        # Without a limit version 2 says `max`, version 1 the most pages that fit into a number.
        if limit < _NO_LIMIT_BYTES
    )
    least = min(left, default=None)
    return None if least is None else max(0, least)


def listen_overflows(networks: Iterable[str]) -> dict[str, int]:
    """Return how many connections found a full queue in network namespaces, where that is told.

    Args:
        networks: Their paths, `/proc/PID/ns/net`; an empty one is this process's own.
    """
    found = {}
    for network in networks:
        held = _NETWORK.fullmatch(network or f"{_PROC}/self/ns/net")
        told = tcp_extensions(_text(f"{held[1]}/net/netstat")) if held else {}
        if "ListenOverflows" in told:
            found[network] = told["ListenOverflows"]
    return found


def _text(path: str) -> str:
    with suppress(OSError):  # not every kernel and not every container shows it
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""
