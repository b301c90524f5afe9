"""Folders and files of httpdyno's in a folder that a copy may write in.

Who is root in a copy makes files there that are root's outside as well. So nothing there is found
by its path: folders are held, no link is followed, and what is written is new.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
