"""A configuration file as Apache takes it apart: logical lines, and where they stand. Pure.

A backslash at the very end of a line joins it with the next one, also in comments; Apache names
such a line by its last number, in its dump and in its complaints.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.model import Origin

_PHYSICAL = re.compile(rb"[^\n]*(?:\n|\Z)")
_NAME = re.compile(rb"(?:\\\r?\n|[ \t\f\v\r])*([^\s]+)")
_SPACE = re.compile(rb"(?:\\\r?\n|[ \t\f\v\r])*")
_JOINT = re.compile(r"\\\r?\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A logical line that holds a directive, or opens or closes a section."""

    number: int
    """As Apache names it: of its last physical line, from 1."""
    first: int
    """Of its first physical line."""
    nth: int
    """Which one of those that are not empty it is, comments too: so Apache counts in a macro."""
    start: int
    """Byte at which its first physical line starts."""
    end: int
    """Byte after its text; the end of its last physical line is not part of it."""
    name: str
    """The directive, or `<Section` or `</Section>`, as it is written."""
    arguments: str
    """As one line, with quotes; without the `>` of a section."""
    arguments_start: int
    arguments_end: int
    joints: int
    """How many times its arguments go on in a further physical line."""
    indentation: str


def lines_of(text: bytes) -> list[Line]:
    """Return the logical lines of a file that are no comments and not empty."""
    found: list[Line] = []
    start = number = first = nth = 0
    begun: int | None = None
    for match in _PHYSICAL.finditer(text):
        if match.start() == match.end() and begun is None:
            continue
        number += 1
        if begun is None:
            begun, first = match.start(), number
        bare = match[0].removesuffix(b"\n").removesuffix(b"\r")
        if bare.endswith(b"\\") and match[0].endswith(b"\n"):
            continue
        start, begun = begun, None
        end = match.start() + len(bare)
        nth += bool(text[start:end].strip())
        line = _line(text, start, end, (first, number, nth))
        if line is not None:
            found.append(line)
    return found


def _line(text: bytes, start: int, end: int, numbers: tuple[int, int, int]) -> Line | None:
    while end > start and text[end - 1 : end] in (b" ", b"\t", b"\r", b"\f", b"\v"):
        end -= 1
    match = _NAME.match(text, start, end)
    if match is None or match[1].startswith(b"#"):
        return None
    raw = match[1]
    name_end = match.end(1)
    is_section = raw.startswith(b"<") and not raw.startswith(b"</")
    if is_section and raw.endswith(b">"):
        raw, name_end = raw[:-1], name_end - 1
    # A name runs up to a continuation, too.
    raw = raw.removesuffix(b"\\")
    at = name_end
    if (space := _SPACE.match(text, at, end)) is not None:
        at = space.end()
    arguments_end = end
    if is_section and text[end - 1 : end] == b">":
        arguments_end -= 1
    arguments_end = max(arguments_end, at)
    joined = _JOINT.sub("", _decoded(text[at:arguments_end]))
    first_line = text[start:end]
    return Line(
        number=numbers[1],
        first=numbers[0],
        nth=numbers[2],
        start=start,
        end=end,
        name=_decoded(raw),
        arguments=joined.strip(),
        arguments_start=at,
        arguments_end=arguments_end,
        joints=text.count(b"\n", at, arguments_end),
        indentation=_decoded(first_line[: len(first_line) - len(first_line.lstrip(b" \t"))]),
    )


def _decoded(text: bytes) -> str:
    # What is read is stored, as UTF-8; what is changed is a span of bytes, whatever they are.
    return text.decode("utf-8", errors="replace")


def words(arguments: str) -> list[str]:
    r"""Return arguments without their quotes, as Apache splits them; `\"` is a quote inside."""
    found: list[str] = []
    at = 0
    while at < len(arguments):
        if arguments[at].isspace():
            at += 1
            continue
        quote = arguments[at] if arguments[at] in "\"'" else ""
        at += len(quote)
        word = ""
        while at < len(arguments):
            character = arguments[at]
            if character == "\\" and arguments[at + 1 : at + 2] in ("\\", quote or "\\"):
                word += arguments[at + 1]
                at += 2
                continue
            if character == quote or (not quote and character.isspace()):
                break
            word += character
            at += 1
        at += 1
        found.append(word)
    return found


def quoted(argument: str) -> str:
    r"""Return one argument as it is written: in quotes where it needs them."""
    if argument and not re.search(r"[\s\"'\\]", argument):
        return argument
    return '"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Places:
    """Where directives stand in the files that were read."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts
        self._lines: dict[str, dict[int, Line]] = {}

    def lines(self, file: str) -> dict[int, Line]:
        """Return a file's logical lines by Apache's numbers; empty where it was not read."""
        if file not in self._lines:
            text = self._texts.get(file)
            self._lines[file] = {} if text is None else {n.number: n for n in lines_of(text)}
        return self._lines[file]

    def line(self, file: str, number: int, name: str) -> Line | None:
        """Return the line if that is what stands there; None where Apache made it up itself.

        Directives of `-c`, of macros and of Perl have no line of their own.
        """
        line = self.lines(file).get(number)
        return line if line is not None and line.name.lower() == name.lower() else None

    def origin(self, file: str, number: int, name: str) -> Origin:
        """Return where a directive's arguments stand; no span where no file has them."""
        line = self.line(file, number, name)
        if line is None:
            return Origin(file=file, line=number, start=0, end=0)
        return Origin(file=file, line=number, start=line.arguments_start, end=line.arguments_end)
