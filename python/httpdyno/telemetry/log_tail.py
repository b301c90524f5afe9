"""What comes into a server's error logs while it is loaded; read when that is over.

While load is timed nothing is read: the sizes of the logs are noted before it, and what was added
is read after it.

The logs are other users', and root reads them: whoever may write to their folders must not be able
to have it read what he may not.
"""

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO, NamedTuple

from httpdyno.host.foreign_folder import ForeignFolder
from httpdyno.model import LogLines
from httpdyno.telemetry.log_line import log_lines

_MOST_BYTES = 8 << 20
"""Of a log that are read, half of it from either end; some 50 ms."""


class LogTail:
    """Logs from now on."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Note where the logs end.

        Args:
            paths: Files that it writes; one that is not there yet may come into a folder that is.
                They are no links, and those of their folders as they are now are what counts
                (`ForeignFolder`).
        """
        self._folders = {path: _folder(path) for path in dict.fromkeys(paths)}
        self._ends = {path: _end(path.name, folder) for path, folder in self._folders.items()}

    def lines(self, *, most_bytes: int = _MOST_BYTES) -> LogLines | None:
        """Return what was added since; None where no log can be read.

        Of one that was rotated meanwhile, what came before that is not found again.
        """
        return self._read(most_bytes, is_last=True)[0]

    def next_lines(self, *, most_bytes: int = _MOST_BYTES) -> LogLines | None:
        """Return what was added since this was called last; None where no log can be read.

        A line whose end is not there yet is left for the next call, which takes it as it is unless
        it has grown.
        """
        found, ends = self._read(most_bytes, is_last=False)
        self._ends |= ends
        return found

    def _read(
        self, most_bytes: int, *, is_last: bool
    ) -> tuple[LogLines | None, dict[Path, "_End"]]:
        texts: list[bytes] = []
        ends: dict[Path, _End] = {}
        unread_bytes = 0
        for path, end in self._ends.items():
            folder = self._folders[path]
            with _opened(path.name, folder) as log:
                now = os.fstat(log.fileno()) if log else None
                is_safe = folder is not None and folder.is_roots
                if log is None or now is None or not (is_safe or end.is_before(now)):
                    continue
                size = now.st_size
                # It was cut off meanwhile, or another one took its place, of whatever size.
                is_same = end.file == (now.st_dev, now.st_ino) and end.size <= size
                began = end.told if is_same else 0
                is_whole = is_last or (is_same and end.size == size)
                parts, told = _parts(log, began, size, most_bytes, is_whole=is_whole)
                texts += parts
                unread_bytes += told - began - sum(map(len, parts))
                ends[path] = _End.of(now, told)
        return log_lines(texts, unread_bytes=unread_bytes) if ends else None, ends


class _End(NamedTuple):
    """Where a log ended."""

    told: int = 0
    """To where it was told: before a line that had no end."""
    size: int = 0
    file: tuple[int, int] = (0, 0)
    """Its device and inode."""
    owner: int | None = None
    """Whose it is; None of one that was not there."""

    @classmethod
    def of(cls, file: os.stat_result, told: int) -> "_End":
        """Return that of a file which was told so far."""
        return cls(told, file.st_size, (file.st_dev, file.st_ino), file.st_uid)

    def is_before(self, file: os.stat_result) -> bool:
        """Whether a file is the same log later, or may have taken its place.

        Who may write to its folder could put another user's there, by another name for it. Whose
        it is counts in any case, since a new file may have the inode of one that is gone. In a
        folder of root's nobody else could: there logrotate may give a new log another owner.
        """
        if self.owner not in {None, file.st_uid}:
            return False
        return file.st_nlink == 1 or self.file == (file.st_dev, file.st_ino)


def _folder(path: Path) -> ForeignFolder | None:
    try:
        return ForeignFolder.found(path.parent)
    except OSError:
        return None


def _end(name: str, folder: ForeignFolder | None) -> _End:
    with _opened(name, folder) as log:
        if log is None:
            return _End()
        now = os.fstat(log.fileno())
        return _End.of(now, now.st_size)


def _parts(
    log: BinaryIO, began: int, size: int, most_bytes: int, *, is_whole: bool
) -> tuple[list[bytes], int]:
    """Return what stands there, of too much whole lines from both ends; and where that ends.

    Args:
        log: The file.
        began: Where it begins.
        size: Of the file.
        most_bytes: To read.
        is_whole: Whether the last line is taken without its end.
    """
    log.seek(began)
    if size - began <= most_bytes:
        parts, last = [], log.read(size - began)
    else:
        parts = [_ended(log.read(most_bytes // 2))]
        log.seek(size - most_bytes // 2)
        last = log.read(most_bytes // 2)
        last = last[last.find(b"\n") + 1 :]
    told = last if is_whole else _ended(last)
    return [*parts, told], size - (len(last) - len(told))


def _ended(text: bytes) -> bytes:
    """Return a text to the end of its last line that has one."""
    return text[: text.rfind(b"\n") + 1]


def _opened(name: str, folder: ForeignFolder | None) -> AbstractContextManager[BinaryIO | None]:
    """Open a file that a server writes; None where there is none."""
    try:
        return folder.opened(name) if folder else nullcontext()
    except (OSError, ValueError):  # the latter of a NUL in its name
        return nullcontext()
