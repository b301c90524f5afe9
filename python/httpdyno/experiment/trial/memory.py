"""Memory of servers that stand side by side: how many fit, and who lacks it.

What this process may have of this machine now: memory, processes, descriptors.

In a container the machine's free memory says little: the control groups that this process is in
have limits of their own, and going beyond one ends the servers, or this process.

How many starts of the same arms may be up at the same time.

A start spends most of its time on coming up, warming up and ending. The first of a comparison is
alone: it tells how long cycles are, what a server takes, and whether it runs. All of a batch warm
up at once, since nothing is learnt from them. Then windows take turns, the arms of a start one
right after the other, the starts of a block in random order. Each start keeps its own processes and
engine seed, so it stays one independent figure.

Whether servers lacked memory in their windows, and whether one configuration is to blame; pure.

A configuration that swaps is infeasible: what it would do with enough memory nobody measured. But
servers stand side by side, and on the same machine anything may need memory. So one is blamed only
where all of this is so:

1. *It lacked memory.* In at least two of its windows, and in half of them, its own processes read
   pages back from swap (what the machine read back, and no more than their major faults can have
   brought), or some task waited for memory for more than 3 % of the time.
2. *Others did not.* A server of another configuration, loaded in turns with it, did so in no
   window, and waited for less than a tenth as long. Where all do, the machine lacks memory, or a
   neighbour takes it.
3. *It would lack it by itself.* What it holds, in memory and in swap, is more than all that it
   could have if every other server was ended, or by its study's limit, less the reserve of
   `telemetry/pool.py`. A small server is swapped out by a large one beside it, and is not
   to blame.

Else nobody is blamed, and a caveat says that memory was short. A false word here costs a
configuration that may be the best; a missed one leaves figures with a caveat. So nobody is blamed
where what a server holds cannot be read.

The memory of the servers of starts that were up together: what they took, and who lacked it.
"""

import math
import resource
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from httpdyno.experiment.trial.arm import Arm, memory_limit_bytes
from httpdyno.model import Configuration, WindowRecord
from httpdyno.reason import Reason, because
from httpdyno.telemetry.pool import RESERVE_RATIO

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


MEMORY_RATIO = 0.5
"""Of what is available: servers grow under load, and the machine's caches need some, too."""

PROCESSES_RATIO = 0.5
DESCRIPTORS_RATIO = 0.8


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmSize:
    """What one server was seen to take."""

    pss_bytes: int
    """Proportional set size under load."""
    n_processes: int


def n_side_by_side(
    sizes: Sequence[ArmSize | None], room: Room, *, connections: int, limit: int
) -> int:
    """Return how many starts may be up at the same time; at least 1.

    Args:
        sizes: Of each arm, as an earlier start has shown; None: nothing is known. (n_arms,).
        room: Of the machine.
        connections: To each arm.
        limit: The most that the study allows.
    """
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return 1
    memory_bytes = sum(size.pss_bytes for size in known)
    processes = sum(size.n_processes for size in known)
    fits = (
        room.memory_bytes * MEMORY_RATIO / max(1, memory_bytes),
        room.n_processes * PROCESSES_RATIO / max(1, processes),
        room.n_descriptors * DESCRIPTORS_RATIO / max(1, connections * len(sizes)),
        limit,
    )
    return max(1, int(min(fits)))


_PAGES_OF_FAULT = 8
"""That the kernel reads from swap at once, unless somebody set it otherwise (vm.page-cluster)."""
_LEAST_PAGES = 32
"""Of a window, 128 KiB: fewer are some that slept in swap since before."""
_MOST_WAIT_RATIO = 0.03
"""Of a window. A server that has 400 MB and reads 60 MB of a file at random, in a control group of
450 MiB, answered a 25th as fast and waited for 5 to 15 % of the time; one beside it, whatever the
group's limit, for 0.1 % at most."""
_QUIET_RATIO = 0.1
"""Of what another one waited or read back: less is nothing beside it."""
_NO_PAGES, _NO_WAIT_RATIO = 1.0, 0.01
"""A window; what is nothing anyway."""
_FEWEST_WINDOWS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class MemorySeen:
    """What the windows of one configuration show, of all its servers that were up together."""

    n_windows: int
    n_short: int
    """Those in which it lacked memory."""
    pages_read: int
    """Back from swap, by its own processes."""
    wait_ratio: float
    """Of its windows' time, in which some task waited for memory."""
    holds_bytes: int | None
    """The largest of its servers, in memory and in swap; None where it is not known."""
    all_bytes: int | None
    """All of its servers in memory; likewise."""


def pages_read(window: WindowRecord) -> int:
    """Return the pages that the window's own server read back from swap, at most."""
    seen = window.telemetry
    return min(seen.swap_ins, seen.major_faults * _PAGES_OF_FAULT)


def is_short(window: WindowRecord) -> bool:
    """Tell whether the window's server lacked memory."""
    waited = (window.telemetry.memory_wait_s or 0.0) > _MOST_WAIT_RATIO * window.measurement.total_s
    return waited or pages_read(window) >= _LEAST_PAGES


