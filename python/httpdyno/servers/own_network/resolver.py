"""The resolver of a network: one process, which answers at once, after a while, or never.

A keeper runs it in the process that it forked, so with the standard library only. How many
questions came stands in a file, which httpdyno reads whenever it likes: to ask would take the
resolver's time while it is measured.

Source: RFC 1035, section 4 (messages), RFC 3596 (AAAA records and `ip6.arpa`).
"""

import os
import select
import struct
import time
from _collections_abc import Iterable, Mapping, Sequence
from _socket import AF_INET, AF_INET6, SOCK_DGRAM, inet_pton, socket

A, PTR, AAAA = 1, 12, 28
_IN = 1
_HEAD = struct.Struct(">HHHHHH")
_IS_ANSWER, _OPERATION, _IS_TRUNCATED, _RECURSION = 0x8000, 0x7800, 0x0200, 0x0100
_IS_RECURSIVE = 0x0080
_NO_ERROR, _BAD_FORM, _NO_SUCH_NAME, _NOT_DONE = 0, 1, 3, 4
_NAME_OF_QUESTION = struct.pack(">H", 0xC000 | _HEAD.size)
_MOST_ANSWER_BYTES = 512
"""Of an answer over UDP to who asks for no more (RFC 1035, section 4.2.1)."""
_LONGEST_LABEL = 63

Records = Mapping[tuple[str, int], Sequence[bytes]]
"""Name in small letters and type → the data of each record. A name has the types that it is asked
for, or none of them: then it is there all the same, and has no such record."""


def records(names: Mapping[str, Sequence[str]]) -> dict[tuple[str, int], list[bytes]]:
    """Return what is answered of names and their addresses, both ways.

    Args:
        names: Name → its addresses, of both families.

    Raises:
        OSError: One is no address.
    """
    found: dict[tuple[str, int], list[bytes]] = {}
    for name, addresses in names.items():
        for kind in (A, AAAA):
            found.setdefault((_plain(name), kind), [])
        for address in addresses:
            is_long = ":" in address
            packed = inet_pton(AF_INET6 if is_long else AF_INET, address)
            found[_plain(name), AAAA if is_long else A].append(packed)
            found.setdefault((backwards(packed), PTR), []).append(packed_name(name))
    return found


def backwards(address: bytes) -> str:
    """Return the name that an address is asked for: `1.0.0.127.in-addr.arpa`."""
    if len(address) == 4:  # noqa: PLR2004 - of IPv4
        return ".".join(str(byte) for byte in reversed(address)) + ".in-addr.arpa"
    return ".".join(reversed(address.hex())) + ".ip6.arpa"


def packed_name(name: str) -> bytes:
    """Return a name as it is in messages."""
    labels = [label.encode("ascii") for label in _plain(name).split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def answered(question: bytes, known: Records) -> bytes:
    """Return the answer to a question; empty where it is none."""
    if len(question) < _HEAD.size:
        return b""
    number, flags, n_questions, *_ = _HEAD.unpack_from(question)
    if flags & _IS_ANSWER:
        return b""
    flags = _IS_ANSWER | _IS_RECURSIVE | (flags & (_OPERATION | _RECURSION))
    asked = _asked(question) if n_questions == 1 else None
    if flags & _OPERATION or asked is None:
        error = _NOT_DONE if flags & _OPERATION else _BAD_FORM
        return _HEAD.pack(number, flags | error, 0, 0, 0, 0)
    name, kind, end = asked
    is_known = any((name, each) in known for each in (A, AAAA, PTR))
    data = known.get((name, kind), ())
    body = b"".join(
        _NAME_OF_QUESTION + struct.pack(">HHIH", kind, _IN, 0, len(each)) + each for each in data
    )
    n_answers = len(data)
    if end + len(body) > _MOST_ANSWER_BYTES:
        body, n_answers, flags = b"", 0, flags | _IS_TRUNCATED
    flags |= _NO_ERROR if is_known else _NO_SUCH_NAME
    return _HEAD.pack(number, flags, 1, n_answers, 0, 0) + question[_HEAD.size : end] + body


def _asked(question: bytes) -> tuple[str, int, int] | None:
    """Return the name, the type and where it ends; None where it is cut off, or of no internet."""
    labels, at = [], _HEAD.size
    while at < len(question) and question[at]:
        length = question[at]
        if length > _LONGEST_LABEL:  # a reference, which a question has no use for
            return None
        labels.append(question[at + 1 : at + 1 + length].decode("latin-1"))
        at += 1 + length
    if at + 5 > len(question):
        return None
    kind, of = struct.unpack_from(">HH", question, at + 1)
    return (".".join(labels).lower(), kind, at + 5) if of == _IN else None


def _plain(name: str) -> str:
    return name.rstrip(".").lower()


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
