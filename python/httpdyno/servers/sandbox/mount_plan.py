"""The mount plan of a sandbox: layers in its place, and steps that put them over theirs."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from httpdyno.host.foreign_files import read_regular, real_paths
from httpdyno.host.own_files import is_own_folder
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.model import Door
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import Place
from httpdyno.servers.sandbox.holder import Step
from httpdyno.servers.sandbox.layer import Layers, is_small
from httpdyno.servers.sandbox.overlay import (
    Covers,
    closed_folders,
    covers,
    give_rules,
    is_below,
    is_safe,
    mount_of,
    mounts,
    mounts_below,
    pid_files,
    sockets,
    top_folders,
)
from httpdyno.servers.sandbox.sandbox import ALWAYS_WRITTEN, SHARED_MEMORY, CellWish

_UNIX = "unix:"


class CannotError(Exception):
    """What is asked of a cell cannot be."""

    def __init__(self, why: Reason) -> None:
        super().__init__(str(why))
        self.why = why


def real_parent(path: str) -> str:
    """Return a path without links on the way to it; it may be one itself."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118


def address(text: str) -> str:
    """Return the path that a door is at.

    Raises:
        CannotError: It is no unix socket's.
    """
    if not text.startswith(f"{_UNIX}/"):
        raise CannotError(because("sandbox.no_such_door", to=text))
    return real_parent(text.removeprefix(_UNIX))


def leads_to(door: Door) -> str:
    """Return the socket that a door leads to.

    Raises:
        CannotError: There is none.
    """
    source = os.path.realpath(address(door.through or door.to))
    try:
        is_socket = stat.S_ISSOCK(os.stat(source).st_mode)  # noqa: PTH116
    except OSError as error:
        why = because("sandbox.door_not_there", source=source, error=error.strerror)
        raise CannotError(why) from error
    if not is_socket:
        raise CannotError(because("sandbox.door_is_no_socket", source=source))
    return source


