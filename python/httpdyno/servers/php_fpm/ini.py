"""PHP's INI dialect, read with byte spans: of `php.ini` and of php-fpm's configuration. Pure.

php-fpm gives its files to the same scanner line by line, so no value of it goes over several
lines; in `php.ini` one in double quotes may. `;` begins a comment anywhere outside of quotes, `#`
nowhere. Section names keep their blanks, and neither they nor names care for upper and lower case
in php-fpm. All this was tried with PHP 8.2.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

from httpdyno.errors import AdapterError

_LINE_END = re.compile(rb"\r\n|\r|\n")
_KEY = re.compile(rb"[^=\n\r;&|^$~(){}!\"\[\x00]+")
_SECTION = re.compile(rb"\[([^\]\r\n]*)\]")
_INDEX = re.compile(rb"\[[ \t]*([^\]\r\n]*?)[ \t]*\]")
_BLANK = b" \t"
ON = frozenset({"1", "on", "yes", "true"})
OFF = frozenset({"", "0", "off", "no", "false", "none", "null"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A section's head, as `[www]`."""

    name: str
    line: int
    """From 1."""
    start: int
    end: int
    """The byte after its last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One setting: `name = value`, `name[] = value` or `name[index] = value`."""

    name: str
    index: str | None
    """What stands in the brackets; None without any."""
    text: str
    """Its value, without quotes and comment; words for true and false, and what PHP calculates
    with (`1|2`), as they stand there."""
    line: int
    """From 1."""
    key_start: int
    start: int
    """First byte of the value, quotes included."""
    end: int
    """The byte after the value's last; nothing was there where it equals `start`."""
    line_end: int
    """The byte after its last line's end, or the length of the text."""


def parsed(text: bytes, *, file: str, by_line: bool) -> tuple[Section | Entry, ...]:
    """Return sections and settings, in their order.

    Args:
        text: A whole file.
        file: Its path, for messages.
        by_line: Whether a quoted value has to end in its line, as php-fpm has it.

    Raises:
        AdapterError: A line is not understood; says which.
    """
    return tuple(_Scanner(text, file, by_line=by_line).items())


def truth(text: str) -> bool | None:
    """Return what a switch is set to; None where it says neither."""
    word = text.strip().lower()
    return True if word in ON else False if word in OFF else None


class _Scanner:
    def __init__(self, text: bytes, file: str, *, by_line: bool) -> None:
        self._text = text
        self._file = file
        self._by_line = by_line
        self._line_ends: list[int] | None = None
        self._at = 3 if text.startswith(b"\xef\xbb\xbf") else 0

    def items(self) -> list[Section | Entry]:
        found: list[Section | Entry] = []
        while self._at < len(self._text):
            self._skip_blank()
            character = self._peek()
            if character in {b"\n", b"\r"}:
                self._at += 1
            elif character == b";":
                self._to_line_end()
            elif character == b"[":
                found.append(self._section())
            elif character:
                found.append(self._entry())
        return found

    def _section(self) -> Section:
        match = _SECTION.match(self._text, self._at)
        if match is None:
            raise self._complaint("a section's name does not end")
        # What follows in the same line is a setting already.
        self._at = match.end()
        return Section(
            name=_decoded(match[1]),
            line=self._line_of(match.start()),
            start=match.start(),
            end=match.end(),
        )

    def _entry(self) -> Entry:
        key_start = self._at
        key = _KEY.match(self._text, self._at)
        if key is None:
            raise self._complaint("there is no name of a setting")
        self._at = key.end()
        index = _INDEX.match(self._text, self._at)
        if index is not None:
            self._at = index.end()
        self._skip_blank()
        if self._peek() != b"=":
            # php-fpm refuses a name without a value; in php.ini it is as if it were not there.
            if self._by_line:
                raise self._complaint(f"`{_decoded(key[0]).strip()}` has no value")
            start = end = self._at
            value = ""
            self._to_line_end()
        else:
            self._at += 1
            self._skip_blank()
            start, (value, end) = self._at, self._value()
        self._skip_line_end()
        return Entry(
            name=_decoded(key[0]).strip(),
            index=None if index is None else _decoded(index[1]).strip("\"'"),
            text=value,
            line=self._line_of(key_start),
            key_start=key_start,
            start=start,
            end=end,
            line_end=self._at,
        )

    def _value(self) -> tuple[str, int]:
        """Return the text and where it ends; goes to the line's end."""
        pieces: list[bytes] = []
        end = self._at
        while (character := self._peek()) not in {b"", b"\n", b"\r"}:
            if character == b";":
                self._to_line_end()
                break
            if character == b'"':
                pieces.append(self._in_double_quotes())
                end = self._at
                self._skip_blank()
            elif character == b"'":
                pieces.append(self._in_single_quotes())
                end = self._at
                self._skip_blank()
            elif self._text.startswith(b"${", self._at):
                pieces.append(self._variable())
                end = self._at
            else:
                pieces.append(character)
                self._at += 1
                end = end if character in {b" ", b"\t"} else self._at
        text = b"".join(pieces)
        # Blanks behind the last word are in front of a comment or of the line's end.
        last = self._text[end - 1 : end]
        return _decoded(text if last in {b'"', b"'"} else text.rstrip(_BLANK)), end

    def _in_double_quotes(self) -> bytes:
        opened, pieces = self._at, bytearray()
        self._at += 1
        while (character := self._peek()) != b'"':
            if not character or (self._by_line and character in {b"\n", b"\r"}):
                self._at = opened
                raise self._complaint("a quote is not closed")
            if character == b"\\" and self._text[self._at + 1 : self._at + 2] in {b'"', b"\\"}:
                self._at += 1
                character = self._peek()
            pieces += character
            self._at += 1
        self._at += 1
        return bytes(pieces)

    def _in_single_quotes(self) -> bytes:
        """Return what the quotes hold; PHP drops the line's rest where they hold nothing."""
        line_end = _LINE_END.search(self._text, self._at) if self._by_line else None
        last = line_end.start() if line_end else len(self._text)
        closing = self._text.find(b"'", self._at + 1, last)
        if closing <= self._at + 1:
            self._to_line_end()
            return b""
        inside = self._text[self._at + 1 : closing]
        self._at = closing + 1
        return inside

    def _variable(self) -> bytes:
        line_end = _LINE_END.search(self._text, self._at)
        last = line_end.start() if line_end else len(self._text)
        closing = self._text.find(b"}", self._at, last)
        if closing < 0:
            raise self._complaint("a `${` is not closed")
        name = self._text[self._at : closing + 1]
        self._at = closing + 1
        return name

    def _peek(self) -> bytes:
        return self._text[self._at : self._at + 1]

    def _skip_blank(self) -> None:
        while self._peek() in {b" ", b"\t"}:
            self._at += 1

    def _to_line_end(self) -> None:
        match = _LINE_END.search(self._text, self._at)
        self._at = match.start() if match else len(self._text)

    def _skip_line_end(self) -> None:
        match = _LINE_END.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _line_of(self, at: int) -> int:
        if self._line_ends is None:
            self._line_ends = [match.end() for match in _LINE_END.finditer(self._text)]
        return 1 + bisect_right(self._line_ends, at)

    def _complaint(self, words: str) -> AdapterError:
        return AdapterError(f"{words} ({self._file}:{self._line_of(self._at)})")


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", errors="surrogateescape")
