"""Names that a server asked its own resolver for, over the windows of its load."""

from collections.abc import Callable

from msgspec import structs

from httpdyno.model import Telemetry


class LookupCollector:
    """By what the resolver counts."""

    def __init__(self, n_lookups: Callable[[], int | None]) -> None:
        """Take what says how many questions there were so far, None where that is not known."""
        self._n_lookups = n_lookups
        self._before: int | None = None

    def open(self) -> None:
        """Take note of the count as a window opens."""
        self._before = self._n_lookups()

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Return `seen` with the questions since `open`."""
        del is_last
        now = self._n_lookups()
        if now is None or self._before is None:
            return seen
        return structs.replace(seen, lookups=now - self._before)
