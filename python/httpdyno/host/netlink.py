"""Questions to the kernel over netlink that it answers in many messages, and all of the answer.

An answer is known by the number of its question. One that was given up, because it took too long or
because of Ctrl-C, may still lie in the socket when the next is asked.

Source: netlink(7); the kernel's Documentation/userspace-api/netlink/intro.rst, section "Dump
consistency" for answers that are not whole.
"""

import errno
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

_NLM_F_REQUEST_DUMP, _NLM_F_DUMP_INTR = 0x301, 0x10
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_HEADER = struct.Struct("=IHHII")
_ANSWER_BYTES = 1 << 16
_LONGEST_S = 5.0
_TRIES = 3
_NUMBERS = count(1)


class Message(NamedTuple):
    """One of an answer."""

    kind: int
    flags: int
    number: int
    """Of the question."""
    content: bytes

    @property
    def is_last(self) -> bool:
        """Whether no other follows."""
        return self.kind in (_NLMSG_DONE, _NLMSG_ERROR)

    @property
    def fault(self) -> int:
        """Which error the last one tells; 0: none. Also a proper end may tell one."""
        return -int.from_bytes(self.content[:4], sys.byteorder, signed=True)


def answers(asking: socket.socket, kind: int, body: bytes) -> list[bytes]:
    """Return all that the kernel says to a question.

    Args:
        asking: A netlink socket with a timeout.
        kind: Of the question.
        body: What is asked.

    Raises:
        OSError: It refuses, does not answer, or what it tells of changed each time meanwhile.
    """
    for _ in range(_TRIES):
        found = _answers_once(asking, kind, body)
        if found is not None:
            return found
    raise _error(errno.EBUSY)


def messages(answer: bytes) -> Iterator[Message]:
    """Yield what one datagram holds.

    Raises:
        OSError: It is cut off.
    """
    at = 0
    while at + _HEADER.size <= len(answer):
        length, kind, flags, number, _ = _HEADER.unpack_from(answer, at)
        if not _HEADER.size <= length <= len(answer) - at:
            raise _error(errno.EBADMSG)
        yield Message(kind, flags, number, answer[at + _HEADER.size : at + length])
        at += (length + 3) & ~3


def _answers_once(asking: socket.socket, kind: int, body: bytes) -> list[bytes] | None:
    """Return what the kernel says; None where it is not whole, or nothing can be asked yet."""
    number, length = next(_NUMBERS) & 0xFFFF_FFFF, _HEADER.size + len(body)
    asking.send(_HEADER.pack(length, kind, _NLM_F_REQUEST_DUMP, number, 0) + body)
    found, is_whole, is_busy = list[bytes](), True, False
    end_s = time.monotonic() + _LONGEST_S
    while time.monotonic() < end_s:
        for each in messages(asking.recv(_ANSWER_BYTES)):
            if each.number != number:
                if each.is_last and is_busy:
                    return None
                continue
            is_whole = is_whole and not each.flags & _NLM_F_DUMP_INTR
            if not each.is_last:
                found.append(each.content)
            elif each.fault == errno.EBUSY:
                # It still answers an earlier question, whose end is read first.
                is_busy = True
            elif each.fault:
                raise _error(each.fault)
            else:
                return found if is_whole else None
    raise _error(errno.ETIMEDOUT)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
