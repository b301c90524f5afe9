"""What this process may have of this machine now: memory, processes, descriptors.

In a container the machine's free memory says little: the control groups that this process is in
have limits of their own, and going beyond one ends the servers, or this process.
"""

import math
import resource
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_NO_LIMIT = 1 << 60
"""From here on a number of version 1 means that there is none: it has no word for it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """What the machine has for servers and for the connections to them."""

    memory_bytes: float
    n_processes: float
    n_descriptors: float


def machine_room() -> Room:
    """Return what this process may have of this machine now."""
    memory_bytes, n_processes = group_room(Path("/"))
    meminfo = Path("/proc/meminfo").read_text(encoding="ascii")
    return Room(
        memory_bytes=min(memory_bytes, _available_bytes(meminfo)),
        n_processes=min(n_processes, _soft_limit(resource.RLIMIT_NPROC)),
        n_descriptors=_soft_limit(resource.RLIMIT_NOFILE),
    )


def group_room(root: Path) -> tuple[float, float]:
    """Return the bytes and the processes that this process's control groups leave; inf: all.

    Args:
        root: Of the file system, where `/proc` and the groups' folders are.

    Source:
        Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, cgroups(7).
    """
    memory_bytes = n_processes = math.inf
    for group in _groups(root):
        for limit, usage, cache in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            # Pages of files that nobody used lately are given back before anything is refused.
            left = _number(group / limit) - _number(group / usage, missing=0.0)
            if left < math.inf:
                memory_bytes = min(memory_bytes, left + _of_table(group / "memory.stat", cache))
        left = _number(group / "pids.max") - _number(group / "pids.current", missing=0.0)
        n_processes = min(n_processes, left)
    return max(0.0, memory_bytes), max(0.0, n_processes)


class _Hierarchy(NamedTuple):
    """A mounted tree of control groups."""

    controllers: frozenset[str]
    """Empty: version 2, all of them."""
    top: str
    """The group that is mounted."""
    folder: str


def _groups(root: Path) -> Iterator[Path]:
    """Yield this process's groups and those above them, as far as they are mounted."""
    hierarchies = _hierarchies(_text(root / "proc/self/mountinfo"))
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, names, own = line.split(":", 2)
        controllers = frozenset(filter(None, names.split(",")))
        for hierarchy in hierarchies:
            if hierarchy.controllers != controllers and not (hierarchy.controllers & controllers):
                continue
            # A container may see its group as the top, under a path that it does not have.
            below = own.removeprefix(hierarchy.top.rstrip("/")).strip("/")
            folder = root / hierarchy.folder.strip("/")
            parts = below.split("/") if below and (folder / below).is_dir() else []
            for depth in range(len(parts) + 1):
                yield folder.joinpath(*parts[:depth])


def _hierarchies(mountinfo: str) -> list[_Hierarchy]:
    found = []
    for line in mountinfo.splitlines():
        mount, _, kind = line.partition(" - ")
        top, folder = mount.split()[3:5]
        name, _, options = kind.split(" ", 2)
        if name == "cgroup2":
            found.append(_Hierarchy(frozenset(), top, folder))
        elif name == "cgroup":
            controllers = frozenset(options.split(",")) & {"memory", "pids"}
            if controllers:
                found.append(_Hierarchy(controllers, top, folder))
    return found


def _number(file: Path, *, missing: float = math.inf) -> float:
    text = _text(file).strip()
    if not text.isdecimal():
        return missing
    return math.inf if int(text) >= _NO_LIMIT else int(text)


def _of_table(file: Path, name: str) -> float:
    for line in _text(file).splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return float(value)
    return 0.0


def _text(file: Path) -> str:
    """Return what is in a file; nothing where there is none, or it is not ours to read."""
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _available_bytes(meminfo: str) -> float:
    for line in meminfo.splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return math.inf


def _soft_limit(which: int) -> float:
    soft, _ = resource.getrlimit(which)
    return math.inf if soft == resource.RLIM_INFINITY else soft
