"""What comes into a server's error logs while it is loaded; read when that is over.

While load is timed nothing is read: the sizes of the logs are noted before it, and what was added
is read after it.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from httpdyno.model import LogLines
from httpdyno.telemetry.log_line import log_lines

_MOST_BYTES = 8 << 20
"""Of a log that are read, half of it from either end; some 50 ms."""


class LogTail:
    """Logs from now on."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Note where the logs end.

        Args:
            paths: Files that it writes; one that is not there yet may come. Links are not followed.
        """
        self._ends = {path: _end(path) for path in dict.fromkeys(paths)}

    def lines(self, *, most_bytes: int = _MOST_BYTES) -> LogLines | None:
        """Return what was added since; None where no log can be read.

        Of one that was rotated meanwhile, what came before that is not found again.
        """
        return self._read(most_bytes)[0]

    def next_lines(self, *, most_bytes: int = _MOST_BYTES) -> LogLines | None:
        """Return what was added since this was called last; None where no log can be read."""
        found, ends = self._read(most_bytes)
        self._ends |= ends
        return found

    def _read(self, most_bytes: int) -> tuple[LogLines | None, dict[Path, "_End"]]:
        texts: list[bytes] = []
        ends: dict[Path, _End] = {}
        unread_bytes = 0
        for path, end in self._ends.items():
            with _opened(path) as log:
                if log is None:
                    continue
                now = os.fstat(log.fileno())
                size = now.st_size
                # It was cut off meanwhile, or another one took its place, of whatever size.
                ends[path] = _End(size, (now.st_dev, now.st_ino))
                began = end.size if end.size <= size and end.file == ends[path].file else 0
                parts = list(_parts(log, began, size, most_bytes))
                texts += parts
                unread_bytes += size - began - sum(map(len, parts))
        return log_lines(texts, unread_bytes=unread_bytes) if ends else None, ends


def _parts(log: BinaryIO, began: int, size: int, most_bytes: int) -> Iterator[bytes]:
    log.seek(began)
    if size - began <= most_bytes:
        yield log.read(size - began)
        return
    head = log.read(most_bytes // 2)
    yield head[: head.rfind(b"\n") + 1]
    log.seek(size - most_bytes // 2)
    tail = log.read(most_bytes // 2)
    yield tail[tail.find(b"\n") + 1 :]


class _End(NamedTuple):
    """Where a log ended."""

    size: int = 0
    file: tuple[int, int] = (0, 0)
    """Its device and inode."""


def _end(path: Path) -> _End:
    with _opened(path) as log:
        if log is None:
            return _End()
        now = os.fstat(log.fileno())
        return _End(now.st_size, (now.st_dev, now.st_ino))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO | None]:
    """Open a regular file that a server writes; None where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        yield None
        return
    with os.fdopen(handle, "rb") as log:
        yield log
