"""What the kernel tells of a machine, of control groups and of network namespaces.

Read by anybody, mostly; what cannot be told is left out.

Source: the kernel's Documentation/accounting/psi.rst, Documentation/admin-guide/cgroup-v2.rst and
Documentation/networking/snmp_counter.rst; proc_stat(5).
"""

import math
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from httpdyno.host.procfs import content, group_folders
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.reason import Reason

_TCP_EXTENSIONS = "TcpExt:"


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressure:
    """How long tasks waited for one resource, by a file of /proc/pressure."""

    some_ratio: float
    """Of the last 10 s, when at least one task waited."""
    full_ratio: float | None
    """Of the last 10 s, when all tasks that were not idle did; None where it is not told."""
    some_s: float
    """Since the machine began."""


def pressure(text: str) -> Pressure | None:
    """Return what a file of /proc/pressure says; None where it is empty."""
    told: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        kind, *fields = line.split()
        pairs = (field.partition("=") for field in fields)
        told[kind] = {name: float(value) for name, _, value in pairs}
    if "some" not in told:
        return None
    full = told.get("full")
    return Pressure(
        some_ratio=told["some"]["avg10"] / 100,
        full_ratio=full["avg10"] / 100 if full else None,
        some_s=told["some"]["total"] / 1e6,
    )


def counters(text: str) -> dict[str, int]:
    """Return the numbers of a file such as /proc/vmstat; /proc/meminfo's are in KiB."""
    lines = (line.replace(":", " ").split() for line in text.splitlines())
    return {fields[0]: int(fields[1]) for fields in lines if len(fields) > 1}


def running_threads(load_average: bytes) -> int:
    """Return how many threads of the machine run or are ready, as /proc/loadavg says it."""
    fields = load_average.split()
    return int(fields[3].partition(b"/")[0]) if fields else 0


