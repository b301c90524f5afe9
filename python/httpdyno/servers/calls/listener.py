"""The listener of a filter: what was asked, and that it goes on or is refused."""

import errno
import fcntl
import os
import struct
from typing import NamedTuple

_RECEIVE, _ANSWER, _IS_THERE = 0xC050_2100, 0xC018_2101, 0x4008_2102
_GO_ON = 1
_ASKED = struct.Struct("=QIIiIQ6Q")
_ANSWERED = struct.Struct("=QqiI")


class Call(NamedTuple):
    """One call that waits."""

    id: int
    """Of this one alone."""
    thread: int
    """The thread that asks."""
    number: int
    arguments: tuple[int, ...]


def received(listener: int) -> Call:
    """Return a call that waits; there is one when the listener can be read.

    Raises:
        OSError: It waits no more: a signal came, or its process has ended.
    """
    content = bytearray(_ASKED.size)
    fcntl.ioctl(listener, _RECEIVE, content)
    number, thread, _, call, _, _, *arguments = _ASKED.unpack(content)
    return Call(number, thread, call, tuple(arguments))


def is_waiting(listener: int, call: Call) -> bool:
    """Whether the call still waits; so what was opened by its thread's number is that thread's."""
    try:
        fcntl.ioctl(listener, _IS_THERE, struct.pack("=Q", call.id))
    except OSError:
        return False
    return True


def go_on(listener: int, call: Call) -> None:
    """Let a call go on as if nobody had listened.

    Raises:
        OSError: It waits no more.
    """
    fcntl.ioctl(listener, _ANSWER, _ANSWERED.pack(call.id, 0, 0, _GO_ON))


def refuse(listener: int, call: Call) -> None:
    """Let a call fail, as one that its process has no right to.

    Raises:
        OSError: It waits no more.
    """
    fcntl.ioctl(listener, _ANSWER, _ANSWERED.pack(call.id, 0, -errno.EPERM, 0))


def close(listener: int) -> None:
    """Listen no more; whoever still waits, or comes later, is told that there is no such call."""
    os.close(listener)
