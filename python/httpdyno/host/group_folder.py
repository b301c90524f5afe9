"""Where the kernel shows a process's control groups, as text that was read. Pure.

Source: the kernel's Documentation/admin-guide/cgroup-v2.rst and
Documentation/admin-guide/cgroup-v1/cgroups.rst; proc(5) for `mountinfo` and `cgroup`.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath


def group_folders(mounts: str, groups: str, controller: str) -> Iterator[tuple[str, int]]:
    """Yield the folders of a process's control group and of those above, each with its version.

    Args:
        mounts: /proc/self/mountinfo.
        groups: /proc/PID/cgroup.
        controller: `memory`, `cpu` and so on; version 2 has all of them in one.
    """
    named = [(*line.split(":", 2), "", "")[1:3] for line in groups.splitlines()]
    for line in mounts.splitlines():
        mount, _, system = line.partition(" - ")
        root, mounted_at = mount.split()[3:5]
        kind, _, options = (*system.split(), "", "", "")[:3]
        if kind == "cgroup2":
            group, version = next((path for names, path in named if not names), None), 2
        elif kind == "cgroup" and controller in options.split(","):
            held = (path for names, path in named if controller in names.split(","))
            group, version = next(held, None), 1
        else:
            continue
        if group is None or not f"{group}/".startswith(f"{root.rstrip('/')}/"):
            continue  # another part of the tree is mounted here
        below = PurePosixPath(group[len(root.rstrip("/")) :].lstrip("/"))
        for each in (below, *below.parents):
            yield str(PurePosixPath(mounted_at, each)), version
