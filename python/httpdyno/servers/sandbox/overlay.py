"""How each folder of theirs is seen in a sandbox: through an overlay, and rarely as it is.

What is seen through an overlay can be written there, and no socket or FIFO in it leads anywhere: to
the kernel each is another file than theirs, also one that comes to be later. So that is how all of
the tree is seen. Each mount has a cover of its own, since that of what is around does not show it.
Where the copy's own place is inside of a folder, the kernel takes no overlay, since a layer would
lie in another: then the folder is made anew, and each folder in it is covered by itself. So is one
whose names are to stay as they were: a configuration includes files of it by wildcards, and what is
added later is not to be seen.

Opening a file through an overlay takes 2.7 µs in place of 1.7. So document roots that are safe are
shown as they are. A read-only mount keeps nobody from connecting to a socket in it, or from writing
into a FIFO: so there must be none, and nobody but root may be able to make one (`is_safe`). What
root itself binds there, or makes in `/`, while a copy runs would be reached: neither is a place for
a service.

Layers are in memory, where a mount takes a tenth of the time of one on ext4. Folders that the site
is known to write in have theirs on disk, so that writes cost what the site's cost. A smoke test has
all on disk.
"""

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath

from httpdyno.servers.sandbox.mount import unescaped

_UNIX = Path("/proc/net/unix")
_PID_FILES_UNDER = Path("/run")
_PID_FILE_DEPTH = 3
_NO_UPPER_LAYER = ("overlay", "nfs", "cifs", "smb", "fuse", "9p", "virtiofs", "vfat", "ecryptfs")
"""File systems that the kernel does not let an overlay write on, or not well."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mounted:
    """One mount, the last of its point."""

    point: str
    kind: str
    """The kind of file system."""

    @property
    def takes_layers(self) -> bool:
        """Whether it can hold what an overlay writes."""
        return not self.kind.startswith(_NO_UPPER_LAYER)


def mounts() -> dict[str, Mounted]:
    """Return what is mounted: mount point → which."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        left, _, right = line.partition(b" - ")
        point = unescaped(left.split()[4])
        found[point] = Mounted(point=point, kind=os.fsdecode(right.split()[0]))
    return found


def mount_of(path: str, mounted: Mapping[str, Mounted]) -> Mounted:
    """Return the mount that a path, without links, is in."""
    while path not in mounted and path != "/":
        path = os.path.dirname(path)  # noqa: PTH120 - of a text
    return mounted.get(path, Mounted(point="/", kind="unknown"))


def sockets() -> list[str]:
    """Return the paths that somebody is bound to, as they were given: processes of this network."""
    with suppress(OSError):
        lines = _UNIX.read_text(encoding="utf-8", errors="surrogateescape").splitlines()[1:]
        paths = [line.split(maxsplit=7)[7] for line in lines if line.count(" /")]
        return sorted({path for path in paths if path.startswith("/")})
    return []


def pid_files(folders: Iterable[str] = ()) -> Iterator[str]:
    """Yield the files that say which process runs; a copy would take that for itself.

    Args:
        folders: Where a server is known to write, besides `/run`.
    """
    waiting = [(_PID_FILES_UNDER, 1), *((Path(each), _PID_FILE_DEPTH) for each in folders)]
    while waiting:
        folder, depth = waiting.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and depth < _PID_FILE_DEPTH:
                    waiting.append((Path(entry.path), depth + 1))
                elif entry.name.endswith(".pid"):
                    yield entry.path


_MOST_ENTRIES, _MOST_FOLDERS = 4096, 256
"""A look at so many takes about as long as a mount more; of larger ones nothing is known."""
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
_RULES = ("system.posix_acl_access", "system.posix_acl_default")


def is_safe(folder: str) -> bool:
    """Whether only root can make anything in a folder, below it or on the way to it.

    And whether nothing is there but files, folders and links.
    """
    if not all(_is_roots(str(each)) for each in (*PurePosixPath(folder).parents, folder)):
        return False
    waiting, n_folders, n_left = [folder], 0, _MOST_ENTRIES
    try:
        while waiting:
            n_folders += 1
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    n_left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        if not _is_roots(entry.path):
                            return False
                        waiting.append(entry.path)
                    elif not (entry.is_file(follow_symlinks=False) or entry.is_symlink()):
                        return False
                    if n_left < 0 or n_folders > _MOST_FOLDERS:
                        return False
    except OSError:
        return False
    return True


