"""The two consoles: results on stdout, everything else on stderr.

Other people's words cannot steer them: brackets in text are brackets, and no markup, of which a tag
that closes nothing would end the program. What is printed without them goes through
`standard_streams`.
"""

import re
import sys
from collections.abc import Iterator
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from httpdyno.host.foreign_text import visible


class SafeConsole(Console):
    """A console on which text cannot do what only rich itself may: move, colour, turn round."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Render, with all text made visible; rich's own control codes stay."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else visible(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)


_SPACES_AT_THE_END = re.compile(r"[ \t]+(?=\n|\Z)")


class _Trimmed:
    """A text file that gets no spaces at the ends of lines: tables are padded with them."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write the text; of a whole print, as rich does."""
        return self._file.write(_SPACES_AT_THE_END.sub("", text))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the file has
        return getattr(self._file, name)


def results() -> Console:
    """Return the console that results are printed on."""
    # Nothing is wrong with them on a terminal, where they may carry a colour.
    file: Any = None if sys.stdout.isatty() else _Trimmed(sys.stdout)
    return SafeConsole(file=file, highlight=False, emoji=False, markup=False)


def messages() -> Console:
    """Return the console for progress and remarks."""
    return SafeConsole(stderr=True, highlight=False, emoji=False, markup=False)
