"""Files of this user's own: the folder of what httpdyno keeps, records and locks.

In a folder that others may write to, the name of a file of ours may be theirs already: a FIFO that
never opens, a link to something precious, a lock that is never let go.
"""

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from httpdyno.errors import StoreError


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of what httpdyno keeps: `$HTTPDYNO_DATA_DIR`, else the XDG one."""
    if own := environment.get("HTTPDYNO_DATA_DIR"):
        return Path(own).absolute()
    if shared := environment.get("XDG_DATA_HOME"):
        return Path(shared) / "httpdyno"
    return expanded("~/.local/share/httpdyno")


def expanded(path: str) -> Path:
    """Return the path with a home folder in the place of `~`.

    Raises:
        StoreError: There is no such home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise StoreError(
            f"`{path}` cannot be found: there is no such home folder",
            hint="Set `HTTPDYNO_DATA_DIR` to a folder.",
        ) from error


logger = logging.getLogger(__name__)

_POLL_S = 0.01
_SILENT_S = 1.0
"""Waiting longer than this is said."""


def opened_own(path: Path, flags: int) -> int:
    """Open a file of this user, never through a link and never waiting; return its descriptor.

    Raises:
        OSError: It cannot be opened, is somebody else's, or is no regular file.
    """
    careful = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    handle = os.open(path, flags | careful, 0o600)
    info = os.fstat(handle)
    is_regular = stat.S_ISREG(info.st_mode)
    # Whoever owns the folder could replace it anyway.
    is_own = info.st_uid in {os.geteuid(), path.parent.stat().st_uid}
    if not (is_regular and is_own):
        os.close(handle)
        raise OSError(
            errno.EPERM, "another user's" if is_regular else "not a regular file", f"{path}"
        )
    return handle


def is_own_folder(folder: Path) -> bool:
    """Whether it is a folder, no link, and of this user."""
    try:
        info = folder.lstat()
    except (OSError, ValueError):
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()


class HeldError(Exception):
    """Somebody kept the lock for too long; the message says who."""


@contextmanager
def locked(
    path: Path, *, patience_s: float, clock: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Hold the lock file, made if need be; the kernel drops the lock of a process that dies.

    Raises:
        OSError: As `opened_own`.
        HeldError: Another process holds it, and did so for all of the patience.
    """
    handle = opened_own(path, os.O_RDWR | os.O_CREAT)
    try:
        began_s, is_said = clock(), False
        while not taken(handle):
            waited_s = clock() - began_s
            if waited_s > patience_s:
                raise HeldError(f"{holders(path)} holds `{path}` for {patience_s:.0f} s")
            if waited_s > _SILENT_S and not is_said:
                logger.warning("%s holds `%s`: waiting", holders(path), path)
                is_said = True
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(handle)


def holders(path: Path) -> str:
    """Return in words who holds the lock on a file, as far as the kernel tells."""
    try:
        info = path.stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return "another process"
    place = f"{os.major(info.st_dev):02x}:{os.minor(info.st_dev):02x}:{info.st_ino}"
    # `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; proc(5).
    pids = [line.split()[4] for line in lines if f" {place} " in line and "->" not in line]
    known = sorted({pid for pid in pids if pid.isdigit() and pid != "0"})
    return f"process {', '.join(known)}" if known else "another process"


def taken(handle: int) -> bool:
    """Take the lock of an open file if nobody has it; return whether this process has it now."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
