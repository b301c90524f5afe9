"""A control group that is watched as a whole: who is in it, whatever its parent is.

What a server's process began and let go, as a daemon that forked twice, is below init, and so in no
tree of the server's; its control group still has it. `WholeGroup` reads the kernel's list of
members at each look, so that one that comes later is there too.

Of version 2 the group also has the CPU time of all that ever ran in it (`account.py`). What is
below a member and was moved to another group is in the list of processes, and not in that time.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, "Core Interface Files"; of version 1
Documentation/admin-guide/cgroup-v1/cgroups.rst, section 1.2, `cgroup.procs`.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from httpdyno.host.group_folder import group_folders
from httpdyno.telemetry.account import group_cpu_s, members


class WholeGroup:
    """A control group, until it is removed: a later one of the same name is another."""

    def __init__(self, folder: Path | None, root_pids: Sequence[int] = ()) -> None:
        """Watch a group.

        Args:
            folder: Where the kernel shows it; None where that is nowhere here, and then only what
                is below the roots is known.
            root_pids: The processes that it began as; none where its members are but one tree's.
        """
        self.folder = folder
        self.root_pids = tuple(root_pids)
        self._inode = _inode(folder) if folder else None

    def pids(self) -> tuple[int, ...]:
        """Return the processes in it and in those below; none where it is gone."""
        return tuple(members(f"{self.folder}")) if self._is_there() else ()

    def cpu_s(self) -> float | None:
        """Return the CPU time of all that ever ran in it; None where it is not told, or gone."""
        return group_cpu_s(f"{self.folder}") if self._is_there() else None

    def _is_there(self) -> bool:
        return self.folder is not None and self._inode == _inode(self.folder) is not None


def whole_group(path: str, root_pids: Sequence[int]) -> WholeGroup:
    """Return the control group of this path.

    Args:
        path: As /proc/PID/cgroup has it, from the root of its hierarchy on.
        root_pids: The processes that it began as, in it or in one below it: the same path may be
            in several hierarchies.
    """
    folders: list[str] = []
    with suppress(OSError):
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
        groups = Path(f"/proc/{root_pids[0]}/cgroup").read_text(encoding="utf-8", errors="replace")
        folders = list(folders_of_path(path, mounts, groups))
    return WholeGroup(Path(folders[0]) if folders else None, root_pids)


def folders_of_path(path: str, mounts: str, groups: str) -> list[str]:
    """Return where a control group of this path is, that of version 2 first; pure.

    Args:
        path: From the root of its hierarchy on.
        mounts: /proc/self/mountinfo.
        groups: /proc/PID/cgroup of a process in it or below.
    """
    found: list[tuple[int, str]] = []
    for line in groups.splitlines():
        number, controllers, held = (*line.split(":", 2), "", "")[:3]
        if not f"{held}/".startswith(f"{path}/"):
            continue
        own = f"{number}:{controllers}:{path}"
        shown = group_folders(mounts, own, controllers.split(",")[0])
        found += [(-version, folder) for folder, version in [*shown][:1]]
    return [folder for _, folder in sorted(found, key=lambda each: each[0])]


def _inode(folder: Path) -> int | None:
    try:
        return folder.stat().st_ino
    except OSError:
        return None