def tcp_extensions(text: str) -> dict[str, int]:
    """Return the counters called `TcpExt` of a namespace's /proc/net/netstat."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(_TCP_EXTENSIONS)]
    # A line of names, and then one of numbers.
    return {name: int(value) for name, value in zip(*lines, strict=True)} if lines else {}


def held_bytes(text: str) -> int:
    """Return what a control group and those below hold and cannot be made to give back.

    Memory of their own making and shared memory; of files, what is there can be read again.

    Args:
        text: Its memory.stat; empty where it tells nothing, which is 0.
    """
    told = counters(text)
    # Version 1 has what is below in figures of their own, and in the others itself alone.
    names = ("total_rss", "total_shmem") if "total_rss" in told else ("anon", "shmem")
    return sum(told.get(name, 0) for name in names)


def limit_files(mounts: str, groups: str) -> Iterator[str]:
    """Yield the files that limit a process's memory: of its control group, and those above it.

    Args:
        mounts: /proc/self/mountinfo.
        groups: /proc/PID/cgroup.
    """
    for folder, version in group_folders(mounts, groups, "memory"):
        yield f"{folder}/{'memory.max' if version == 2 else 'memory.limit_in_bytes'}"  # noqa: PLR2004


_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STEAL_FIELD, _IDLE_FIELD = 8, 4
"""Of the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal …"""


def steal_s() -> float:
    """Return the CPU time that the hypervisor took from this host since it started, all cores."""
    return _cpu_fields()[_STEAL_FIELD - 1] / _TICKS_PER_S


def cpu_ticks() -> tuple[int, int]:
    """Return the ticks in which CPUs had nothing to do, and all, since this host started."""
    fields = _cpu_fields()[:_STEAL_FIELD]  # guests' time is in their host's already
    return sum(fields[_IDLE_FIELD - 1 : _IDLE_FIELD + 1]), sum(fields)


def others_s() -> float:
    """Return the CPU time of all but this process and its ended children, since this host started.

    With what the hypervisor took.
    """
    idle, whole = cpu_ticks()
    own = os.times()
    ours_s = own.user + own.system + own.children_user + own.children_system
    return (whole - idle) / _TICKS_PER_S - ours_s


def cpu_ticks_of(cpus: Collection[int]) -> tuple[int, int] | None:
    """Return the same of some CPUs alone; None where one of them is not told, as in a container."""
    told: dict[int, list[int]] = {}
    for line in text_of("/proc/stat").splitlines():
        name, *fields = line.split()
        if not name.startswith("cpu"):
            break
        if name[3:].isdigit():
            told[int(name[3:])] = [int(each) for each in fields[:_STEAL_FIELD]]
    if not {*cpus} <= told.keys():
        return None
    idle = slice(_IDLE_FIELD - 1, _IDLE_FIELD + 1)
    return sum(sum(told[cpu][idle]) for cpu in cpus), sum(sum(told[cpu]) for cpu in cpus)


def forks() -> int | None:
    """Return how many processes and threads were begun since this host started; None: not told."""
    for line in text_of("/proc/stat").splitlines():
        if line.startswith("processes "):
            return int(line.split()[1])
    return None


def _cpu_fields() -> list[int]:
    handle = os.open("/proc/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return [int(each) for each in os.read(handle, 256).split(b"\n", 1)[0].split()[1:]]
    finally:
        os.close(handle)


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
    hidden: tuple[Reason, ...] = ()


def host_memory() -> HostMemory:
    """Return the machine's memory now."""
    told = {name: pressure(text_of(f"{_PROC}/pressure/{name}")) for name in _RESOURCES}
    available_kib = counters(text_of(f"{_PROC}/meminfo")).get("MemAvailable")
    return HostMemory(
        available_bytes=None if available_kib is None else available_kib * 1024,
        swap_ins=counters(text_of(f"{_PROC}/vmstat")).get("pswpin", 0),
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
    files = limit_files(text_of(f"{_PROC}/self/mountinfo"), text_of(f"{_PROC}/{pid}/cgroup"))
    limits = {file: int(text) for file in files if (text := text_of(file).strip()).isdigit()}
    left = (
        limit - max(0, held_bytes(text_of(f"{file.rpartition('/')[0]}/memory.stat")) - own_bytes)
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
        told = tcp_extensions(text_of(f"{held[1]}/net/netstat")) if held else {}
        if "ListenOverflows" in told:
            found[network] = told["ListenOverflows"]
    return found


def text_of(path: str) -> str:
    """Return a file of the kernel's as text; empty where it may not be read."""
    with suppress(OSError):  # not every kernel and not every container shows it
        return Path(path).read_text(encoding="utf-8", errors="replace")
    return ""


class MachineCounters:
    """Counters of the machine at one moment."""

    def __init__(self, roots: Sequence[int], networks: Iterable[str]) -> None:
        self.at_s = time.monotonic()
        self.ticks = cpu_ticks()
        self._forks = forks()
        self.memory = host_memory()
        self._hits = limit_hits(roots)
        self._overflows = listen_overflows(networks)

    def overflows_since(self, before: "MachineCounters") -> int | None:
        """Return the growth in all network namespaces; None where nothing is told."""
        return _growth(before._overflows, self._overflows, sum)

    def forks_since(self, before: "MachineCounters") -> int | None:
        """Return how many were begun; None where it is not told."""
        if self._forks is None or before._forks is None:
            return None
        return self._forks - before._forks

    def hits_since(self, before: "MachineCounters") -> int | None:
        """Return the growth of the group that has most; None where nothing is told."""
        return _growth(before._hits, self._hits, max)


def _growth(
    before: Mapping[str, int], after: Mapping[str, int], together: Callable[[list[int]], int]
) -> int | None:
    grown = [max(0, now - before[name]) for name, now in after.items() if name in before]
    return together(grown) if grown else None


def pressed(before: HostMemory, after: HostMemory, seconds: float) -> dict[str, float]:
    """Return the part of the time in which some task waited, by resource."""
    return {
        name: min(1.0, max(0.0, now.some_s - before.pressure[name].some_s) / seconds)
        for name, now in after.pressure.items()
        if name in before.pressure and seconds > 0
    }


def cpus(pids: Collection[int]) -> float:
    """Return how many CPUs some processes may use together; 0 where all of them are gone."""
    allowed: set[int] = set()
    for pid in pids:
        with suppress(OSError):
            allowed |= os.sched_getaffinity(pid)
    return min(len(allowed), quota_of(groups_of(pids, "cpu")))


def quota_of(groups: Iterable[Sequence[tuple[str, int]]]) -> float:
    """Return how many CPUs the quotas of some control groups leave to all of them together.

    A group has no more than each of those above it; of two that are side by side each has its own.

    Args:
        groups: Each with those above it, as `quotas` takes them.
    """
    own, version_of = set[str](), dict[str, int]()
    for group in groups:
        above = {_above(folder) for folder, _ in group}
        own |= {folder for folder, _ in group if folder not in above}
        version_of |= group
    below: dict[str, float] = {}
    left = math.inf
    for folder in sorted(version_of, key=lambda each: -len(PurePosixPath(each).parts)):
        inside = math.inf if folder in own else below[folder]
        quota = min([inside, *quotas([(folder, version_of[folder])])])
        if (above_it := _above(folder)) in version_of:
            below[above_it] = below.get(above_it, 0.0) + quota
        else:
            left = min(left, quota)
    return left


def _above(folder: str) -> str:
    return str(PurePosixPath(folder).parent)


def quotas(folders: Iterable[tuple[str, int]]) -> list[float]:
    """Return the quotas that some control groups have, in CPUs.

    Args:
        folders: Theirs, each with its version.
    """
    found = []
    for folder, version in folders:
        if version == 1:
            words = [text_of(f"{folder}/cpu.cfs_quota_us"), text_of(f"{folder}/cpu.cfs_period_us")]
        else:
            words = text_of(f"{folder}/cpu.max").split()
        # Without one version 1 says −1 and version 2 `max`.
        if len(words) == 2 and all(each.strip().isdigit() for each in words):  # noqa: PLR2004
            quota, period = map(int, words)
            found.append(quota / period)
    return found


def limit_hits(pids: Collection[int]) -> dict[str, int]:
    """Return how often control groups of some processes met their memory's limit, by folder."""
    return hits(dict.fromkeys(each for group in groups_of(pids, "memory") for each in group))


def hits(folders: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return how often some control groups met their memory's limit, by folder.

    Args:
        folders: Theirs, each with its version.
    """
    found: dict[str, int] = {}
    for folder, version in folders:
        if version == 1:
            # Where memory and swap together may not be more than memory alone, that is met first.
            names = ("memory.failcnt", "memory.memsw.failcnt")
            told = [text_of(f"{folder}/{name}").strip() for name in names]
            if told[0].isdigit():
                found[folder] = sum(int(each) for each in told if each.isdigit())
        else:
            # The other file counts what groups below met of limits of their own, too.
            own = text_of(f"{folder}/memory.events.local")
            events = counters(own or text_of(f"{folder}/memory.events"))
            if "max" in events:
                found[folder] = events["max"]
    return found


def groups_of(pids: Collection[int], controller: str) -> list[list[tuple[str, int]]]:
    """Return the folders of each of their groups with those above it."""
    mounts = text_of("/proc/self/mountinfo")
    groups = {text_of(f"/proc/{pid}/cgroup") for pid in pids}
    return [list(group_folders(mounts, text, controller)) for text in groups]
