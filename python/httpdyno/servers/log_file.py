"""A server's log: opened for more, and read, whatever stands in its place."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from httpdyno.host.foreign_files import ForeignFolder

_LOG_BYTES = 65_536


def opened_log(log: Path) -> BinaryIO:
    """Open a log for more; never through a link, and never waiting.

    Raises:
        OSError: It cannot be opened, or something else than a file has its name.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
    handle = _opened(log, flags)
    os.set_blocking(handle, True)
    return os.fdopen(handle, "ab")


def log_text(path: Path, *, from_end: bool = False, n_bytes: int = _LOG_BYTES) -> str:
    """Return the beginning or the end of a file that a server writes, which may be huge.

    Empty when there is none, or what stands there is no file: a pipe would not end.
    """
    try:
        with os.fdopen(_opened(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as log:
            return _text(log, n_bytes, from_end=from_end)
    except OSError:
        return ""


def foreign_log_end(path: Path) -> str:
    """Return the end of a log whose folder others may change; empty where it is not to be read."""
    try:
        with ForeignFolder.found(path.parent).opened(path.name) as log:
            return _text(log, _LOG_BYTES, from_end=True)
    except OSError:
        return ""


def _opened(path: Path, flags: int) -> int:
    """Open a regular file in a folder that is none by a link, either of which a copy may make."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        handle = os.open(path.name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return handle


def _text(log: BinaryIO, n_bytes: int, *, from_end: bool) -> str:
    if from_end:
        log.seek(max(0, log.seek(0, os.SEEK_END) - n_bytes))
    return log.read(n_bytes).decode("utf-8", errors="replace")
