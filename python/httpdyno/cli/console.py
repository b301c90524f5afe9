"""The two consoles: results on stdout, everything else on stderr.

Other people's words cannot steer them; what is printed without them goes through `door`.
"""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from httpdyno.foreign import visible


class SafeConsole(Console):
    """A console on which text cannot do what only rich itself may: move, colour, turn round."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Render, with all text made visible; rich's own control codes stay."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else visible(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)


def results() -> Console:
    """Return the console that results are printed on."""
    return SafeConsole(highlight=False, emoji=False)


def messages() -> Console:
    """Return the console for progress and remarks."""
    return SafeConsole(stderr=True, highlight=False, emoji=False)
