"""What the kernel's own files say of memory, pressure and queues, as text that was read. Pure.

Source: the kernel's Documentation/accounting/psi.rst, Documentation/admin-guide/cgroup-v2.rst and
Documentation/networking/snmp_counter.rst.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from httpdyno.host.group_folder import group_folders

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
