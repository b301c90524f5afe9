"""Looks at what changes, one each so and so long, shown as they come: as a view, or in lines."""

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from rich.console import Console, RenderableType

from httpdyno.cli.keyboard import Keyboard
from httpdyno.cli.live_display import LiveDisplay
from httpdyno.cli.standard_streams import say, tell

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
