"""What /proc says of processes, read with no more rights than the user has; nothing is signalled.

The folder is an argument so that tests can make one up.
"""

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from httpdyno.host.procfs import children_among, content, stat_of, status_words, walk
from httpdyno.host.runnable import user_name
from httpdyno.servers.network.listening import PROC

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_DELETED = " (deleted)"
_UNIT_SUFFIXES = (".service", ".scope", ".socket")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessFacts:
    """A process as it is seen from outside."""

    pid: int
    parent: int
    name: str
    """As the kernel calls it: 15 bytes at most."""
    started_at_s: float
    """Unix time, to about 10 ms."""
    start_ticks: int = 0
    """The same in clock ticks since the machine started: with the pid it names one process."""
    program: str = ""
    """The file that it runs; empty where this user may not know it."""
    is_replaced: bool = False
    """Its program file is not there any more: an upgrade that has not been taken up."""
    arguments: tuple[str, ...] = ()
    folder: str = ""
    user: str = ""
    unit: str = ""
    """The systemd unit whose control group it is in."""
    groups: tuple[str, ...] = ()
    """The control groups that it is in, one of each hierarchy: of version 2 there is one."""
    root: str = "/"
    """What it sees as `/`; another than `/` in a chroot, and in some containers."""
    has_own_pids: bool = False
    """It counts processes for itself, as those in containers do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessDetails:
    """What only its user and root may see of a process."""

    environment_names: tuple[str, ...] = ()
    open_files_limit: str = ""
    """Soft limit; a number or `unlimited`."""
    hidden: tuple[str, ...] = ()
    """What this user may not read."""


def all_processes(proc: Path = PROC) -> dict[int, ProcessFacts]:
    """Return the live processes by pid, without the kernel's own threads."""
    names = os.listdir(proc)  # noqa: PTH208 - twice as fast as iterdir
    booted_at_s = _booted_at_s()
    found = (_facts(proc, int(name), booted_at_s) for name in names if name.isdigit())
    return {each.pid: each for each in found if each is not None}


def details(pid: int, proc: Path = PROC) -> ProcessDetails:
    """Return names of its environment, without values, and limits."""
    folder, hidden = proc / str(pid), []
    environment = limits = b""
    try:
        environment = (folder / "environ").read_bytes()
    except OSError:
        hidden.append("environment")
    try:
        limits = (folder / "limits").read_bytes()
    except OSError:
        hidden.append("limits")
    entries = (entry.partition(b"=") for entry in environment.split(b"\0"))
    names = {name.decode(errors="replace") for name, found, _ in entries if found}
    return ProcessDetails(
        environment_names=tuple(sorted(names)),
        open_files_limit=_open_files(limits.decode(errors="replace")),
        hidden=tuple(hidden),
    )


def descendants(pid: int, processes: dict[int, ProcessFacts]) -> tuple[ProcessFacts, ...]:
    """Return the processes below one, itself left out, in order of pid."""
    below = children_among({each.pid: each.parent for each in processes.values()})
    return tuple(processes[each] for each in sorted(walk([pid], below)[1:]))


def ancestry(pid: int, processes: dict[int, ProcessFacts]) -> tuple[ProcessFacts, ...]:
    """Return the process and those above it; in a container the first may be a server."""
    chain: list[ProcessFacts] = []
    while pid in processes and processes[pid] not in chain:
        chain.append(processes[pid])
        pid = processes[pid].parent
    return tuple(chain)


def unit_of(control_group: str) -> str:
    """Return the systemd unit that a process with this /proc/PID/cgroup is of; empty if none."""
    for line in control_group.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers in {"", "name=systemd"}:
            parts = [part for part in path.split("/") if part.endswith(_UNIT_SUFFIXES)]
            # A session's scope is a person at a terminal, not a service.
            if parts and not (parts[-1].startswith("session-") or parts[-1] == "init.scope"):
                return parts[-1]
    return ""


def groups_of(control_group: str) -> tuple[str, ...]:
    """Return the groups that /proc/PID/cgroup names, each once, those of nobody's own left out."""
    paths = [line.split(":", 2)[-1] for line in control_group.splitlines() if line.count(":") > 1]
    return tuple(dict.fromkeys(path for path in paths if path != "/"))


def unit_group(groups: Iterable[str], unit: str) -> str:
    """Return the control group of a unit that a process in these is in; empty if in none."""
    for path in groups:
        above, is_inside, _ = f"{path}/".partition(f"/{unit}/")
        if is_inside:
            return f"{above}/{unit}"
    return ""


def is_users_own(groups: Iterable[str]) -> bool:
    """Whether what is in these is of a user's own manager, whose units anybody names.

    Source: systemd.special(7): those of all users are in `user.slice`, below `user@UID.service`.
    """
    return any("/user.slice/" in f"{path}/" or "/user@" in path for path in groups)


def is_in_group(process: ProcessFacts, group: str) -> bool:
    """Whether a process is in a control group or in one below it."""
    return any(f"{path}/".startswith(f"{group}/") for path in process.groups)


def _booted_at_s() -> float:
    # /proc/stat says it in whole seconds only, which is too coarse to compare with files.
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _facts(proc: Path, pid: int, booted_at_s: float) -> ProcessFacts | None:
    folder = f"{proc}/{pid}"

    def read(_pid: int, name: bytes) -> bytes:
        return content(os.fsencode(folder) + b"/" + name)

    def text(name: bytes) -> str:
        return read(pid, name).decode(errors="surrogateescape")

    stat = stat_of(pid, read)
    # A server may write a whole sentence over its arguments, without a NUL at its end.
    arguments = tuple(text(b"cmdline").rstrip("\0").split("\0"))
    if stat is None or stat.has_ended or not any(arguments):
        return None
    program = _link(f"{folder}/exe")
    status = read(pid, b"status")
    users = status_words(status, b"Uid")
    if not users:  # gone meanwhile: whose it was nobody can say
        return None
    control_group = text(b"cgroup")
    return ProcessFacts(
        pid=pid,
        parent=stat.parent,
        name=stat.name,
        started_at_s=booted_at_s + stat.started_ticks / _TICKS_PER_S,
        start_ticks=stat.started_ticks,
        program=program.removesuffix(_DELETED),
        is_replaced=program.endswith(_DELETED),
        arguments=arguments,
        folder=_link(f"{folder}/cwd"),
        user=user_name(int(users[0])),
        unit=unit_of(control_group),
        groups=groups_of(control_group),
        root=_link(f"{folder}/root") or "/",
        # One number for each namespace of processes, from that of this /proc inward.
        has_own_pids=len(status_words(status, b"NSpid")) > 1,
    )


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - hot
    except OSError:  # another user's, or gone
        return ""


_OPEN_FILES = re.compile(r"Max open files\s+(\S+)")


def _open_files(limits: str) -> str:
    for line in limits.splitlines():
        if found := _OPEN_FILES.match(line):
            return found[1]
    return ""


def pids(processes: Iterable[ProcessFacts]) -> frozenset[int]:
    """Return their pids."""
    return frozenset(each.pid for each in processes)
