"""Looks at a server that runs, one each so and so long."""

from collections.abc import Sequence

from httpdyno.cli.live_looks import LiveLooks
from httpdyno.cli.standard_streams import tell
from httpdyno.model import Behind
from httpdyno.report.shared.bottleneck import behind_text
from httpdyno.report.shared.message import text
from httpdyno.report.watch.line import watch_line
from httpdyno.report.watch.phrase import beside_text
from httpdyno.report.watch.view import View
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.telemetry.watched import Watched, Watcher, first_look, next_look
from httpdyno.units import format_guess

ENDED = "the server has ended"


class Watching(LiveLooks[Watched]):
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
        super().__init__(every_s)
        self.title = title
        self.kind = kind
        self.behind = tuple(behind)
        """Servers whose CPU time is in no figure."""
        self.beside = tuple(beside)
        """Processes of its unit that are in no figure."""
        self._watcher = watcher

    def look(self, before: Watched | None) -> Watched | None:
        """Return what is known with one look more; None when the server has ended."""
        look = self._watcher.look(is_last=self.is_last)
        if look is None:
            return None
        return next_look(before, look) if before else first_look(look)

    def has_rates(self, seen: Watched) -> bool:
        """Whether it is not the first look."""
        return seen.change is not None

    def line(self, seen: Watched) -> str:
        """Return a look in a line."""
        return watch_line(seen, self.every_s)

    def hidden_text(self, seen: Watched) -> str:
        """Return that reads and writes of the disk may not be seen; empty where they may."""
        disk = seen.now.disk
        return text(disk.hidden) if disk and disk.hidden else ""

    def shown(self, seen: Watched, *, n_lines: int | None = None, keys: str = "") -> View:
        """Return a view of what was seen."""
        return View(
            title=self.title,
            watched=seen,
            every_s=self.every_s,
            kind=self.kind,
            n_lines=n_lines,
            behind=self.behind,
            beside=self.beside,
            keys=keys,
        )

    def end_text(self) -> str:
        """Return that the server ended, and how long it was watched."""
        return f"{ENDED}, after {format_guess(self._last.since_s if self._last else 0.0)}"

    def lines(self, n_looks: int | None) -> None:
        """Say first what no figure has; then a line for each look."""
        if misses := behind_text(self.behind):
            tell(f"CPU time is without {misses}")
        if self.beside:
            tell(beside_text(self.beside))
        super().lines(n_looks)
