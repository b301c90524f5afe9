"""Which folders of theirs get layers over them, so that a copy can write there. Pure but for looks.

A folder that is written is covered by an overlay, and so is each mount in it. Where the copy's own
place is inside of it, the kernel takes no overlay, since a layer would lie in another: then the
folder is made anew, and each folder in it is covered by itself.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from httpdyno.servers.cell.host import Mounted, mount_of

_OF_THE_KERNEL = (
    *("proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue", "debugfs", "tracefs"),
    *("securityfs", "bpf", "nsfs", "fusectl", "autofs", "binfmt_misc", "configfs", "pstore"),
)
_NOT_COVERED = ("/proc", "/sys", "/dev")
_WRITTEN_BESIDE, _SHOWN_BESIDE = 64, 640
"""Folders beside the place: of more than so many none can be written, or none is seen at all. Each
is a mount of its own, and a file that the holder has open meanwhile."""


@dataclass(kw_only=True, slots=True)
class Covers:
    """What is covered, each path without links on the way."""

    over: set[str] = field(default_factory=set)
    """Folders that an overlay over theirs makes writable."""
    anew: dict[str, list["os.DirEntry[str]"]] = field(default_factory=dict)
    """Folders that are made anew → what else is shown in them."""
    shown: set[str] = field(default_factory=set)
    """Mounts in covered folders that are shown as they are."""
    beside: set[str] = field(default_factory=set)
    """Folders that are covered for being beside the place only."""

    def owner(self, path: str) -> str:
        """Return the nearest covered folder that a path is in; empty where none is.

        What is shown as it is in a covered folder is not covered.
        """
        found = [each for each in (*self.over, *self.anew, *self.shown) if is_below(path, each)]
        nearest = max(found, key=len, default="")
        return "" if nearest in self.shown else nearest


def covers(
    writes: Iterable[str],
    mounted: Mapping[str, Mounted],
    own: tuple[str, ...],
    *,
    with_beside: bool = True,
    is_filled: Callable[[str], bool] = lambda _: False,
) -> Covers:
    """Return what has to be covered so that these folders can be written.

    Args:
        writes: Folders; those that are not there are left out.
        mounted: All mounts, by their points.
        own: The folders of the copy's place.
        with_beside: Whether folders beside the place can be written too, or are only shown.
        is_filled: Whether a folder's layer is a copy of it, which is its user's own all over. In a
            folder of which that cannot be said it keeps a layer to itself.
    """
    found = Covers()
    for path in writes:
        real = os.path.realpath(path)
        is_left_out = any(each == real or is_below(real, each) for each in (*_NOT_COVERED, *own))
        if os.path.isdir(real) and not is_left_out:  # noqa: PTH112 - of a text
            _cover(real, found, mounted, own)
    if not with_beside:
        found.shown |= found.beside - {os.path.realpath(path) for path in writes}
        found.over -= found.shown
    for path in sorted(found.over):
        above = Covers(over=found.over - {path}, anew=found.anew).owner(path)
        is_more = above in found.over and is_filled(path) and not is_filled(above)
        is_of_it = above in found.over and mount_of(path, mounted) == mount_of(above, mounted)
        if is_of_it and not is_more:
            found.over.discard(path)
    return found


def is_below(path: str, folder: str) -> bool:
    """Whether a path is inside of a folder, and not the folder itself."""
    return path != folder and path.startswith(folder if folder == "/" else f"{folder}/")


def mounts_below(folder: str, mounted: Mapping[str, Mounted]) -> list[Mounted]:
    """Return the mounts inside of a folder, outer ones first."""
    return sorted((m for m in mounted.values() if is_below(m.point, folder)), key=lambda m: m.point)


def _cover(
    folder: str, found: Covers, mounted: Mapping[str, Mounted], own: tuple[str, ...]
) -> None:
    if any(is_below(each, folder) for each in own):
        _make_anew(folder, found, mounted, own)
        return
    found.over.add(folder)
    for each in mounts_below(folder, mounted):
        is_folder = os.path.isdir(each.point)  # noqa: PTH112
        if is_folder and not each.kind.startswith((*_OF_THE_KERNEL, "fuse")):
            found.over.add(each.point)
        else:
            found.shown.add(each.point)


def _make_anew(
    folder: str, found: Covers, mounted: Mapping[str, Mounted], own: tuple[str, ...]
) -> None:
    found.anew[folder] = []
    # Folders of runs hold nothing but other copies.
    runs = {os.path.dirname(each) for each in own}  # noqa: PTH120
    runs |= {os.path.dirname(each) for each in runs}  # noqa: PTH120
    with os.scandir(folder) as entries:
        beside = [entry for entry in entries if entry.path not in own]
    for entry in beside:
        if any(is_below(each, entry.path) for each in own):
            _make_anew(entry.path, found, mounted, own)
    beside = [entry for entry in beside if entry.path not in found.anew]
    if folder in runs:
        return
    found.anew[folder] = [entry for entry in beside if not entry.is_dir(follow_symlinks=False)]
    folders = [entry.path for entry in beside if entry.is_dir(follow_symlinks=False)]
    if len(folders) > _WRITTEN_BESIDE:
        found.shown.update(folders if len(folders) <= _SHOWN_BESIDE else ())
        return
    for path in folders:
        found.beside.add(path)
        _cover(path, found, mounted, own)
