"""The groups that limit a server: made before its program is run, and what came of the limits.

Memory and CPU time are of all processes of a server together, whatever they fork. A server that
needs more memory than it may have has one of its processes killed by the kernel; the machine and
the other servers are not touched. One that has used up its CPU time stands still until the next
period begins. Where the kernel lets no group be made there are no limits, and nothing is run:
RLIMIT_AS and RLIMIT_DATA are no substitute. They bound what each process maps, not what all of them
hold, and who meets them sees a failed allocation that nobody else can count.

Without swap: what a server holds beyond its limit would else be on a disk that all share. Pages of
files that it reads count, but the kernel takes them back first; so to be *at* the limit is no fault
yet. What lies in a folder in memory counts for whoever wrote it there.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files" and "CPU
Interface Files"; cgroup-v1/memory.rst; Documentation/scheduler/sched-bwc.rst.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import LimitValues, ServerLimits
from httpdyno.reason import Reason, because
from httpdyno.servers.limits.control_group import (
    CONTROLLERS,
    Parent,
    group_name,
    limit_parents,
    remove_group,
)
from httpdyno.units import format_bytes, format_duration, memory_bytes

NONE = "none"
"""What a template says where there is to be no limit."""
_LEAST_BYTES = 4 << 20
"""What it takes to become the program, before that takes anything."""
_LEAST_QUOTA_S = 1e-3
_PERIOD_S = (1e-3, 1.0)
"""The kernel takes no other ones (kernel/sched/core.c, `min_cfs_quota_period`)."""
_NUMBER = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6})?")


def limit_values(limits: ServerLimits) -> LimitValues:
    """Return what texts without any placeholders say.

    Raises:
        UsageError: One of them makes no sense; the hint says what is expected.
    """
    texts = {"memory": limits.memory, "cpu": limits.cpu}
    return LimitValues(
        controllers=tuple(name for name, text in texts.items() if text),
        memory_bytes=_bytes_of(limits.memory),
        cpu=_cpu_of(limits.cpu, _period_s(limits.cpu_period_s)),
        cpu_period_s=limits.cpu_period_s,
    )


def named_limits(limits: LimitValues) -> Reason:
    """Return limits as in `64.0 MiB of memory, 0.5 CPUs in each 100 ms`, or that there is none."""
    found = []
    if limits.memory_bytes is not None:
        found.append(because("limits.memory", size_bytes=limits.memory_bytes))
    if limits.cpu is not None:
        found.append(because("limits.cpu", n=limits.cpu, period_s=limits.cpu_period_s))
    return because("limits.values", all=found) if found else because("limits.none")


def effective_limits(limits: LimitValues) -> dict[str, str]:
    """Return limits as what is in force of a server, by their keys in a study."""
    found = {}
    if "memory" in limits.controllers:
        n_bytes = limits.memory_bytes
        found["limits.memory"] = NONE if n_bytes is None else format_bytes(n_bytes)
    if "cpu" in limits.controllers:
        found["limits.cpu"] = NONE if limits.cpu is None else f"{limits.cpu:g}"
        found["limits.cpu_period"] = format_duration(limits.cpu_period_s)
    return found


def _bytes_of(text: str) -> int | None:
    if text.strip() in {"", NONE}:
        return None
    try:
        n_bytes = memory_bytes(text)
    except UsageError as error:
        raise _wrong("memory", text, "a size such as `512MiB`, or `none`") from error
    if n_bytes < _LEAST_BYTES:
        raise _wrong("memory", text, f"at least {format_bytes(_LEAST_BYTES)}")
    return n_bytes


def _cpu_of(text: str, period_s: float) -> float | None:
    if text.strip() in {"", NONE}:
        return None
    if _NUMBER.fullmatch(text.strip()) is None:
        raise _wrong("cpu", text, "CPU seconds a second such as `0.5` or `2`, or `none`")
    cpu = float(text)
    if cpu * period_s < _LEAST_QUOTA_S:
        least = _LEAST_QUOTA_S / period_s
        raise _wrong("cpu", text, f"at least {least:g}, 1 ms in each period")
    return cpu


def _period_s(period_s: float) -> float:
    shortest_s, longest_s = _PERIOD_S
    if not shortest_s <= period_s <= longest_s:
        raise _wrong("cpu_period", format_duration(period_s), "1ms to 1s")
    return period_s


def _wrong(key: str, text: str, expected: str) -> UsageError:
    return UsageError(f"limits.{key} is `{text}`; expected {expected}", hint=expected)


_US = 1e6
_NO_LIMIT_BYTES = 1 << 60
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MOST_ASKED_BYTES = 8 * _PAGE_BYTES
"""At once, of what the kernel kills for (PAGE_ALLOC_COSTLY_ORDER)."""
_HUGE_PAGE_BYTES = 2 << 20
LIMITS_HINT = because("limits.way_out")


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitGroup:
    """A group that limits one thing, or both."""

    folder: Path
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitGroups:
    """Those of one server."""

    values: LimitValues
    """As the kernel says that they are."""
    memory: LimitGroup | None = None
    cpu: LimitGroup | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them, each once."""
        found = (each.folder for each in (self.memory, self.cpu) if each is not None)
        return tuple(dict.fromkeys(found))

    @property
    def whole(self) -> Path | None:
        """The one of version 2, which the kernel can end, and whose CPU time it counts."""
        groups = (each for each in (self.memory, self.cpu) if each is not None)
        return next((each.folder for each in groups if each.version > 1), None)


