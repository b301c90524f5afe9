"""Lines that stay in place on a terminal while something runs, and the words in them."""

import os
import select
import sys
import termios
import time
import tty
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from httpdyno.cli.standard_streams import say, tell
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


_CONTROLS = 6
"""Where `termios.tcgetattr` has the control characters."""
_PIECE_BYTES = 1024


class Keyboard:
    """Takes keys as they are pressed, unseen; the terminal is afterwards as it was.

    Where stdin is no terminal, or another program's turn, no key is ever pressed. Ctrl-C stays
    what it is. Ctrl-Z does nothing: a shell would be left with half a view.
    """

    def __init__(self) -> None:
        self._handle: int | None = None
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        try:
            handle = sys.stdin.fileno()
            is_ours = os.isatty(handle) and os.tcgetpgrp(handle) == os.getpgrp()
        except (AttributeError, OSError, ValueError):  # closed, or none at all
            return self
        if is_ours:
            self._before = termios.tcgetattr(handle)
            self._handle = handle
            tty.setcbreak(handle)
            now = termios.tcgetattr(handle)
            now[_CONTROLS][termios.VSUSP] = b"\0"
            termios.tcsetattr(handle, termios.TCSADRAIN, now)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._handle is not None:
            with cleaning():
                # What was typed meanwhile was not meant for the shell.
                termios.tcsetattr(self._handle, termios.TCSAFLUSH, self._before)
            self._handle = None

    def pressed(self, timeout_s: float) -> str:
        """Wait for keys; return them, empty when the time is up."""
        if self._handle is None:
            time.sleep(timeout_s)
            return ""
        ready, _, _ = select.select([self._handle], [], [], timeout_s)
        if not ready:
            return ""
        keys = os.read(self._handle, _PIECE_BYTES).decode("latin-1")
        if not keys:  # the terminal is gone
            self._handle = None
        return keys


Seen = TypeVar("Seen")

KEYS = "q quits"
_QUIT = "q"


class LiveLooks(ABC, Generic[Seen]):
    """What is looked at again and again; what a look tells is a value of the subclass."""

    def __init__(self, every_s: float) -> None:
        self.every_s = every_s
        self._last: Seen | None = None
        self._n_looks = 0
        self.is_last = False
        """Whether a look is the last that was asked for: what is not told at it never is."""

    @abstractmethod
    def look(self, before: Seen | None) -> Seen | None:
        """Return what is known now, after what was known at the look before; None at its end."""

    @abstractmethod
    def has_rates(self, seen: Seen) -> bool:
        """Whether a look tells what happened since the one before."""

    @abstractmethod
    def line(self, seen: Seen) -> str:
        """Return a look in a line."""

    def hidden_text(self, seen: Seen) -> str:
        """Return what lines leave out, since it may not be seen, and is told once; empty: none."""
        return ""

    @abstractmethod
    def shown(self, seen: Seen, *, n_lines: int | None = None, keys: str = "") -> RenderableType:
        """Return a look as it stands on a terminal of so many lines, or of any number of them."""

    @abstractmethod
    def end_text(self) -> str:
        """Return that there are no more looks, and why."""

    def twice(self) -> Seen | None:
        """Return what two looks tell; None when it ended before the second."""
        for seen in self._looks(self._asleep, 1):
            if self.has_rates(seen):
                return seen
        return None

    def lines(self, n_looks: int | None) -> None:
        """Print a line for each look from the second on: before that there are no rates."""
        for seen in self._looks(self._asleep, n_looks):
            if self.has_rates(seen):
                self._say(self.line(seen))
            elif hidden := self.hidden_text(seen):
                tell(hidden)
        self._tell_end(n_looks)

    def view(self, console: Console, n_looks: int | None) -> None:
        """Keep a view on the whole terminal until it is left; the last line stays."""
        has_quit = False

        with Keyboard() as keyboard, _Display(console, self) as display:

            def is_left(timeout_s: float) -> bool:
                nonlocal has_quit
                has_quit = _QUIT in keyboard.pressed(timeout_s).lower()
                return has_quit

            for seen in self._looks(is_left, n_looks):
                display.show(seen)
        if self._last is not None:
            self._say(self.line(self._last))
        if not has_quit:
            self._tell_end(n_looks)

    def _looks(self, waits: Callable[[float], bool], n_looks: int | None) -> Iterator[Seen]:
        """Yield what is known with each look.

        Args:
            waits: Waits so many seconds, or less; returns whether to end.
            n_looks: How many there are after the first; None: until it ends.
        """
        due_s = time.monotonic()
        while n_looks is None or self._n_looks <= n_looks:
            while (left_s := due_s - time.monotonic()) > 0:
                if waits(left_s):
                    return
            self.is_last = self._n_looks == n_looks
            seen = self.look(self._last)
            if seen is None:
                return
            self._last = seen
            self._n_looks += 1
            yield seen
            # Those that are missed, as while the machine was suspended, are not made up for.
            due_s = max(due_s + self.every_s, time.monotonic())

    @staticmethod
    def _asleep(timeout_s: float) -> bool:
        time.sleep(timeout_s)
        return False

    def _tell_end(self, n_looks: int | None) -> None:
        """Say that it ended, where that is why there are no more looks."""
        if n_looks is None or self._n_looks <= n_looks:
            self._say(self.end_text())

    @staticmethod
    def _say(line: str) -> None:
        say(line)
        # Whoever reads a pipe wants each line when it comes.
        sys.stdout.flush()


class _Display(LiveDisplay, Generic[Seen]):
    is_screen = True
    redraws_per_s = 1.0
    """Besides that after each look: for a terminal whose size has changed."""

    def __init__(self, console: Console, looks: LiveLooks[Seen]) -> None:
        super().__init__(console)
        self._looks = looks
        self._seen: Seen | None = None

    def show(self, seen: Seen) -> None:
        self._seen = seen
        if self._live is not None:
            self._live.refresh()

    def shown(self) -> RenderableType:
        if self._seen is None:
            return ""
        return self._looks.shown(self._seen, n_lines=self._console.size.height, keys=KEYS)