def give_rules(folder: str, layer: Path) -> None:
    """Give a layer the access rules of the folder that it is put over, beyond owner and mode."""
    for name in _RULES:
        with suppress(OSError):  # most have none, and some file systems know none
            os.setxattr(layer, name, os.getxattr(folder, name))


def _is_roots(folder: str) -> bool:
    """Whether root alone may write in a folder."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    if found.st_uid != 0 or found.st_mode & _OTHERS_MAY_WRITE or not stat.S_ISDIR(found.st_mode):
        return False
    try:
        os.getxattr(folder, _RULES[0])
    except OSError:
        return True
    return False


_MAGIC = re.compile(r"[*?\[]")
_ALL_NAMES = "*"
_DEEPEST = 16

Closed = dict[str, Callable[[str], bool]]
"""Folder, without links on the way → whether one of its names is shown."""


def closed_folders(patterns: Iterable[str], files: Iterable[str]) -> Closed:
    """Return the folders that keep their names.

    Args:
        patterns: Absolute; one that ends in `/` stands for all below it.
        files: What they were found to include, as it is opened.
    """
    known = set(files)
    above = {each for path in known for each in _folders_above(path)}
    parts: dict[str, dict[str, set[str]]] = {}
    for pattern in patterns:
        for folder, part in _wild(pattern, above):
            parts.setdefault(os.path.realpath(folder), {}).setdefault(folder, set()).add(part)
    return {
        real: _name_keeper(opened, known | above)
        for real, opened in parts.items()
        if os.path.isdir(real)  # noqa: PTH112 - of a text
    }


def _name_keeper(opened: dict[str, set[str]], known: set[str]) -> Callable[[str], bool]:
    """Return whether a name is shown: it is known, or no pattern has it, by any way to it."""
    likes = [
        (folder.rstrip("/"), [re.compile(translate(part.replace("[^", "[!"))) for part in parts])
        for folder, parts in opened.items()
    ]

    def is_kept(name: str) -> bool:
        return all(
            f"{folder}/{name}" in known or not any(like.match(name) for like in each)
            for folder, each in likes
        )

    return is_kept


def _wild(pattern: str, above: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each folder in which names are matched, and by what."""
    if pattern.endswith("/"):
        yield from _all_below(pattern.rstrip("/") or "/", above, _DEEPEST)
        return
    found = [""]
    parts = pattern.split("/")[1:]
    for n, part in enumerate(parts):
        if not _MAGIC.search(part):
            found = [f"{path}/{part}" for path in found]
            continue
        for path in found:
            yield path or "/", part
        like = re.compile(translate(part.replace("[^", "[!"))).match
        inner = [
            each
            for each in sorted(above)
            if os.path.dirname(each) in {path or "/" for path in found}  # noqa: PTH120
            and like(os.path.basename(each))  # noqa: PTH119
        ]
        if n == len(parts) - 1:
            for each in inner:
                yield from _all_below(each, above, _DEEPEST)
        found = inner


def _all_below(folder: str, above: set[str], depth: int) -> Iterator[tuple[str, str]]:
    """Yield a folder that is included as a whole, and those in it that something was read of."""
    yield folder, _ALL_NAMES
    if depth:
        for each in sorted(above):
            if os.path.dirname(each) == folder and each != folder:  # noqa: PTH120
                yield from _all_below(each, above, depth - 1)


def _folders_above(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) not in {"", "/"}:  # noqa: PTH120
        yield path


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
    unseen: set[str] = field(default_factory=set)
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
            seen_to = self.found.unseen | self.found.anew.keys() | self.found.over
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
                found.unseen.add(point)
        elif mount.kind in _OF_THE_KERNEL:
            found.unseen.add(point)
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
