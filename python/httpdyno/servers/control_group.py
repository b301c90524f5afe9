"""A control group for one server, where the kernel has them and this process may make one.

What a group is good for here is its `cgroup.kill`: the kernel ends all members in one step, so that
no process can fork faster than it is ended. And its `cpu.stat`: the kernel counts there what all
used that ever ran in it (`telemetry/account.py`). So a server is alone in its group; who starts and
keeps it is outside. It limits nothing: a group is only made where no controller would come with it,
because a share of its own would change what is measured.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, "Core Interface Files".
"""

import functools
import os
import time
from contextlib import suppress
from pathlib import Path

_PREFIX = "httpdyno-"
_END_S = 5.0
_POLL_S = 0.01
_MOUNTS = Path("/proc/self/mountinfo")
_OWN = Path("/proc/self/cgroup")


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


def make_group(name: str) -> Path | None:
    """Make a group; None where that cannot be: it is a net more, not a need."""
    parent = parent_group()
    if parent is None:
        return None
    group = parent / f"{_PREFIX}{name}"
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


def is_group(folder: Path) -> bool:
    """Whether this is one of ours: a damaged record must not name anything else."""
    return folder.parent == parent_group() and folder.name.startswith(_PREFIX)


def groups_of(owner: str) -> list[Path]:
    """Return the groups whose names begin with that of an owner's folder and a dash.

    A group is made before a record can have it, and its owner may be killed in between.
    """
    parent = parent_group()
    if parent is None:
        return []
    try:
        return [each for each in parent.iterdir() if each.name.startswith(f"{_PREFIX}{owner}-")]
    except OSError:
        return []


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


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
