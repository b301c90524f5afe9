"""The machine that results are made on."""

import os
import platform
import resource
from collections.abc import Collection
from pathlib import Path

from msgspec import structs

import httpdyno
from httpdyno.model import HostFacts, Telemetry

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STEAL_FIELD, _IDLE_FIELD = 8, 4
"""Of the first line of /proc/stat: cpu user nice system idle iowait irq softirq steal …"""


def host_facts(server_version: str = "") -> HostFacts:
    """Return versions, processor, limits and load of this machine.

    Args:
        server_version: The server's own version line, where one is measured.
    """
    return HostFacts(
        httpdyno=httpdyno.__version__,
        python=platform.python_version(),
        kernel=f"{platform.system()} {platform.release()}",
        cpu=cpu_name(_text("/proc/cpuinfo")) or platform.machine(),
        n_cpus=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        limits=_limits(),
        load_average=os.getloadavg(),
        server=server_version,
    )


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
    for line in _text("/proc/stat").splitlines():
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
    for line in _text("/proc/stat").splitlines():
        if line.startswith("processes "):
            return int(line.split()[1])
    return None


def _cpu_fields() -> list[int]:
    handle = os.open("/proc/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return [int(each) for each in os.read(handle, 256).split(b"\n", 1)[0].split()[1:]]
    finally:
        os.close(handle)


class HostCollector:
    """What the machine's host took from it."""

    def __init__(self) -> None:
        self._opened_s = 0.0

    def open(self) -> None:
        """Take note of the stolen time as a window opens."""
        self._opened_s = steal_s()

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Add what was stolen since."""
        del is_last
        return structs.replace(seen, steal_s=max(0.0, steal_s() - self._opened_s))


def cpu_name(cpuinfo: str) -> str:
    """Return the processor's name in /proc/cpuinfo; empty where it has none."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return " ".join(value.split())
    return ""


def _limits() -> dict[str, int]:
    """Return what bounds connections and processes; −1 is no limit."""
    limits = {
        "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "processes": resource.getrlimit(resource.RLIMIT_NPROC)[0],
    }
    ports = _text("/proc/sys/net/ipv4/ip_local_port_range").split()
    if len(ports) == 2:  # noqa: PLR2004 - first and last
        limits["local_ports"] = int(ports[1]) - int(ports[0]) + 1
    somaxconn = _text("/proc/sys/net/core/somaxconn").strip()
    if somaxconn:
        limits["somaxconn"] = int(somaxconn)
    return limits


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not every system, and not every container, shows it
