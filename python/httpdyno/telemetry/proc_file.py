"""Reading /proc: a file's content, again and again, and who is below whom."""

import os
import resource
import weakref
from collections.abc import Callable, Container
from contextlib import suppress
from pathlib import Path

KERNEL_LISTS_CHILDREN = Path("/proc/thread-self/children").exists()
"""Only with CONFIG_PROC_CHILDREN, which most distributions' kernels have."""
BESIDE_A_LOAD = 0.1
"""Of the files that a process may open, where a load's connections are among them."""
_PIECE_BYTES = 4096
_MOST_KEPT = 4096
_NONE: dict[bytes, int] = {}


def content(path: bytes) -> bytes:
    """Return a /proc file's content; empty when the process is gone, or may not be read."""
    try:
        return readable(path)
    except OSError:
        return b""


def readable(path: bytes) -> bytes:
    """Return a /proc file's content.

    Raises:
        OSError: The process is gone, or may not be read.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # The kernel gives at most a page at a time.
        whole = b""
        while piece := os.read(handle, 65_536):
            whole += piece
    finally:
        os.close(handle)
    return whole


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


def listed_children(pid: int, *, has_one_thread: bool, files: KeptFiles | None = None) -> list[int]:
    """Return the children as the kernel lists them: each hangs on the thread that forked it.

    Args:
        pid: The process.
        has_one_thread: Whether that is all that it has.
        files: Keeps the list of one open that has none, so that it is cheap to see that.
    """
    if has_one_thread:
        name = b"task/%d/children" % pid
        text = files.content(pid, name) if files else content(b"/proc/%d/%s" % (pid, name))
        return [int(child) for child in text.split()]
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - hot
    except OSError:
        return []
    return [
        int(child)
        for thread in threads
        for child in content(b"/proc/%d/task/%s/children" % (pid, thread.encode())).split()
    ]


def scanned_children(parent_of: Callable[[int], int | None]) -> Callable[[int], list[int]]:
    """Return a look-up of children made from all of this machine's processes.

    Args:
        parent_of: The parent of a process; None for one that is gone.
    """
    by_parent: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - hot
        parent = parent_of(int(name)) if name.isdigit() else None
        if parent is not None:
            by_parent.setdefault(parent, []).append(int(name))
    return lambda pid: by_parent.get(pid, [])
