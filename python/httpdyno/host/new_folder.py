"""A folder that this process makes and fills, where others may write to a folder above it.

It is held from the moment it is there, and all in it is made anew below what is held: no link that
is put on the way meanwhile is followed, and no file that is there is written to.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from httpdyno.host.foreign_path import held

_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFolder:
    """A folder of this process's own, for its user alone."""

    handle: int

    @contextmanager
    def below(self, name: str) -> Iterator["NewFolder"]:
        """Make a folder in it, which is held as long as this lasts.

        Raises:
            OSError: It cannot be made, or is there.
        """
        handle = _made(self.handle, name)
        try:
            yield NewFolder(handle=handle)
        finally:
            os.close(handle)

    def write(self, names: Sequence[str], content: bytes) -> None:
        """Write a file anew, for its user alone; folders on the way are made.

        Args:
            names: Of the folders below this one, and its own.
            content: All of it.

        Raises:
            OSError: It cannot be written, is there, or a name is none of a file.
        """
        *folders, name = map(_plain, names)
        with ExitStack() as stack:
            above = self.handle
            for each in folders:
                above = _entered(above, each)
                stack.callback(os.close, above)
            with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=above), "wb") as file:
                file.write(content)


@contextmanager
def new_folder(path: Path) -> Iterator[NewFolder]:
    """Make a folder, and those above it that are not there; hold it as long as this lasts.

    Raises:
        OSError: It cannot be made, or is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with held(path.parent) as above, NewFolder(handle=above.handle).below(path.name) as made:
        yield made


def _made(above: int, name: str) -> int:
    os.mkdir(_plain(name), 0o700, dir_fd=above)
    return _own(above, name)


def _entered(above: int, name: str) -> int:
    try:
        return _made(above, name)
    except FileExistsError:
        return _own(above, name)


def _own(above: int, name: str) -> int:
    """Hold a folder of this user's."""
    handle = os.open(name, _FOLDER, dir_fd=above)
    if os.fstat(handle).st_uid == os.geteuid():
        return handle
    os.close(handle)
    raise OSError(errno.ESTALE, "another user's folder took its place", name)


def _plain(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise OSError(errno.EINVAL, "no file can have such a name", repr(name))
    return name
