"""A folder that others may write to, or to one above it: found by its path, and the same one later.

Links that are on the way at first are followed as `foreign_path` has it; later none is, and only
the folder that was found is opened.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from httpdyno.host.foreign_path import held, held_below
from httpdyno.host.foreign_text import regular


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignFolder:
    """A folder that was found."""

    root: str
    """What its path begins with: `/`, or what another process sees as that."""
    names: tuple[str, ...]
    """Of the folders from there to it, none of which was a link."""
    identity: tuple[int, int]
    """Its device and inode."""
    is_roots: bool = False
    """Whether nobody but root could put anything in it when it was found."""

    @classmethod
    def found(cls, path: Path | str) -> "ForeignFolder":
        """Return the folder at a path.

        Raises:
            OSError: There is none, or a link on the way is not to be followed.
        """
        with held(path) as found:
            info = found.info()
            if not stat.S_ISDIR(info.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
            return cls(
                root=found.root,
                names=found.names,
                identity=(info.st_dev, info.st_ino),
                is_roots=_is_roots(info),
            )

    @contextmanager
    def held(self) -> Iterator[int]:
        """Give a descriptor of it, by which nothing but the way from it can be opened.

        Raises:
            OSError: It is not there any more: there is nothing, a link on the way, or another one.
        """
        with held_below(self.root, self.names) as handle:
            info = os.fstat(handle)
            if (info.st_dev, info.st_ino) != self.identity:
                raise OSError(errno.ESTALE, "another folder took its place", "/".join(self.names))
            yield handle

    def opened(self, *names: str) -> BinaryIO:
        """Open a regular file below it for reading, never through a link and never waiting.

        Args:
            names: Of the folders from this one on, and its own; none of them `..`.

        Raises:
            OSError: As `held`; or the file cannot be opened, or is none.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        *folders, name = names
        with self.held() as folder, ExitStack() as stack:
            above = folder
            for each in folders:
                way = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                above = os.open(each, way, dir_fd=above)
                stack.callback(os.close, above)
            handle = os.open(name, flags, dir_fd=above)
        return regular(handle, name)


def _is_roots(folder: os.stat_result) -> bool:
    return folder.st_uid == 0 and not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
