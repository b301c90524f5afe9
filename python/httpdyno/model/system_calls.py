"""How many system calls an answer takes, as they were counted in one start of a server."""

import math
from collections.abc import Iterable

import msgspec

from httpdyno.model.base import Record
from httpdyno.reason import Reason


class SystemCalls(Record, frozen=True, omit_defaults=True):
    """System calls of an answer, counted by strace when all windows of a start were through.

    Those of all of the server's processes that took part, over answers to one client after the
    other. What a connection and the time zone's file take is in none of them.
    """

    per_request: float = 0.0
    """Of all kinds together."""
    by_kind: dict[str, float] = msgspec.field(default_factory=dict)
    """By kind (`telemetry.syscalls.trace`), without those that no answer took. Among them
    `.htaccess`, opens of such a file, and `missing`, looks for a file that there is not: both are
    counted as what they are, too."""
    n_answers: int = 0
    """Over so many; 0 where they could not be counted."""
    untraced: Reason | None = None
    """Why not."""

    def of(self, kind: str) -> float:
        """Return those of a kind; of all where it is empty."""
        return self.by_kind.get(kind, 0.0) if kind else self.per_request


def calls_together(parts: Iterable[SystemCalls | None]) -> SystemCalls | None:
    """Return the system calls of an answer over several starts; None where none were counted."""
    known = [each for each in parts if each is not None]
    if not known:
        return None
    n_answers = sum(each.n_answers for each in known)

    def mean(kind: str) -> float:
        return math.fsum(each.of(kind) * each.n_answers for each in known) / n_answers

    kinds = dict.fromkeys(kind for each in known for kind in each.by_kind)
    return SystemCalls(
        per_request=mean(""), by_kind={kind: mean(kind) for kind in kinds}, n_answers=n_answers
    )
