"""Looks at a server, one each so and so long, shown as they come: on a terminal, or in lines."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rich.console import Console

from httpdyno.cli.keyboard import Keyboard
from httpdyno.cli.live_display import LiveDisplay
from httpdyno.cli.standard_streams import say, tell
from httpdyno.report.watch.line import watch_line
from httpdyno.report.watch.phrase import behind_text, beside_text
from httpdyno.report.watch.view import View
from httpdyno.servers.source.behind import Behind
from httpdyno.servers.source.process import ProcessFacts
from httpdyno.telemetry.watched import Watched, Watcher, first_look, next_look
from httpdyno.units import format_guess

ENDED = "the server has ended"
_QUIT = "q"


class Watching:
    """What is watched, and how often."""

    def __init__(  # noqa: PLR0913 - what a view is made of
        self,
        *,
        watcher: Watcher,
        title: str,
        every_s: float,
        kind: str = "",
        behind: Sequence[Behind] = (),
        beside: Sequence[ProcessFacts] = (),
    ) -> None:
        self.title = title
        self.kind = kind
        self.behind = tuple(behind)
        """Servers whose CPU time is in no figure."""
        self.beside = tuple(beside)
        """Processes of its unit that are in no figure."""
        self.every_s = every_s
        self._watcher = watcher
        self._last: Watched | None = None

    def shown(self, seen: Watched) -> View:
        """Return a view of what was seen, of any height."""
        return View(
            title=self.title,
            watched=seen,
            every_s=self.every_s,
            kind=self.kind,
            behind=self.behind,
            beside=self.beside,
        )

    def twice(self) -> Watched | None:
        """Return what two looks tell; None when the server ended before the second."""
        seen = None
        for seen in self._looks(self._asleep, 1):
            if seen.change is not None:
                return seen
        return None

    def lines(self, n_looks: int | None) -> None:
        """Print a line for each look from the second on: before that there are no rates."""
        if misses := behind_text(self.behind):
            tell(f"CPU time is without {misses}")
        if self.beside:
            tell(beside_text(self.beside))
        for seen in self._looks(self._asleep, n_looks):
            if seen.change is not None:
                self._say(watch_line(seen, self.every_s))
            elif seen.now.disk is not None and seen.now.disk.hidden:
                tell(seen.now.disk.hidden)
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
            self._say(watch_line(self._last, self.every_s))
        if not has_quit:
            self._tell_end(n_looks)

    def _looks(self, waits: Callable[[float], bool], n_looks: int | None) -> Iterator[Watched]:
        """Yield what is known with each look.

        Args:
            waits: Waits so many seconds, or less; returns whether to end.
            n_looks: How many there are after the first; None: until it ends.
        """
        due_s = time.monotonic()
        while n_looks is None or self._last is None or self._last.n_looks <= n_looks:
            while (left_s := due_s - time.monotonic()) > 0:
                if waits(left_s):
                    return
            look = self._watcher.look()
            if look is None:
                return
            self._last = next_look(self._last, look) if self._last else first_look(look)
            yield self._last
            # Those that are missed, as while the machine was suspended, are not made up for.
            due_s = max(due_s + self.every_s, time.monotonic())

    @staticmethod
    def _asleep(timeout_s: float) -> bool:
        time.sleep(timeout_s)
        return False

    def _tell_end(self, n_looks: int | None) -> None:
        """Say that it ended, where that is why there are no more looks."""
        n_seen = 0 if self._last is None else self._last.n_looks
        if n_looks is None or n_seen <= n_looks:
            since_s = 0.0 if self._last is None else self._last.since_s
            self._say(f"{ENDED}, after {format_guess(since_s)}")

    @staticmethod
    def _say(line: str) -> None:
        say(line)
        # Whoever reads a pipe wants each line when it comes.
        sys.stdout.flush()


class _Display(LiveDisplay):
    is_screen = True
    redraws_per_s = 1.0
    """Besides that after each look: for a terminal whose size has changed."""

    def __init__(self, console: Console, watching: Watching) -> None:
        super().__init__(console)
        self._watching = watching
        self._seen: Watched | None = None

    def show(self, seen: Watched) -> None:
        self._seen = seen
        if self._live is not None:
            self._live.refresh()

    def shown(self) -> View | str:
        if self._seen is None:
            return ""
        n_lines = self._console.size.height
        return replace(self._watching.shown(self._seen), n_lines=n_lines, keys="q quits")
