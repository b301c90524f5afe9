"""Questions and answers of DNS, as bytes. Pure, and standard library only: the resolver imports it.

Source: RFC 1035, section 4 (messages), RFC 3596 (AAAA records and `ip6.arpa`).
"""

import struct
from _collections_abc import Mapping, Sequence
from _socket import AF_INET, AF_INET6, inet_pton

A, PTR, AAAA = 1, 12, 28
_IN = 1
_HEAD = struct.Struct(">HHHHHH")
_IS_ANSWER, _OPERATION, _IS_TRUNCATED, _RECURSION = 0x8000, 0x7800, 0x0200, 0x0100
_IS_RECURSIVE = 0x0080
_NO_ERROR, _BAD_FORM, _NO_SUCH_NAME, _NOT_DONE = 0, 1, 3, 4
_NAME_OF_QUESTION = struct.pack(">H", 0xC000 | _HEAD.size)
_MOST_BYTES = 512
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
    if end + len(body) > _MOST_BYTES:
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
