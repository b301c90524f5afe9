"""How each folder of theirs is seen in a cell: through an overlay, and rarely as it is.

What is seen through an overlay can be written there, and no socket or FIFO in it leads anywhere: to
the kernel each is another file than theirs, also one that comes to be later. So that is how all of
the tree is seen. Each mount has a cover of its own, since that of what is around does not show it.
Where the copy's own place is inside of a folder, the kernel takes no overlay, since a layer would
lie in another: then the folder is made anew, and each folder in it is covered by itself. So is one
whose names are to stay as they were.

Opening a file through an overlay takes 2.7 µs in place of 1.7. So document roots that are safe
(`safe.py`) are shown as they are. What root itself binds there, or makes in `/`, while a copy runs
would be reached: neither is a place for a service.

Layers are in memory, where a mount takes a tenth of the time of one on ext4. Folders that the site
is known to write in have theirs on disk, so that writes cost what the site's cost. A smoke test has
all on disk.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from httpdyno.servers.cell.host import Mounted, mount_of

_OF_THE_KERNEL = (
    *("proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "debugfs", "tracefs"),
    *("securityfs", "bpf", "nsfs", "fusectl", "autofs", "binfmt_misc", "configfs", "pstore"),
    *("rpc_pipefs", "efivarfs", "hugetlbfs", "selinuxfs", "smackfs"),
)
"""What these show leads to processes, not to files; outside of `_NOT_COVERED` it is not seen."""
_WITHOUT_SOCKETS = ("vfat", "msdos", "exfat", "iso9660", "udf")
"""These hold neither socket nor FIFO, and the kernel takes the first of them into no overlay."""
_COVERED = (
    *("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "f2fs", "squashfs", "erofs"),
    *("overlay", "zfs", "bcachefs", "jfs", "nilfs2", "rootfs", "unknown"),
)
"""What the kernel takes into an overlay; of others only the kernel knows."""
_NOT_COVERED = ("/proc", "/sys", "/dev")
_HARMLESS = {os.makedev(1, n) for n in (3, 5, 7, 8, 9)}
"""The devices null, zero, full, random and urandom."""
_MOST_BESIDE = 64
"""Folders that are covered one by one. Each is a mount of its own, and files that the holder has
open meanwhile."""


@dataclass(kw_only=True, slots=True)
class Covers:
    """How all of the tree is seen, each path without links on the way."""

    over: set[str] = field(default_factory=set)
    """Folders that an overlay over theirs makes writable."""
    anew: dict[str, list["os.DirEntry[str]"]] = field(default_factory=dict)
    """Folders that are made anew → what else is shown in them."""
    crowded: set[str] = field(default_factory=set)
    """Folders around the place with so much in them that their layers must lie elsewhere."""
    shown: set[str] = field(default_factory=set)
    """What is seen as it is, read-only."""
    doubtful: set[str] = field(default_factory=set)
    """Folders that are covered if the kernel lets us, and else are not seen."""
    unseen: dict[str, str] = field(default_factory=dict)
    """Mounts that are not seen → why."""

    def owner(self, path: str) -> str:
        """Return the nearest covered folder that a path is in; empty where none is.

        What is shown as it is in a covered folder is not covered.
        """
        found = [each for each in (*self.over, *self.anew, *self.shown) if is_below(path, each)]
        nearest = max(found, key=len, default="")
        return "" if nearest in self.shown else nearest


def covers(  # noqa: PLR0913 - all that decides it
    folders: Iterable[str],
    mounted: Mapping[str, Mounted],
    own: tuple[str, ...],
    *,
    asked: Iterable[str] = (),
    closed: Mapping[str, Callable[[str], bool]] | None = None,
    is_filled: Callable[[str], bool] = lambda _: False,
    is_hidden: Callable[[str], bool] = lambda _: False,
    is_locked: bool = False,
    memory: str = "",
    runs: Iterable[str] = (),
) -> Covers:
    """Return how these folders, with all in them, are seen.

    Args:
        folders: Such as `top_folders` has them.
        mounted: All mounts, by their points.
        own: The folders of the copy's place.
        asked: Folders in them that have layers of their own, on disk where they are; what is no
            folder is left out.
        closed: Folders that keep their names → whether one of them is shown.
        is_filled: Whether a folder's layer is a copy of it, or of nothing, which is its user's own
            all over. It keeps a layer to itself in a folder of which that cannot be said, as that
            does in it.
        is_hidden: Whether this user may not look into a folder, so that nothing in it is seen.
        is_locked: Whether no overlay can leave out a mount that is in its folder, as it is in a
            user namespace.
        memory: Where layers lie of what is not asked for; a disk, where memory cannot be had.
        runs: Folders that hold nothing but runs, of which only the copy's own folders are seen.
    """
    found = Covers()
    real = {os.path.realpath(path) for path in asked}
    left_out = (*_NOT_COVERED, *own)
    own_layers = {
        path
        for path in real
        if os.path.isdir(path)  # noqa: PTH112 - of a text
        and not any(path == each or is_below(path, each) for each in left_out)
    }
    coverer = _Coverer(
        found=found,
        mounted=mounted,
        own=own,
        asked=own_layers,
        closed=closed or {},
        is_hidden=is_hidden,
        is_locked=is_locked,
        memory=memory,
        runs=frozenset(runs),
    )
    for path in folders:
        coverer.cover(path)
    for path in sorted(own_layers & found.over):
        above = Covers(over=own_layers & found.over - {path}, anew=found.anew).owner(path)
        is_more = above in found.over and is_filled(path) != is_filled(above)
        is_of_it = above in found.over and mount_of(path, mounted) == mount_of(above, mounted)
        if is_of_it and not is_more:
            found.over.discard(path)
    return found


def top_folders() -> list[str]:
    """Return the folders in `/`, without links and those of the kernel."""
    with os.scandir("/") as entries:
        found = [each.path for each in entries if each.is_dir(follow_symlinks=False)]
    return sorted(path for path in found if path not in _NOT_COVERED)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is inside of a folder, and not the folder itself."""
    return path != folder and path.startswith(folder if folder == "/" else f"{folder}/")


