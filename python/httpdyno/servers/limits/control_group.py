"""A control group for one server, where the kernel has them and this process may make one.

What a group is good for here is its `cgroup.kill`: the kernel ends all members in one step, so that
no process can fork faster than it is ended. And its `cpu.stat`: the kernel counts there what all
used that ever ran in it (`telemetry/account.py`). So a server is alone in its group; who starts and
keeps it is outside. It limits nothing: a group is only made where no controller would come with it,
because a share of its own would change what is measured. Where a study asks for limits, groups are
made for those (`limit_group.py`), where a controller does come with them.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, "Core Interface Files" and "Top-down
Constraint", "No Internal Process Constraint", "Delegation Containment"; cgroup-v1/memory.rst.
"""

import functools
import os
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from httpdyno.host.own_files import is_own_folder
from httpdyno.host.procfs import ProcessStat, group_folders, stat_of
from httpdyno.reason import Reason, because

CONTROLLERS = ("memory", "cpu")
"""Those that limits are set with."""
_PREFIX = "httpdyno-"
_END_S = 5.0
_POLL_S = 0.01
_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parent:
    """A group that groups with a controller can be made in."""

    folder: Path
    version: int


@functools.cache
def parent_group() -> Path | None:
    """Return the folder that groups can be made in; None where there is none."""
    return usable_parent(_content(_MOUNTS), _content(_OWN))


def usable_parent(mounts: str, own: str) -> Path | None:
    """Return the folder of this process's own group if groups in it are free of controllers.

    Args:
        mounts: /proc/self/mountinfo.
        own: /proc/self/cgroup.
    """
    group = next((line[3:] for line in own.splitlines() if line.startswith("0::/")), None)
    for line in mounts.splitlines():
        fields, _, kind = line.partition(" - ")
        root, mounted_at = fields.split()[3:5]
        if group is None or kind.split()[0] != "cgroup2" or not f"{group}/".startswith(root):
            continue
        folder = Path(mounted_at) / group.removeprefix(root).lstrip("/")
        is_free = _content(folder / "cgroup.subtree_control").strip() == ""
        if is_free and os.access(folder, os.W_OK | os.X_OK):
            return folder
    return None


@functools.cache
def limit_parents(controllers: frozenset[str]) -> dict[str, Parent] | Reason:
    """Return where this process may make groups with controllers, or why it cannot."""
    return usable_limit_parents(_content(_MOUNTS), _content(_OWN), controllers)


def usable_limit_parents(
    mounts: str, own: str, controllers: Collection[str]
) -> dict[str, Parent] | Reason:
    """Return the folder for each controller, the same for all of version 2; else why not.

    Version 1 lets a group have groups and processes, so this process's own group will do. In
    version 2 a group that hands controllers on has no processes: the nearest above this process
    that hands all of them on. Who is not root may move a process only below a group that is his.

    Args:
        mounts: /proc/self/mountinfo.
        own: /proc/self/cgroup.
        controllers: Of `CONTROLLERS`.
    """
    found: dict[str, Parent] = {}
    for controller in controllers:
        folders = (f for f, version in group_folders(mounts, own, controller) if version == 1)
        if (own_folder := next(folders, None)) is not None:
            found[controller] = Parent(folder=Path(own_folder), version=1)
            if not os.access(own_folder, os.W_OK | os.X_OK):
                return because("limits.no_group_in", names=[controller], folder=own_folder)
    wanted = {*controllers} - {*found}
    if not wanted:
        return found
    above = [Path(each) for each, _ in group_folders(mounts, own, "")]
    handing = [each for each in above if wanted <= {*_words(each / "cgroup.subtree_control")}]
    for folder in handing:
        if os.access(folder, os.W_OK | os.X_OK) and os.access(folder / "cgroup.procs", os.W_OK):
            return found | {each: Parent(folder=folder, version=2) for each in wanted}
    names = sorted(wanted)
    if handing:
        return because("limits.no_group_in", names=names, folder=str(handing[0]))
    return because("limits.nobody_hands_on", names=names)


def _parents() -> list[Path]:
    """Return all folders that this process may have made groups in."""
    found = dict.fromkeys([parent_group()])
    for wanted in (CONTROLLERS, *((each,) for each in CONTROLLERS)):
        parents = limit_parents(frozenset(wanted))
        if not isinstance(parents, Reason):
            found |= dict.fromkeys(each.folder for each in parents.values())
    return [folder for folder in found if folder is not None]


def group_name(name: str) -> str:
    """Return what a group of ours is called."""
    return f"{_PREFIX}{name}"


def make_group(name: str) -> Path | None:
    """Make a group; None where that cannot be: it is a net more, not a need."""
    parent = parent_group()
    if parent is None:
        return None
    group = parent / group_name(name)
    try:
        group.mkdir()
    except OSError:
        return None
    # Both may be refused in a container or by an old kernel, and then the group is of no use.
    if all(os.access(group / file, os.W_OK) for file in ("cgroup.procs", "cgroup.kill")):
        return group
    remove_group(group)
    return None


def holds(group: Path, pid: int) -> bool:
    """Whether a process is in a group: the kernel may have refused to move it there."""
    return str(pid) in _content(group / "cgroup.procs").split()


def is_group_of(folder: Path, owner: str) -> bool:
    """Whether this is a group of an owner's: a damaged record must not name anything else.

    Another session's process has a group of its own, and may have made groups where this one would
    not: so it may be anywhere that control groups are.
    """
    if ".." in folder.parts or not folder.name.startswith(group_name(f"{owner}-")):
        return False
    if not is_own_folder(folder):
        return False
    for line in _content(_MOUNTS).splitlines():
        fields, _, kind = line.partition(" - ")
        is_of_groups = kind.split()[0] in {"cgroup", "cgroup2"}
        if is_of_groups and folder.is_relative_to(fields.split()[4]):
            return True
    return False


def groups_of(owner: str) -> list[Path]:
    """Return the groups whose names begin with that of an owner's folder and a dash.

    A group is made before a record can have it, and its owner may be killed in between.
    """
    found: list[Path] = []
    for parent in _parents():
        with suppress(OSError):
            found += [each for each in parent.iterdir() if is_group_of(each, owner)]
    return found


def group_members(group: Path) -> list[ProcessStat]:
    """Return the live processes in a group and those below it."""
    # Asked once more when they are known: a pid may be another process's by then.
    known = {pid: info for pid in _pids_in(group) if (info := stat_of(pid)) and not info.has_ended}
    return [known[pid] for pid in _pids_in(group) if pid in known]


def _pids_in(group: Path) -> list[int]:
    # 0 is one of another pid namespace, which has no number here.
    lists = (_words(Path(folder, "cgroup.procs")) for folder, _, _ in os.walk(group))
    return [int(pid) for each in lists for pid in each if pid.isdigit() and pid != "0"]


def end_group(group: Path) -> None:
    """Kill all members; nothing happens where the group is gone."""
    with suppress(OSError):
        (group / "cgroup.kill").write_bytes(b"1")


def remove_group(group: Path) -> None:
    """Remove a group whose members have ended or are ending, and those that were made in it."""
    deadline_s = time.monotonic() + _END_S
    while True:
        for folder, _, _ in os.walk(group, topdown=False):
            with suppress(OSError):  # until the kernel is through with its members
                Path(folder).rmdir()
        if not group.exists() or time.monotonic() > deadline_s:
            return
        time.sleep(_POLL_S)


def _words(path: Path) -> list[str]:
    return _content(path).split()


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
