"""The plan of a cell: layers are made in the place, and steps say how they are put over theirs."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from httpdyno.foreign_path import real_path
from httpdyno.foreign_text import read_regular
from httpdyno.servers.adapter import Place
from httpdyno.servers.cell.cover import Covers, covers, is_below, mounts_below
from httpdyno.servers.cell.door import address, leads_to, real_parent
from httpdyno.servers.cell.host import mount_of, mounts, pid_files, sockets
from httpdyno.servers.cell.layer import Layers, is_small
from httpdyno.servers.cell.step import Step
from httpdyno.servers.cell.wish import ALWAYS_WRITTEN, SHARED_MEMORY, CellWish
from httpdyno.servers.root_folder import is_own_folder
from httpdyno.servers.user_namespace import is_root_of_the_machine

FOLDER = ".cell"
"""In the place, on disk and in memory."""
_IN_MEMORY = ("tmpfs", "ramfs")
_EMPTY_FOR_USERS = ("/tmp", "/var/tmp")  # noqa: S108 - what is in there is nothing of a site's


@dataclass(kw_only=True, slots=True)
class Plan:
    """How a cell is made. The layers are there, nothing is mounted."""

    steps: list[Step] = field(default_factory=list)
    written: dict[str, Path] = field(default_factory=dict)
    """Folder of theirs → the layer that has what the copy writes there."""
    logs: set[str] = field(default_factory=set)
    """Files of theirs that are empty at first."""
    hidden: set[str] = field(default_factory=set)
    """Files of theirs that are as if they were not there."""
    notices: list[str] = field(default_factory=list)
    """What of the host is not in the cell, though it was to be."""


def planned(place: Place, wish: CellWish) -> Plan:
    """Make the layers of a cell in its place and return how it is made.

    Raises:
        CannotError: A wish cannot be had.
        OSError: The layers cannot be made.
    """
    return _Planner(place, wish).plan()


class _Planner:
    def __init__(self, place: Place, wish: CellWish) -> None:
        self._place = place
        self._wish = wish
        self._mounted = mounts()
        self._is_root = is_root_of_the_machine()
        self._written = tuple(dict.fromkeys(map(str, (place.folder, place.memory_folder))))
        # What was made once for a run is read by all starts, and written by none.
        self._own = (*self._written, *([str(place.shared)] if place.shared else ()))
        self._layers: dict[str, Layers] = {}
        self._holds: list[Step] = []
        self._rights = {real_path(path): rights for path, rights in wish.rights.items()}
        self._plan = Plan()

    def plan(self) -> Plan:
        wish, plan = self._wish, self._plan
        found = covers(
            (*ALWAYS_WRITTEN, *wish.writes),
            self._mounted,
            self._own,
            with_beside=self._is_root,
            is_filled=self._is_filled,
        )
        doors = [(address(door.to), leads_to(door)) for door in wish.doors]
        files = {real_path(path): text for path, text in self._files(doors).items()}
        # A folder with placed files is seen through a layer, in which opening a file costs half as
        # much again; so nothing is placed that stands there already.
        files = {path: text for path, text in files.items() if not _stands(path, text)}
        closed = {path: folder for path in files if (folder := _closed_above(path))}
        closed = {path: to for path, to in closed.items() if to not in {*found.over, *found.anew}}
        for path, folder in closed.items():
            self._of(folder).place(path, files.pop(path), self._rights.get(path))
        missing = self._missing(found)
        roots = self._placed(files, missing, found)
        over = {target: self._covered(target, found) for target in (*found.over, *found.anew)}
        over |= {root: self._shown_with_files(root) for root in roots}
        over |= {folder: self._made(folder) for folder in missing}
        # Over what its user may not look into there is no overlay, and nothing in it to be seen.
        over |= {
            folder: ("bind", self._hold(str(self._of(folder).placed)), folder)
            for folder in closed.values()
        }
        for point in self._seen_again(found, roots) - files.keys():
            over[point] = ("bind", self._hold(point, "seek"), point)
        plan.steps += [("keep", path) for path in self._written]
        own = [("bind", self._hold(path), path) for path in self._own]
        logs = self._logs(found)
        shared = self._shared_memory()
        bound = [("bind", self._hold(source), to) for to, source in doors]
        plan.steps += [*self._holds, ("freeze",)]
        plan.steps += [over[path] for path in sorted(over)]
        plan.steps += [*logs, *shared, *own, *self._out_of_sight(found, {to for to, _ in doors})]
        plan.steps += bound
        plan.steps += [("sysctl", *pair) for pair in wish.sysctls.items()]
        plan.steps.append(("forbid",))
        return plan

    def _files(self, doors: Iterable[tuple[str, str]]) -> dict[str, bytes]:
        """Return what is placed; a door needs a file that the socket can be put on."""
        missing = {to: b"" for to, _ in doors if not os.path.lexists(to)}
        return {**missing, **self._wish.hidden_files, **self._wish.files}

    def _missing(self, found: Covers) -> list[str]:
        """Return the folders that are to be written and are not there, the outermost of them."""
        paths = {real_path(path) for path in self._wish.writes}
        missing = [p for p in paths if not os.path.lexists(p) and not found.owner(p)]
        return [p for p in missing if not any(is_below(p, above) for above in missing)]

    def _made(self, folder: str) -> Step:
        """Return how a folder that is not there comes to be, for the copy to write in."""
        layers = self._of(folder)
        layers.make()
        self._plan.written[folder] = layers.upper
        return ("bind", self._hold(str(layers.upper)), folder)

    def _placed(
        self, files: Mapping[str, bytes], folders: Iterable[str], found: Covers
    ) -> list[str]:
        """Put files and folders into layers; return what is covered for them alone."""
        paths = (*files, *folders)
        owners = {path: found.owner(path) or _nearest_folder(path) for path in paths}
        only_read = {each for each in owners.values() if each not in found.over | found.anew.keys()}
        roots = [
            root
            for root in only_read
            if not any(
                is_below(root, above)
                and mount_of(root, self._mounted) == mount_of(above, self._mounted)
                for above in only_read
            )
        ]
        for path, owner in owners.items():
            is_inner = owner in only_read and owner not in roots
            outer = max((r for r in roots if is_below(owner, r)), key=len) if is_inner else owner
            if path in files:
                self._of(outer).place(path, files[path], self._rights.get(path))
            else:
                self._of(outer).place_folder(path)
        return roots

    def _covered(self, target: str, found: Covers) -> Step:
        """Return how a folder becomes one that can be written."""
        layers = self._of(target)
        layers.make()
        self._plan.written[target] = layers.upper
        lowers = []
        if target in found.anew:
            layers.place_folder(target)
            for entry in found.anew[target]:
                layers.copy(entry)
        elif layers.is_filled:
            self._fill(layers)
        else:
            lowers.append(self._hold(target, "seek"))
        if not lowers:
            self._place_points(layers, found)
        if layers.placed.exists():
            lowers.insert(0, self._hold(str(layers.placed)))
        upper, work = (self._hold(str(path)) for path in (layers.upper, layers.work))
        return ("overlay", target, upper, work, *lowers)

    def _fill(self, layers: Layers) -> None:
        """Copy a folder of others, whose owners mean nothing to this user's overlays."""
        if layers.target in _EMPTY_FOR_USERS:
            layers.place_folder(layers.target)
        else:
            layers.fill(with_files=layers.target not in ALWAYS_WRITTEN)

    def _place_points(self, layers: Layers, found: Covers) -> None:
        """Make what is mounted on later, the outermost of it."""
        target = layers.target
        inside = {
            each
            for each in (*self._own, *found.over, *found.anew, *found.shown)
            if is_below(each, target)
        }
        for path in inside:
            if any(is_below(path, each) for each in inside):
                continue
            if os.path.isdir(path):  # noqa: PTH112 - of a text
                layers.place_folder(path)
            else:
                layers.place(path, b"")

    def _shown_with_files(self, root: str) -> Step:
        placed = str(self._of(root).placed)
        return ("overlay", root, "", "", self._hold(placed), self._hold(root))

    def _seen_again(self, found: Covers, roots: Iterable[str]) -> set[str]:
        """Return the mounts that an overlay would hide."""
        below = {each.point for root in roots for each in mounts_below(root, self._mounted)}
        return (below | found.shown) - found.over - found.anew.keys() - set(roots)

    def _logs(self, found: Covers) -> list[Step]:
        """Return how logs are written past their overlay, which costs half as much again.

        The first line would also cost a copy of all that stands in the log.
        """
        steps: list[Step] = []
        for path in sorted({real_path(each) for each in self._wish.logs}):
            owner = found.owner(path)
            is_shown = any(is_below(path, each) for each in found.shown)
            if owner and not is_shown and os.path.isfile(path):  # noqa: PTH113 - of a text
                self._plan.logs.add(path)
                steps.append(("bind", self._hold(str(self._of(owner).empty(path))), path))
        return steps

    def _shared_memory(self) -> list[Step]:
        if not Path(SHARED_MEMORY).is_dir():
            return []
        folder = self._place.memory_folder / FOLDER / "shared"
        folder.mkdir(parents=True)
        folder.chmod(0o1777)
        for path in (each for each in self._own if is_below(each, SHARED_MEMORY)):
            (folder / Path(path).relative_to(SHARED_MEMORY)).mkdir(parents=True)
        self._plan.written[SHARED_MEMORY] = folder
        return [("bind", self._hold(str(folder)), SHARED_MEMORY)]

    def _out_of_sight(self, found: Covers, doors: set[str]) -> list[Step]:
        """Return how sockets and pid files of theirs are hidden: both would reach processes."""
        steps: list[Step] = []
        for path in (*sockets(), *pid_files()):
            real = real_parent(path)
            if real in doors or any(is_below(real, each) for each in (*self._own, SHARED_MEMORY)):
                continue
            if found.owner(real):
                self._plan.hidden.add(real)
                steps.append(("unlink", real))
            else:
                steps.append(("mask", real))
        return steps

    def _of(self, target: str) -> Layers:
        if target not in self._layers:
            folder = self._layers_in(target) / FOLDER / f"{len(self._layers):03}"
            is_filled = self._is_filled(target)
            if not (self._is_root or is_filled or is_own_folder(Path(target))):
                words = f"{target} belongs to others: written as far as this user may"
                self._plan.notices.append(words)
            self._layers[target] = Layers(target=target, folder=folder, is_filled=is_filled)
        return self._layers[target]

    def _is_filled(self, target: str) -> bool:
        """Whether a folder is copied: one of others, for a user who is to write all over it.

        One that is too large is covered as it is, and written as far as that user may.
        """
        if self._is_root or is_own_folder(Path(target)):
            return False
        return target in ALWAYS_WRITTEN or is_small(target)

    def _layers_in(self, target: str) -> Path:
        """Return where layers cost what theirs cost: on a disk, or in memory."""
        place, memory = self._place.folder, self._place.memory_folder
        is_in_memory = mount_of(target, self._mounted).kind in _IN_MEMORY
        is_possible = mount_of(str(place), self._mounted).takes_layers
        return memory if is_in_memory or not is_possible else place

    def _hold(self, path: str, verb: str = "hold") -> str:
        step = (verb, str(len(self._holds)), path)
        self._holds.append(step)
        return f"@{step[1]}"


def _stands(path: str, text: bytes) -> bool:
    """Whether a file has this content, as far as it may be read."""
    try:
        return read_regular(path, limit_bytes=len(text)) == text
    except OSError:
        return False


def _closed_above(path: str) -> str:
    """Return the outermost folder on the way to a file that this user may not look into."""
    for folder in reversed(PurePosixPath(path).parents):
        if not os.access(folder, os.X_OK):
            return str(folder) if os.path.isdir(folder) else ""  # noqa: PTH112
    return ""


def _nearest_folder(path: str) -> str:
    folder = os.path.dirname(path)  # noqa: PTH120 - of a text
    while not os.path.isdir(folder):  # noqa: PTH112
        folder = os.path.dirname(folder)  # noqa: PTH120
    return folder