FOLDER = ".cell"
"""In the place, on disk and in memory."""
_IN_MEMORY = ("tmpfs", "ramfs")
_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_MOST_BOUND = 64
"""Of files beside those of a configuration; where there are more they are copied, if small."""
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
        folders = (place.copy_folder, place.copy_memory_folder)
        self._written = tuple(dict.fromkeys(map(str, folders)))
        # What was made once for a run is read by all starts, and written by none.
        self._own = (*self._written, *([str(place.shared)] if place.shared else ()))
        self._asked = [os.path.realpath(path) for path in (*ALWAYS_WRITTEN, *wish.writes)]
        self._on_disk = [*self._asked, *(() if wish.is_known else top_folders())]
        # Of what runs are in only the way to the copy's own folders is seen.
        runs = (place.folder.parent.parent, place.memory_folder.parent.parent)
        self._runs = frozenset(map(str, runs))
        self._layers: dict[str, Layers] = {}
        self._found = Covers()
        self._holds: list[Step] = []
        real = real_paths(wish.rights)
        self._rights = {real[path]: rights for path, rights in wish.rights.items()}
        self._bound: list[Step] = []
        """Files that are seen as they are in folders that are made anew."""
        self._plan = Plan()

    def plan(self) -> Plan:
        wish, plan = self._wish, self._plan
        doors = [(address(door.to), leads_to(door)) for door in wish.doors]
        texts = self._files(doors)
        files = {real: texts[path] for path, real in real_paths(texts).items()}
        found = self._found = self._covers(files)
        # What stands there already needs no place, unless its folder is made anew.
        files = {
            path: text
            for path, text in files.items()
            if os.path.dirname(path) in found.anew or not _stands(path, text)  # noqa: PTH120
        }
        apart = {path: folder for path in files if (folder := self._closed_above(path))}
        for path, folder in apart.items():
            self._of(folder).place(path, files.pop(path), self._rights.get(path))
        missing = self._missing()
        owners = self._owners(files)
        for path, text in files.items():
            self._of(owners[path]).place(path, text, self._rights.get(path))
        for path in missing:
            self._of(self._owner(path)).place_folder(path)
        over = {target: self._covered(target) for target in (*found.over, *found.anew)}
        over |= {folder: self._made(folder) for folder in missing}
        # Over what its user may not look into there is no overlay, and nothing in it to be seen.
        over |= {
            folder: ("bind", self._hold(str(self._of(folder).placed)), folder)
            for folder in apart.values()
        }
        for point in found.shown - over.keys():
            over[point] = ("bind", self._hold(point, "seek"), point)
        over |= self._emptied()
        kept = dict.fromkeys(map(str, (self._place.folder, self._place.memory_folder)))
        plan.steps += [("keep", path) for path in kept]  # layers are in there
        own = [("bind", self._hold(path), path) for path in self._own]
        logs = self._logs()
        shared = self._shared_memory()
        bound = [("bind", self._hold(source), to) for to, source in doors]
        plan.steps += [*self._holds, ("freeze",)]
        plan.steps += [over[path] for path in sorted(over)]
        plan.steps += [*self._bound, *logs, *shared, *own]
        plan.steps += [*self._out_of_sight({to for to, _ in doors}), *bound]
        plan.steps += [("sysctl", *pair) for pair in wish.sysctls.items()]
        plan.steps.append(("forbid",))
        if not self._is_root:
            for layers in self._layers.values():
                _lessen(layers)
        return plan

    def _covers(self, files: Iterable[str]) -> Covers:
        """Return how all is seen; what of the host is not seen is noted."""
        closed = closed_folders(self._wish.patterns, self._wish.files)
        found = covers(
            top_folders(),
            self._mounted,
            self._own,
            asked=self._on_disk,
            closed=closed,
            is_filled=self._is_filled,
            is_hidden=self._is_hidden,
            is_locked=not self._is_root,
            memory=str(self._place.memory_folder),
            runs=self._runs,
        )
        # Who opens files at each request pays for an overlay; what is safe without one has none.
        kept = (*files, *self._asked, *closed, *self._own)
        for folder in self._wish.served:
            real = os.path.realpath(folder)
            inside = (*kept, *(each.point for each in mounts_below(real, self._mounted)))
            is_needed = any(path == real or is_below(path, real) for path in inside)
            if found.owner(real + "/.") and not is_needed and is_safe(real):
                found.over.discard(real)
                found.shown.add(real)
        return found

    def _is_hidden(self, folder: str) -> bool:
        return not (self._is_root or os.access(folder, os.X_OK))

    def _closed_above(self, path: str) -> str:
        """Return the outermost folder on the way to a file that this user may not look into."""
        if self._is_root:
            return ""
        folders = [str(each) for each in reversed(PurePosixPath(path).parents)]
        return next((f for f in folders if os.path.isdir(f) and self._is_hidden(f)), "")  # noqa: PTH112

    def _owner(self, path: str) -> str:
        """Return the folder in whose layers a path is put.

        Raises:
            CannotError: It is in none.
        """
        if owner := self._found.owner(path):
            return owner
        raise CannotError(because("sandbox.no_layer_there", path=path))

    def _owners(self, files: Iterable[str]) -> dict[str, str]:
        """Return `_owner` of each: those of a folder have one, but for what is covered itself."""
        found: dict[str, str] = {}
        folders: dict[str, str] = {}
        for path in files:
            folder = os.path.dirname(path)  # noqa: PTH120 - of a text
            if path in self._found.shown:
                found[path] = self._owner(path)
            else:
                found[path] = folders.get(folder) or folders.setdefault(folder, self._owner(path))
        return found

    def _files(self, doors: Iterable[tuple[str, str]]) -> dict[str, bytes]:
        """Return what is placed; a door needs a file that the socket can be put on."""
        missing = {to: b"" for to, _ in doors if not os.path.lexists(to)}
        return {**missing, **self._wish.hidden_files, **self._wish.files}

    def _missing(self) -> list[str]:
        """Return the folders that are to be written and are not there, the outermost of them."""
        missing = [path for path in self._asked if not os.path.lexists(path)]
        missing = [path for path in missing if path not in ALWAYS_WRITTEN]
        return [p for p in missing if not any(is_below(p, above) for above in missing)]

    def _made(self, folder: str) -> Step:
        """Return how a folder that is not there comes to be, for the copy to write in."""
        layers = self._of(folder)
        layers.make()
        self._plan.written[folder] = layers.upper
        return ("bind", self._hold(str(layers.upper)), folder)

    def _emptied(self) -> dict[str, Step]:
        """Return how what stands in `/` and is not to be seen is hidden."""
        steps: dict[str, Step] = {}
        with os.scandir("/") as entries:
            for entry in entries:
                is_plain = entry.is_symlink() or entry.is_dir() or entry.is_file()
                if not is_plain and not entry.path.startswith(("/proc", "/sys", "/dev")):
                    steps[entry.path] = ("mask", entry.path)
        for path in self._found.unseen:
            if os.path.dirname(path) == "/":  # noqa: PTH120 - of a text
                steps[path] = self._made(path) if os.path.isdir(path) else ("mask", path)  # noqa: PTH112
        return steps

    def _covered(self, target: str) -> Step:
        """Return how a folder becomes one that can be written."""
        found, layers = self._found, self._of(target)
        layers.make()
        give_rules(target, layers.upper)
        self._plan.written[target] = layers.upper
        lowers = []
        if target in found.anew:
            layers.place_folder(target)
            self._show_beside(target, layers)
        elif layers.is_filled:
            self._fill(layers)
        else:
            lowers.append(self._hold(target, "seek"))
        if not lowers:
            self._place_points(layers)
        if layers.placed.exists():
            lowers.insert(0, self._hold(str(layers.placed)))
        upper, work = (self._hold(str(path)) for path in (layers.upper, layers.work))
        verb = "attempt" if target in found.doubtful else "overlay"
        return (verb, target, upper, work, *lowers)

    def _show_beside(self, target: str, layers: Layers) -> None:
        """Show what is no folder in one that is made anew."""
        entries = self._found.anew[target]
        is_around_place = any(is_below(each, target) for each in self._own)
        for entry in entries:
            is_file = entry.is_file(follow_symlinks=False)
            if is_around_place or not is_file or len(entries) > _MOST_BOUND:
                layers.copy(entry)
            elif not os.path.lexists(layers.placed / entry.name):
                # Keys are among them, of which there is to be no copy.
                layers.place(entry.path, b"")
                self._bound.append(("bind", self._hold(entry.path, "seek"), entry.path))

    def _fill(self, layers: Layers) -> None:
        """Copy a folder of others, whose owners mean nothing to this user's overlays."""
        if layers.target in _EMPTY_FOR_USERS:
            layers.place_folder(layers.target)
        else:
            layers.fill(with_files=layers.target not in ALWAYS_WRITTEN)

    def _place_points(self, layers: Layers) -> None:
        """Make what is mounted on later, the outermost of it."""
        found, target = self._found, layers.target
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

    def _logs(self) -> list[Step]:
        """Return how logs are written past their overlay, which costs half as much again.

        The first line would also cost a copy of all that stands in the log.
        """
        steps: list[Step] = []
        for path in sorted({*real_paths(self._wish.logs).values()}):
            owner = self._found.owner(path)
            if owner and os.path.isfile(path):  # noqa: PTH113 - of a text
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

    def _out_of_sight(self, doors: set[str]) -> list[Step]:
        """Return how pid files of theirs are hidden, and sockets, which would be in the copy's way.

        A pid file would reach a process. A socket leads nowhere through an overlay, but a server
        that is to listen at its path may not find one there.
        """
        steps: list[Step] = []
        for path in (*sockets(), *pid_files(self._wish.writes)):
            real = real_parent(path)
            is_own = any(is_below(real, each) for each in (*self._own, SHARED_MEMORY))
            if real in doors or is_own:
                continue
            if self._found.owner(real):
                self._plan.hidden.add(real)
                steps.append(("unlink", real))
            else:
                steps.append(("mask", real))
        return steps

    def _of(self, target: str) -> Layers:
        if target not in self._layers:
            folder = self._layers_in(target) / FOLDER / f"{len(self._layers):03}"
            is_filled = self._is_filled(target)
            self._layers[target] = Layers(
                target=target,
                folder=folder,
                is_filled=is_filled,
                is_passed=target in self._runs,
            )
        return self._layers[target]

    def _is_filled(self, target: str) -> bool:
        """Whether a folder is copied: one of others, for a user who is to write all over it.

        One that is too large is covered as it is, and written as far as that user may.
        """
        if self._is_root or target not in self._asked or is_own_folder(Path(target)):
            return False
        return target in ALWAYS_WRITTEN or is_small(target)

    def _layers_in(self, target: str) -> Path:
        """Return where the layers are: in memory, where a mount takes a tenth of the time.

        What is asked for costs what theirs costs, on a disk or in memory.
        """
        place, memory = self._place.folder, self._place.memory_folder
        # What others left beside the place, in `/var/tmp`, is nothing that a site writes.
        whole = (each for each in self._on_disk if each not in ALWAYS_WRITTEN)
        is_asked = target in self._on_disk or any(is_below(target, each) for each in whole)
        is_in_memory = mount_of(target, self._mounted).kind in _IN_MEMORY
        is_possible = mount_of(str(place), self._mounted).takes_layers
        is_on_disk = is_asked and is_possible and not is_in_memory
        return place if is_on_disk and target not in self._found.crowded else memory

    def _hold(self, path: str, verb: str = "hold") -> str:
        step = (verb, str(len(self._holds)), path)
        self._holds.append(step)
        return f"@{step[1]}"


def _lessen(layers: Layers) -> None:
    """Let a user write in layers, which are all his own, no more than he may write in theirs."""
    if layers.is_filled:
        return
    for layer in (layers.upper, layers.placed):
        for folder, _, names in os.walk(layer):
            for own in (Path(folder), *(Path(folder, name) for name in names)):
                theirs = os.path.join(layers.target, own.relative_to(layer))  # noqa: PTH118
                if os.path.exists(theirs) and not os.access(theirs, os.W_OK):  # noqa: PTH110
                    own.chmod(own.stat().st_mode & ~_WRITE)


def _stands(path: str, text: bytes) -> bool:
    """Whether a file has this content, as far as it may be read."""
    try:
        if os.stat(path).st_size != len(text):  # noqa: PTH116 - of a text
            return False
        return read_regular(path, limit_bytes=len(text)) == text
    except OSError:
        return False
