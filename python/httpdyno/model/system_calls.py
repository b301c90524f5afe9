"""How many system calls an answer takes, as they were counted in one start of a server."""

import msgspec

from httpdyno.model.base import Record


class SystemCalls(Record, frozen=True, omit_defaults=True):
    """System calls of an answer, counted by strace when all windows of a start were through.

    Those of all of the server's processes that took part, over answers to one client after the
    other. What a connection and the time zone's file take is in none of them.
    """

    per_request: float = 0.0
    """Of all kinds together."""
    by_kind: dict[str, float] = msgspec.field(default_factory=dict)
    """By kind (`telemetry.census.kind`), without those that no answer took. Among them
    `.htaccess`, opens of such a file, and `missing`, looks for a file that there is not: both are
    counted as what they are, too."""
    n_answers: int = 0
    """Over so many; 0 where they could not be counted."""
    untraced: str = ""
    """Why not, in words."""

    def of(self, kind: str) -> float:
        """Return those of a kind; of all where it is empty."""
        return self.by_kind.get(kind, 0.0) if kind else self.per_request
