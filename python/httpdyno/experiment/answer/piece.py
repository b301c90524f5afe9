"""A text in pieces, so that two answers can be compared but for a few words; pure."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest

# A time, an address, a number or an id is one piece, so that another one has as many.
_PIECE = re.compile(rb"(?:[0-9A-Za-z_+/.:%\x80-\xff-]|(?<=[0-9]),(?=[0-9]))+|\s+|.", re.DOTALL)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_MOST_IN_WORDS = 1 << 20
"""A larger text is cut into lines: pieces take some fifty times the room of what they hold."""
_SHOWN_BYTES = 32
_OF_TIME = re.compile(
    rb".*[0-9].*"
    rb"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun"
    rb"|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    rb"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    rb"|(?:second|sec|minute|min|hour|day|week|month|year)s?|[ap]m",
    re.IGNORECASE | re.DOTALL,
)
"""A number, a date or an id with a digit in it; names of days and months, units of ages."""


class Text:
    """A text in its pieces, without the parts of it that may differ."""

    def __init__(self, whole: bytes, left_out: Sequence[tuple[int, int]] = ()) -> None:
        """Take a text.

        Args:
            whole: All of it.
            left_out: Parts that may differ, (begin, end), ascending and apart.
        """
        self.whole = whole
        self._left_out = left_out

    @property
    def n_bytes(self) -> int:
        """How long it is without the parts that may differ."""
        return len(self.whole) - sum(end - begin for begin, end in self._left_out)

    @cached_property
    def pieces(self) -> list[bytes]:
        """What it consists of, from its beginning to its end."""
        return [match.group() for match in self._matches]

    def begin(self, index: int) -> int:
        """Return where a piece begins in the whole text; the text's length beyond the last one."""
        if index >= len(self._matches):
            return len(self.whole)
        at = self._matches[index].start()
        for begin, end in self._left_out:
            if begin > at:
                break
            at += end - begin
        return at

    def shown(self, index: int) -> str:
        """Return a few characters from a piece on, quoted; `its end` where there are none."""
        begin = self.begin(index)
        found = self.whole[begin : begin + _SHOWN_BYTES]
        more = "…" if len(self.whole) > begin + _SHOWN_BYTES else ""
        return f"`{_printable(found)}{more}`" if found else "its end"

    def shown_piece(self, index: int) -> str:
        """Return a piece, quoted."""
        return f"`{_printable(self.pieces[index][:_SHOWN_BYTES])}`"

    @cached_property
    def _matches(self) -> list[re.Match[bytes]]:
        kept, at = bytearray(), 0
        for begin, end in self._left_out:
            kept += self.whole[at:begin]
            at = end
        kept += self.whole[at:]
        rule = _PIECE if len(self.whole) <= _MOST_IN_WORDS else _LINE
        return list(rule.finditer(bytes(kept)))


def differing(one: Text, other: Text) -> Iterator[int]:
    """Yield the pieces in which two texts differ, by their number, and those that one has more."""
    if one.whole == other.whole:
        return
    for index, (a, b) in enumerate(zip_longest(one.pieces, other.pieces)):
        if a != b:
            yield index


def is_of_time(piece: bytes, other: bytes) -> bool:
    """Tell whether one piece may have become another one by time alone: numbers, dates, ids."""
    return all(_OF_TIME.fullmatch(each.strip(b".:-")) for each in (piece, other))


def _printable(text: bytes) -> str:
    return "".join(each if each.isprintable() else "·" for each in text.decode("utf-8", "replace"))