def wait_ratio(windows: Sequence[WindowRecord]) -> float:
    """Return the part of windows' time in which some task waited for memory."""
    total_s = sum(window.measurement.total_s for window in windows)
    waited_s = sum(window.telemetry.memory_wait_s or 0.0 for window in windows)
    return waited_s / total_s if total_s > 0 else 0.0


def memory_seen(windows: Sequence[WindowRecord]) -> MemorySeen:
    """Return what the windows of one configuration show.

    Args:
        windows: Of all starts of it that were up together.
    """
    sized = {
        (window.start, window.arm): window.telemetry
        for window in windows
        if window.telemetry.pss_bytes is not None
    }
    is_known = sized.keys() == {(window.start, window.arm) for window in windows}
    in_memory = [each.pss_bytes or 0 for each in sized.values()]
    held = [(each.pss_bytes or 0) + (each.swapped_bytes or 0) for each in sized.values()]
    return MemorySeen(
        n_windows=len(windows),
        n_short=sum(map(is_short, windows)),
        pages_read=sum(map(pages_read, windows)),
        wait_ratio=wait_ratio(windows),
        holds_bytes=max(held, default=0) if is_known else None,
        all_bytes=sum(in_memory) if is_known else None,
    )


def blamed(
    seen: Mapping[str, MemorySeen],
    available_bytes: float,
    limits: Mapping[str, int | None] | None = None,
) -> dict[str, Reason]:
    """Return which configurations lack memory by their own fault, and why one may say so.

    Args:
        seen: By configuration, of all servers that were up together.
        available_bytes: What is left of memory while all of them are up.
        limits: What each may have by the study's own limit, where there is one.
    """
    known = [each.all_bytes for each in seen.values() if each.all_bytes is not None]
    if len(known) < len(seen):
        return {}
    of_machine = available_bytes + sum(known)
    rooms = {
        name: min(of_machine, (limits or {}).get(name) or of_machine) * (1 - RESERVE_RATIO)
        for name in seen
    }
    return {
        name: because(
            "experiment.lacks_memory",
            lack=lack_reasons(each.pages_read, each.wait_ratio),
            held=each.holds_bytes or 0,
            room=rooms[name],
        )
        for name, each in seen.items()
        if _lacked(each)
        and any(_is_quiet(other, each) for other in seen.values())
        and (each.holds_bytes or 0) > rooms[name]
    }


def _lacked(each: MemorySeen) -> bool:
    return each.n_short >= max(_FEWEST_WINDOWS, each.n_windows / 2)


def _is_quiet(other: MemorySeen, beside: MemorySeen) -> bool:
    """Tell whether one had nothing of what another one had; never of the same one."""
    if other.n_windows < _FEWEST_WINDOWS or other.n_short:
        return False
    most_pages = max(_NO_PAGES, _QUIET_RATIO * beside.pages_read / beside.n_windows)
    most_wait = max(_NO_WAIT_RATIO, _QUIET_RATIO * beside.wait_ratio)
    return other.pages_read / other.n_windows <= most_pages and other.wait_ratio <= most_wait


def lack_reasons(pages: int, waited_ratio: float) -> tuple[Reason, ...]:
    """Return what lack of memory was seen."""
    return (
        *([because("experiment.pages_from_swap", n=pages)] if pages else ()),
        *(
            [because("experiment.waited_for_memory", ratio=waited_ratio)]
            if waited_ratio > 0
            else ()
        ),
    )


def see_short_memory(
    configurations: Sequence[Configuration],
    starts: Sequence[Sequence[Arm]],
    windows: Sequence[WindowRecord],
) -> None:
    """See those as infeasible that lack memory by their own fault; all of them are still up."""
    if any(arm.running is not None and not arm.is_up for start in starts for arm in start):
        return  # what one that failed holds beside them nobody knows
    labels = [each.label() for each in configurations]
    seen = {
        label: memory_seen([w for w in windows if labels[w.arm] == label])
        for label in dict.fromkeys(labels[window.arm] for window in windows)
    }
    if not any(each.n_short for each in seen.values()):
        return
    limits = {
        each: memory_limit_bytes(
            [
                arm
                for start in starts
                for arm, label in zip(start, labels, strict=True)
                if label == each
            ]
        )
        for each in seen
    }
    for label, why in blamed(seen, machine_room().memory_bytes, limits).items():
        for start in starts:
            for number, arm in enumerate(start):
                if labels[number] == label and arm.is_up:
                    arm.fail("infeasible", why)


def sizes_of(arms: Sequence[Configuration], windows: Sequence[WindowRecord]) -> dict[str, ArmSize]:
    """Return what the servers took, the largest of each configuration."""
    sizes: dict[str, ArmSize] = {}
    for window in windows:
        seen = window.telemetry
        if seen.pss_bytes is not None:
            label = arms[window.arm].label()
            known = sizes.get(label, ArmSize(pss_bytes=0, n_processes=0))
            sizes[label] = ArmSize(
                pss_bytes=max(known.pss_bytes, seen.pss_bytes),
                n_processes=max(known.n_processes, seen.n_processes),
            )
    return sizes