def limits_complaint(limits: Iterable[ServerLimits]) -> Reason | None:
    """Return why limits cannot be set here; None where they can, or there are none."""
    wanted = controllers_of(limits)
    parents = limit_parents(wanted) if wanted else {}
    if not isinstance(parents, Reason):
        return None
    return because("limits.cannot_be_set", why=parents)


def limits_by(limits: Iterable[ServerLimits]) -> dict[str, int]:
    """Return which controllers enforce limits here, each with the version of its control groups.

    Empty where there are none, or nothing can.
    """
    wanted = controllers_of(limits)
    parents = limit_parents(wanted) if wanted else {}
    if isinstance(parents, Reason):
        return {}
    return {name: parents[name].version for name in sorted(parents)}


def controllers_of(limits: Iterable[ServerLimits]) -> frozenset[str]:
    """Return the controllers that limits take."""
    found = {name for each in limits for name in CONTROLLERS if getattr(each, name)}
    return frozenset(found)


def make_limit_groups(name: str, limits: LimitValues) -> LimitGroups:
    """Make the groups of a server, with its limits.

    Args:
        name: Of the server, such that no other one has it.
        limits: With the controllers that the study sets limits with.

    Raises:
        AdapterError: They cannot be made here, or the kernel takes other limits than these.
    """
    parents = limit_parents(frozenset(limits.controllers))
    if isinstance(parents, Reason):
        raise AdapterError("the server's limits cannot be set", why=[parents], hints=[LIMITS_HINT])
    made = {each: _made(parent, name) for each, parent in parents.items()}
    groups = LimitGroups(values=limits, memory=made.get("memory"), cpu=made.get("cpu"))
    try:
        for folder in groups.folders:
            folder.mkdir()
        if groups.memory is not None and limits.memory_bytes is not None:
            _limit_memory(groups.memory, limits.memory_bytes)
        if groups.cpu is not None and limits.cpu is not None:
            _limit_cpu(groups.cpu, limits.cpu, limits.cpu_period_s)
        return _checked(groups)
    except BaseException as error:
        for folder in groups.folders:
            remove_group(folder)
        if isinstance(error, OSError):
            raise AdapterError(
                f"the server's limits cannot be set: {error.strerror} (`{error.filename}`)",
                hints=[LIMITS_HINT],
            ) from error
        raise


def limit_hit(groups: LimitGroups | None) -> Reason | None:
    """Return how a server ran into its memory limit; None where it did not.

    At it, it is whenever files that it reads fill what it leaves free. Into it, it ran where the
    kernel found nothing to take back, and killed a process of it or refused it memory.
    """
    if groups is None or groups.memory is None or groups.values.memory_bytes is None:
        return None
    n_killed, n_refused = _out_of_memory(groups.memory)
    # Whoever was killed because the machine had no memory is counted among the killed as well.
    was_met = n_refused > 0 if groups.memory.version > 1 else _was_met(groups.memory)
    if not was_met or not (n_killed or n_refused):
        return None
    limit = groups.values.memory_bytes
    if not n_killed:
        return because("servers.memory_limit_refused", limit_bytes=limit)
    if n_killed == 1:
        return because("servers.memory_limit_killed", limit_bytes=limit)
    return because("servers.memory_limit_killed_several", limit_bytes=limit, n=n_killed)


def _made(parent: Parent, name: str) -> LimitGroup:
    return LimitGroup(folder=parent.folder / group_name(name), version=parent.version)


