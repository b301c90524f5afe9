"""Files of /proc that stay open from one reading to the next."""

import os
import resource
import weakref
from collections.abc import Container
from contextlib import suppress

from httpdyno.host.procfs import readable

BESIDE_A_LOAD = 0.1
"""Of the files that a process may open, where a load's connections are among them."""
_PIECE_BYTES = 4096
_MOST_KEPT = 4096
_NONE: dict[bytes, int] = {}


class KeptFiles:
    """Files of /proc that stay open from one reading to the next: opening takes most of the time.

    What is open is of one process: once that is gone, reading it says so, whoever has its number
    since. `smaps_rollup` is not for this: open, it holds on to a dead process's memory map. Closed
    with the object. Not for several threads at once.
    """

    def __init__(self, most: int) -> None:
        """Keep none open yet.

        Args:
            most: So many are kept; others are opened each time.
        """
        self._most = most
        self._n = 0
        self._handles: dict[int, dict[bytes, int]] = {}
        """By process and name."""
        weakref.finalize(self, _close_all, self._handles)

    def readable(self, pid: int, name: bytes) -> bytes:
        """Return the content of a file of a process.

        Args:
            pid: Its number.
            name: Below /proc/PID.

        Raises:
            OSError: The process is gone, or may not be read.
        """
        handle = self._handle(pid, name)
        if handle is None:
            return readable(b"/proc/%d/%s" % (pid, name))
        try:
            text = os.pread(handle, _PIECE_BYTES, 0)
        except ProcessLookupError:
            # Who has its number now, if anybody, is another one.
            self._forget(pid)
            return readable(b"/proc/%d/%s" % (pid, name))
        # A list may be cut where the next of it would not have fitted.
        is_whole = len(text) <= _PIECE_BYTES // 2
        return text if is_whole else readable(b"/proc/%d/%s" % (pid, name))

    def content(self, pid: int, name: bytes) -> bytes:
        """Return the content; empty when the process is gone, or may not be read."""
        try:
            return self.readable(pid, name)
        except OSError:
            return b""

    def keep_only(self, pids: Container[int]) -> None:
        """Close those of all other processes."""
        for pid in [each for each in self._handles if each not in pids]:
            self._forget(pid)

    def _handle(self, pid: int, name: bytes) -> int | None:
        """Return what it is read by; None where it is not to be kept."""
        handle = self._handles.get(pid, _NONE).get(name)
        if handle is None and self._n < self._most:
            handle = os.open(b"/proc/%d/%s" % (pid, name), os.O_RDONLY | os.O_CLOEXEC)
            self._handles.setdefault(pid, {})[name] = handle
            self._n += 1
        return handle

    def _forget(self, pid: int) -> None:
        handles = self._handles.pop(pid)
        self._n -= len(handles)
        _close_all({pid: handles})


def descriptors_to_keep(part: float) -> int:
    """Return how many files may be kept open, of a part of what this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(_MOST_KEPT, int(soft * part)) if soft != resource.RLIM_INFINITY else _MOST_KEPT


def _close_all(handles: dict[int, dict[bytes, int]]) -> None:
    for of_process in handles.values():
        for handle in of_process.values():
            with suppress(OSError):
                os.close(handle)
