"""CPU ticks of the machine, by /proc/stat."""

import os
from collections.abc import Collection

from httpdyno.telemetry.surroundings import _text

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
