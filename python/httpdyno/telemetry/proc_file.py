"""Reading /proc: a file's content, and who is below whom."""

import os
from collections.abc import Callable
from pathlib import Path

KERNEL_LISTS_CHILDREN = Path("/proc/thread-self/children").exists()
"""Only with CONFIG_PROC_CHILDREN, which most distributions' kernels have."""


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


def listed_children(pid: int, *, has_one_thread: bool) -> list[int]:
    """Return the children as the kernel lists them: each hangs on the thread that forked it."""
    if has_one_thread:
        return [int(child) for child in content(b"/proc/%d/task/%d/children" % (pid, pid)).split()]
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
