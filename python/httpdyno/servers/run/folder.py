"""Where instances live: one folder for each httpdyno process, on disk and in memory.

It is made under roots of the user (`root.py`), with a record in it (`record.py`) that is written
before anything is started, so that the next command finds what a killed httpdyno left behind
(`leftovers.py`).

A copy may write in its folder. Who is root in a copy makes files there that are root's outside as
well. So nothing there is found by its path: folders are held (`held_own`), no link is followed, and
what is written is new.
"""

import atexit
import fcntl
import itertools
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from httpdyno.errors import AdapterError, RevertError
from httpdyno.host.foreign_text import reason
from httpdyno.host.interruption import cleaning
from httpdyno.servers.adapter import Place
from httpdyno.servers.run.leftovers import clear_run, removal_complaint
from httpdyno.servers.run.live_process import process_info
from httpdyno.servers.run.record import begin_record, ownership
from httpdyno.servers.run.root import (
    LOCK,
    ROOT_VARIABLE,
    disk_root,
    drop_if_empty,
    locked_root,
    memory_root_or,
    safe_root,
    unfinished,
)

_PASSABLE = 0o711
_HOLD = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def held_own(top: Path, name: str) -> Iterator[int]:
    """Make a folder where there is none, and hold it.

    Args:
        top: The copy's folder, whose own name nobody else can give to another one.
        name: Of the folder in there.

    Raises:
        OSError: It cannot be made, or a link stands in its place.
    """
    above = os.open(top, _HOLD)
    try:
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=above)
        handle = os.open(name, _HOLD, dir_fd=above)
    finally:
        os.close(above)
    try:
        yield handle
    finally:
        os.close(handle)


def let_through(folder: Path, *, is_apart: bool) -> None:
    """Let other users of a copy go through its folder, to look at nothing.

    Args:
        folder: Of the copy.
        is_apart: Whether it has mounts of its own, in which the way there is open. Outside of them
            that stays closed: a copy may leave programs there that give their owner's rights.

    Raises:
        OSError: It is not there.
    """
    for each in (folder,) if is_apart else (folder, folder.parent):
        handle = os.open(each, _HOLD)
        try:
            os.fchmod(handle, stat.S_IMODE(os.fstat(handle).st_mode) | _PASSABLE)
        finally:
            os.close(handle)


def write_own(path: Path, text: str) -> None:
    """Write a file anew in a folder of `held_own`, whoever put what in its place.

    Raises:
        OSError: It cannot be written, or something took its place again.
    """
    with held_own(path.parent.parent, path.parent.name) as folder:
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        # With `O_EXCL` no link is followed, whoever made it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        handle = os.open(path.name, flags, 0o644, dir_fd=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(handle, 0o644)
        file.write(text)


_ATTEMPTS = 10


class RunRoot:
    """The folders of this process; all places are made in here."""

    def __init__(self, folder: Path, memory_folder: Path, locks: tuple[int, ...]) -> None:
        self.folder = folder
        self.memory_folder = memory_folder
        self._locks = locks
        self.shared: Path | None = None
        """What was made once for all places; they are told."""
        self._numbers = itertools.count(1)
        self._is_released = False
        self._pid = os.getpid()
        # Where a signal comes between whoever releases and its first statement.
        atexit.register(self._release_at_exit)

    def new_place(self, label: str, *, cpus: tuple[int, ...] = ()) -> Place:
        """Return a new place for one instance, on some cores; the label is for people who look."""
        name = f"{next(self._numbers):04d}-{re.sub(r'[^a-zA-Z0-9]+', '-', label)[:40].strip('-')}"
        place = Place(
            folder=self.folder / name,
            memory_folder=self.memory_folder / name,
            cpus=cpus,
            shared=self.shared,
        )
        return made(place)

    def release(self) -> None:
        """End what still runs in here and remove everything; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
        """
        if self._is_released or os.getpid() != self._pid:
            return
        with cleaning():
            _, left = clear_run(self.folder)
            if left:
                raise RevertError(why=left, hint="End it by hand, then run any command again.")
            self._is_released = True
            atexit.unregister(self._release_at_exit)
            for lock in self._locks:
                os.close(lock)
            drop_if_empty(self.memory_folder.parent)

    def _release_at_exit(self) -> None:
        with suppress(RevertError):  # said already, by whoever released before
            self.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def new_run_root() -> RunRoot:
    """Make this process's folders.

    Raises:
        AdapterError: They cannot be made, or would not be safe.
    """
    root, memory_root = disk_root(), memory_root_or(disk_root())
    info = process_info(os.getpid())
    started_ticks = info.started_ticks if info else 0
    name = f"run-{os.getpid()}-{started_ticks}-{os.urandom(4).hex()}"
    folder = root / name
    memory_folder = memory_root / (name if memory_root != root else f"{name}/memory")
    with locked_root(root):
        try:
            # It comes to its name only with a whole record in it, whose lock is held.
            unfinished(folder).mkdir(mode=0o755)
            unfinished(folder).chmod(0o755)  # whatever the umask
            record = begin_record(unfinished(folder), memory_folder)
            unfinished(folder).rename(folder)
            memory_lock = _make_in_memory(memory_folder)
        except OSError as error:
            for each in (unfinished(memory_folder), unfinished(folder), folder):
                removal_complaint(each)
            raise _cannot_be_made(folder, error) from error
    return RunRoot(folder, memory_folder, (record, memory_lock))


def made(place: Place) -> Place:
    """Make the folders of a place; return it.

    Raises:
        AdapterError: One cannot be made.
    """
    for folder in (place.folder, place.memory_folder):
        try:
            # Adapters hand them over to the server's user when that is another one.
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise _cannot_be_made(folder, error) from error
    return place


def make_copy_folders(place: Place) -> None:
    """Make the folders of a place that a copy may write in, before anything of it runs.

    Raises:
        AdapterError: One cannot be made.
    """
    for folder in (place.copy_folder, place.copy_memory_folder):
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise _cannot_be_made(folder, error) from error


def remove_place(place: Place) -> None:
    """Remove all that an instance wrote.

    Raises:
        RevertError: Something could not be removed.
    """
    for folder in (place.folder, place.memory_folder):
        complaint = removal_complaint(folder)
        if complaint:
            raise RevertError(why=[complaint])


def _cannot_be_made(folder: Path, error: OSError) -> AdapterError:
    return AdapterError(
        f"`{folder}` cannot be made: {reason(error)}",
        hint=f"Make room there, or set {ROOT_VARIABLE} to a folder of your own.",
    )


def _make_in_memory(folder: Path) -> int:
    """Make it with a lock of its own; return the lock.

    Its record may be removed by hand, or be under another root: then the lock alone says whether
    somebody needs it. It comes to its name only with the lock held, and whose it is written there.
    """
    new = unfinished(folder)
    for _ in range(_ATTEMPTS):
        try:
            new.mkdir(mode=0o755)
            break
        except FileNotFoundError:  # another httpdyno just removed the empty root
            safe_root(folder.parent)
    new.chmod(0o755)
    lock = os.open(new / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(lock, json.dumps(ownership(lock)).encode() + b"\n")
    new.rename(folder)
    return lock
