"""Sentences whose numbers stay with their units, also where a line must be broken."""

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

NO_BREAK = "\N{NO-BREAK SPACE}"


def held(text: str) -> str:
    """Return the text with each number held to its unit or noun, and a change in one piece.

    Spaces become spaces that do not break, one for one; nothing else changes.
    """
    text = re.sub(r"(?<=\d) (?=[^\W\d]|[%×])", NO_BREAK, text)
    return re.sub(r"(?<=[\w%]) (…|→) (?=[\w∞])", rf"{NO_BREAK}\1{NO_BREAK}", text)


class Prose:
    """A styled text that breaks at its spaces, but not between a number and its unit."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines as they fit."""
        del console
        for line in self.text.split("\n", allow_blank=True):
            for part in line.divide(_breaks(line.plain, options.max_width)):
                part.rstrip()
                yield part

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the least and the most width that it can use."""
        del console
        width = max((cell_len(line) for line in self.text.plain.splitlines()), default=0)
        return Measurement(1, max(1, min(width, options.max_width)))


def _breaks(line: str, width: int) -> Iterator[int]:
    """Yield where lines begin after the first one, as offsets."""
    used = 0
    for chunk in re.finditer(r" *[^ ]+ *", held(line)):
        size = cell_len(chunk[0].rstrip(" "))
        if used and used + size > width:
            yield chunk.start()
            used = 0
        used += cell_len(chunk[0])
