"""Doing something in a network namespace, that of a server for example."""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_CLONE_NEWNET = 0x40000000


def within(network: str, act: Callable[[], T]) -> T:
    """Do something in a network namespace, and return what came of it.

    A socket that is made there stays there. That is done on a thread of its own, which ends with
    it: whoever may enter a namespace may not always go back.

    Args:
        network: Its path, such as `/proc/4711/ns/net`; empty is the one that the caller is in.
        act: What is done, on another thread.

    Raises:
        OSError: There is no such namespace, or this process may not enter it.
    """
    if not network:
        return act()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_entered, network, act).result()


def network_of(pid: int) -> str:
    """Return the path of a process's network namespace; empty where it is this process's own."""
    theirs = Path(f"/proc/{pid}/ns/net")
    try:
        is_ours = theirs.readlink() == Path("/proc/self/ns/net").readlink()
    except OSError:
        return ""
    return "" if is_ours else str(theirs)


def _entered(network: str, act: Callable[[], T]) -> T:
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(network, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        # `os.setns` came with Python 3.12.
        if libc.setns(descriptor, _CLONE_NEWNET) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), network)
    finally:
        os.close(descriptor)
    return act()
