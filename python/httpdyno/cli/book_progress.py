"""What an experiment of the book is at, on a terminal, where no run of a study shows it."""

import time

from rich.console import Console
from rich.text import Text

from httpdyno.cli.live_display import LiveDisplay, one_line, whole_seconds


class BookProgress(LiveDisplay):
    """Is told in words; use it as a context manager around the experiment."""

    redraws_per_s = 1.0
    """The load client may have the core that draws."""

    def __init__(self, console: Console, name: str) -> None:
        super().__init__(console)
        self._name, self._words = name, ""
        self._began_s = time.monotonic()

    def __call__(self, words: str) -> None:
        """Take what is done now; drawn with the next redraw."""
        self._words = words

    def shown(self) -> Text:
        """Return the live line as it is now."""
        now_s = time.monotonic()
        what = Text(f"{self._name}  {self._words}".rstrip())
        times = whole_seconds(now_s - self._began_s)
        return one_line(what, times, self._console.width, now_s=now_s)
