"""What a macro says of paths and addresses, put into the copy's own place behind a wall. Pure.

A macro's lines are text with parameters, and one edit has to be right for each of its uses. What
comes of the uses is known from what is in force; where no one edit is right, it is said by name.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Reading, Survey
from httpdyno.servers.apache.lines import Line, quoted, words
from httpdyno.servers.apache.proxied import passed_on, passes_on
from httpdyno.servers.stack.adapter import Seat

_NO_FILE = ("|", "syslog")
_TO_FILE = "macro-{}-{}.log"


@dataclass(frozen=True, kw_only=True, slots=True)
class MacroLine:
    """A line of a macro that is used."""

    line: Line
    macro: str
    file: str
    uses: tuple[str, ...]
    """Its arguments as they come of each use."""

    def complaint(self, what: str) -> AdapterError:
        """Return what says that the line cannot be what a copy needs."""
        return AdapterError(
            f"line {self.line.number} of `{self.file}`, in the macro `{self.macro}`: {what} "
            f"`{self.line.arguments}` cannot be moved into the copy's own place behind a wall",
            hint="Have a cell, where nothing is rewritten: `--isolation cell`.",
        )


def macro_lines(file: str, lines: Sequence[Line], survey: Survey) -> Iterator[MacroLine]:
    """Yield the lines of a file's macros that are used, each with what comes of it."""
    by_macro: dict[str, list[Reading]] = {}
    for reading in survey.readings:
        if reading.origin is not None and reading.origin.file.startswith("macro '"):
            where = reading.origin.file.partition(" used on ")[0]
            by_macro.setdefault(where, []).append(reading)
    opening: Line | None = None
    for line in lines:
        name = line.name.lower()
        if name == "<macro":
            opening = line
        elif name == "</macro>":
            opening = None
        elif opening is not None:
            macro = (words(opening.arguments) or [""])[0]
            where = f"macro '{macro.lower()}' (defined on line {opening.number} of \"{file}\")"
            if where in by_macro:
                of_line = [
                    reading.text
                    for reading in by_macro[where]
                    if reading.origin is not None
                    and reading.origin.line == line.nth - opening.nth
                    and reading.name.lower() == name
                ]
                yield MacroLine(
                    line=line,
                    macro=macro,
                    file=file,
                    uses=tuple(of_line),
                )


def path_in_macro(found: MacroLine, root: str, seat: Seat) -> str:
    """Return the line's arguments with its path below the seat.

    Raises:
        AdapterError: No one text is right for all uses.
    """
    given = words(found.line.arguments)
    if not given:
        return found.line.arguments
    paths = [words(use)[0] for use in found.uses if words(use)]
    if paths and all(path.startswith(_NO_FILE) for path in paths):
        # A program may do anything with the lines; the file has them all the same.
        name = _TO_FILE.format(found.macro, found.line.name).lower()
        new = seat.path(posixpath.join(root, re.sub(r"[^a-z0-9.]+", "-", name)))
        return " ".join([quoted(new), *map(quoted, given[1:])])
    top = seat.path("/").rstrip("/")
    for before in (top, f"{top}{root.rstrip('/')}/"):
        if paths and all(_is_right(before, path, root, seat) for path in paths):
            return " ".join([quoted(f"{before}{given[0]}"), *map(quoted, given[1:])])
    raise found.complaint(found.line.name)


def address_in_macro(found: MacroLine, survey: Survey, seat: Seat) -> str:
    """Return the line's arguments with the copy's addresses for what is passed on.

    Raises:
        AdapterError: They depend on how the macro is used.
    """
    name = found.line.name.lower()
    if not passes_on(name, found.line.arguments):
        return found.line.arguments
    new = passed_on(name, found.line.arguments, survey, seat)
    if new == found.line.arguments and any(
        passed_on(name, use, survey, seat) != use for use in found.uses
    ):
        raise found.complaint(found.line.name)
    return new


def _is_right(before: str, path: str, root: str, seat: Seat) -> bool:
    return not path.startswith(_NO_FILE) and (
        f"{before}{path}" == seat.path(posixpath.join(root, path))
    )