def mounts_below(folder: str, mounted: Mapping[str, Mounted]) -> list[Mounted]:
    """Return the mounts inside of a folder, outer ones first."""
    return sorted((m for m in mounted.values() if is_below(m.point, folder)), key=lambda m: m.point)


@dataclass(kw_only=True, slots=True)
class _Coverer:
    """Adds to covers; pure but for looks."""

    found: Covers
    mounted: Mapping[str, Mounted]
    own: tuple[str, ...]
    asked: Collection[str]
    closed: Mapping[str, Callable[[str], bool]]
    is_hidden: Callable[[str], bool]
    is_locked: bool
    memory: str
    runs: frozenset[str]

    def cover(self, folder: str) -> None:
        """Cover a folder, and each mount in it."""
        if self.is_hidden(folder):
            self.found.shown.add(folder)
        elif folder in self.mounted and not self._is_covered(self.mounted[folder]):
            return
        elif self._is_anew(folder):
            self._make_anew(folder)
        else:
            self._cover_all(folder)

    def _is_anew(self, folder: str) -> bool:
        """Whether it keeps its names, or the kernel takes no overlay over it.

        A layer would lie in the folder itself where the place does, and is not in memory.
        """
        if folder in self.runs or folder in self.closed:
            return True
        if self.is_locked and mounts_below(folder, self.mounted):
            return True
        is_asked = any(folder == each or is_below(folder, each) for each in self.asked)
        around = self.own if is_asked else (self.memory,)
        return any(is_below(each, folder) for each in around) and self._holds_layers(folder)

    def _holds_layers(self, folder: str) -> bool:
        return any(
            mount_of(each, self.mounted) == mount_of(folder, self.mounted)
            for each in (*self.own, self.memory)
            if is_below(each, folder)
        )

    def _cover_all(self, folder: str) -> None:
        self.found.over.add(folder)
        points = (each.point for each in mounts_below(folder, self.mounted))
        for path in sorted({*self.closed, *self.asked, *self.runs, *points}):
            seen_to = self.found.unseen.keys() | self.found.anew.keys() | self.found.over
            is_done = any(is_below(path, each) for each in seen_to if is_below(each, folder))
            if is_below(path, folder) and path not in seen_to and not is_done:
                self.cover(path)

    def _is_covered(self, mount: Mounted) -> bool:
        """Whether a mount gets a cover; what is seen of one that gets none is noted."""
        found, point = self.found, mount.point
        if not os.path.isdir(point):  # noqa: PTH112 - of a text
            if _is_harmless(point):
                found.shown.add(point)
            else:
                found.unseen[point] = "no regular file"
        elif mount.kind in _OF_THE_KERNEL:
            found.unseen[point] = mount.kind
        elif mount.kind in _WITHOUT_SOCKETS:
            found.shown.add(point)
        else:
            if mount.kind not in _COVERED:
                found.doubtful.add(point)
            return True
        return False

    def _make_anew(self, folder: str) -> None:
        self.found.anew[folder] = []
        if folder in self.runs:
            return
        with os.scandir(folder) as entries:
            beside = [entry for entry in entries if entry.path not in self.own]
        if is_kept := self.closed.get(folder):
            beside = [entry for entry in beside if is_kept(entry.name)]
        folders = [entry.path for entry in beside if entry.is_dir(follow_symlinks=False)]
        if len(folders) > _MOST_BESIDE:
            del self.found.anew[folder]
            self.found.crowded.add(folder)
            is_locked = self.is_locked and mounts_below(folder, self.mounted)
            if is_locked or is_below(self.memory, folder):
                self.found.doubtful.add(folder)
            self._cover_all(folder)
            return
        others = [entry for entry in beside if not entry.is_dir(follow_symlinks=False)]
        self.found.anew[folder] = others
        for path in folders:
            self.cover(path)


def _is_harmless(path: str) -> bool:
    """Whether what is mounted on a file is a file, or a device that leads nowhere."""
    try:
        found = os.stat(path)  # noqa: PTH116 - of a text
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) or (
        stat.S_ISCHR(found.st_mode) and found.st_rdev in _HARMLESS
    )
