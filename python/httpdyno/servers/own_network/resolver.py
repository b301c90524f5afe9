"""The resolver of a network: one process, which answers at once, after a while, or never.

A keeper runs it in the process that it forked, so with the standard library only. How many
questions came stands in a file, which httpdyno reads whenever it likes: to ask would take the
resolver's time while it is measured.
"""

import os
import select
import struct
import time
from _collections_abc import Iterable
from _socket import AF_INET, SOCK_DGRAM, socket

from httpdyno.servers.own_network.dns import answered, records

ADDRESS = "127.0.0.53"
PORT = 53
ANSWERS, NEVER = "answers", "never"
"""The first word of a table, and what it says where it answers nobody."""
_COUNTS = struct.Struct("=QQ")
_MOST_BYTES = 4096
_AT_ONCE = 64
"""As many questions are read before answers that are due are sent."""


def main(table: str, counts: str, address: str = ADDRESS, port: str = str(PORT)) -> int:
    """Answer until it is ended.

    Args:
        table: A file with `answers SECONDS` or `answers never` in its first line, and then a name
            with its addresses in each.
        counts: The file that it counts in.
        address: Where it listens.
        port: Likewise.
    """
    with open(table, encoding="ascii") as file:  # noqa: PTH123 - pathlib takes longer to import
        wait_s, known = read_table(file)
    asked = socket(AF_INET, SOCK_DGRAM)
    asked.bind((address, int(port)))
    asked.setblocking(False)
    handle = os.open(counts, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    n, due = 0, list[tuple[float, bytes, tuple[str, int]]]()
    os.pwrite(handle, _COUNTS.pack(1, n), 0)
    while True:
        patience_s = max(0.0, due[0][0] - time.monotonic()) if due else None
        select.select([asked], [], [], patience_s)
        for _ in range(_AT_ONCE):
            try:
                question, sender = asked.recvfrom(_MOST_BYTES)
            except OSError:
                break
            n += 1
            os.pwrite(handle, _COUNTS.pack(1, n), 0)
            if wait_s is not None:
                due.append((time.monotonic() + wait_s, answered(question, known), sender))
        # All wait for as long: those that came first are first.
        n_due, now_s = 0, time.monotonic()
        while n_due < len(due) and due[n_due][0] <= now_s:
            _, answer, sender = due[n_due]
            _send(asked, answer, sender)
            n_due += 1
        del due[:n_due]


def read_table(lines: Iterable[str]) -> tuple[float | None, dict[tuple[str, int], list[bytes]]]:
    """Return for how long answers wait, None for ever, and what is answered."""
    first, *others = (line.split() for line in lines)
    wait_s = None if first[1] == NEVER else float(first[1])
    return wait_s, records({name: addresses for name, *addresses in others})


def n_asked(counts: bytes) -> int | None:
    """Return how many questions a file of counts tells; None before the resolver is there."""
    return _COUNTS.unpack(counts)[1] if len(counts) == _COUNTS.size else None


def _send(asked: socket, answer: bytes, to: tuple[str, int]) -> None:
    try:
        if answer:
            asked.sendto(answer, to)
    except OSError:
        pass  # who asked is gone
