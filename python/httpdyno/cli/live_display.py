"""Lines that stay in place on a terminal while something runs, and the words in them."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from httpdyno.host.interruption import cleaning

_FRAMES_PER_S = 4.0
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class LiveDisplay:
    """Keeps what `shown` returns on a terminal, and off it again at the end."""

    redraws_per_s = 4.0
    """Each takes a third of a millisecond of CPU time, and more on slow machines."""
    is_screen = False
    """Whether it has the whole terminal, which then shows again what it showed before."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None

    def shown(self) -> RenderableType:
        """Return what stands there now."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(
                get_renderable=self.shown,
                console=self._console,
                refresh_per_second=self.redraws_per_s,
                transient=True,
                screen=self.is_screen,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            # A terminal that is left half-way has no cursor, or shows another screen.
            with cleaning():
                self._live.stop()
            self._live = None


class LiveLine(LiveDisplay):
    """One line: a name, what is told of it, and for how long."""

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


def one_line(what: Text, times: str, width: int, *, now_s: float) -> Text:
    """Return a live line; where the width does not do, it is `what` that is cut."""
    frame = _FRAMES[int(now_s * _FRAMES_PER_S) % len(_FRAMES)]
    status = what.copy()
    status.truncate(max(0, width - len(times) - 4), overflow="ellipsis")
    line = Text.assemble((frame, "cyan"), " ", status, (f"  {times}", "dim"))
    line.truncate(width)
    return line


def whole_seconds(seconds: float) -> str:
    """Return a duration in whole seconds, minutes apart: `1 min 20 s`."""
    whole = max(0, round(seconds))
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"  # noqa: PLR2004