def _limit_memory(group: LimitGroup, n_bytes: int) -> None:
    text = str(n_bytes)
    if group.version > 1:
        _write(group, "memory.max", text)
        _write_where_there(group, "memory.swap.max", "0")
        return
    _write(group, "memory.limit_in_bytes", text)
    # At its limit it is not swapped out. Where the machine swaps it out, it has next to nothing for
    # that; but a little, because the kernel asks first what memory and swap may be together, and
    # with the same limit for both `memory.failcnt` counts nothing. Not all kernels have these.
    _write_where_there(group, "memory.swappiness", "0")
    both = str(n_bytes + _HUGE_PAGE_BYTES)
    _write_where_there(group, "memory.memsw.limit_in_bytes", both)


def _limit_cpu(group: LimitGroup, cpu: float, period_s: float) -> None:
    period, quota = str(round(period_s * _US)), str(round(cpu * period_s * _US))
    if group.version > 1:
        _write(group, "cpu.max", f"{quota} {period}")
    else:
        _write(group, "cpu.cfs_period_us", period)
        _write(group, "cpu.cfs_quota_us", quota)


def _checked(groups: LimitGroups) -> LimitGroups:
    """Return the groups with what is in force in them.

    Raises:
        AdapterError: It is not what was asked.
    """
    asked, in_force = groups.values, _in_force(groups)
    if not _are_alike(in_force, asked):
        why = because(
            "limits.others_in_force", asked=named_limits(asked), in_force=named_limits(in_force)
        )
        raise AdapterError("the server's limits were not taken", why=[why])
    return LimitGroups(values=in_force, memory=groups.memory, cpu=groups.cpu)


def _in_force(groups: LimitGroups) -> LimitValues:
    """Return what the kernel says."""
    asked = groups.values
    memory_bytes, cpu, period_s = None, None, asked.cpu_period_s
    if groups.memory is not None:
        name = "memory.max" if groups.memory.version > 1 else "memory.limit_in_bytes"
        memory_bytes = _number(groups.memory, name)
    if groups.cpu is not None:
        if groups.cpu.version > 1:
            quota, period = (groups.cpu.folder / "cpu.max").read_text(encoding="ascii").split()
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            quota, period = ((groups.cpu.folder / name).read_text("ascii") for name in names)
        period_s = int(period) / _US
        cpu = int(quota) / int(period) if quota.strip().isdigit() else None  # `max`, or −1
    return LimitValues(
        controllers=asked.controllers,
        memory_bytes=memory_bytes,
        cpu=cpu,
        cpu_period_s=asked.cpu_period_s if cpu is None else period_s,
    )


def _are_alike(in_force: LimitValues, asked: LimitValues) -> bool:
    """Whether they are the same but for what the kernel rounds: to pages and microseconds."""
    if (asked.memory_bytes is None, asked.cpu is None) != (
        in_force.memory_bytes is None,
        in_force.cpu is None,
    ):
        return False
    off_bytes = (asked.memory_bytes or 0) - (in_force.memory_bytes or 0)
    off_us = ((asked.cpu or 0.0) - (in_force.cpu or 0.0)) * asked.cpu_period_s * _US
    return 0 <= off_bytes < _PAGE_BYTES and abs(off_us) <= 1


def _out_of_memory(group: LimitGroup) -> tuple[int, int]:
    """Return how many processes the kernel killed, and how often there was no memory at all."""
    name = "memory.events" if group.version > 1 else "memory.oom_control"
    try:
        lines = (group.folder / name).read_text(encoding="ascii").splitlines()
    except OSError:
        return 0, 0
    counts = dict(line.split() for line in lines)
    return int(counts.get("oom_kill", 0)), int(counts.get("oom", 0))


def _was_met(group: LimitGroup) -> bool:
    """Whether a group of version 1 had all the memory that it may have, alone or with swap."""
    for kind in ("memory", "memory.memsw"):
        with suppress(OSError):
            most, limit = (
                int((group.folder / f"{kind}.{name}").read_text(encoding="ascii"))
                for name in ("max_usage_in_bytes", "limit_in_bytes")
            )
            if limit - most < _MOST_ASKED_BYTES:
                return True
    return False


def _number(group: LimitGroup, name: str) -> int | None:
    text = (group.folder / name).read_text(encoding="ascii").strip()
    # Without a limit version 2 says `max`, version 1 the most pages that fit into a number.
    return int(text) if text.isdigit() and int(text) < _NO_LIMIT_BYTES else None


def _write(group: LimitGroup, name: str, text: str) -> None:
    (group.folder / name).write_text(text, encoding="ascii")


def _write_where_there(group: LimitGroup, name: str, text: str) -> None:
    if (group.folder / name).exists():
        _write(group, name, text)
