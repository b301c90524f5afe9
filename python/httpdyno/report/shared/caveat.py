"""Warnings as people read them: a kind and a sentence."""

from collections.abc import Iterable

from httpdyno.model import Record, ResultWarning
from httpdyno.report.shared.message import text


class Caveat(Record, frozen=True):
    """A warning in words."""

    kind: str
    """Such as `shared_cores`, `client_limited`, `dropped_starts`."""
    message: str


def caveat(warning: ResultWarning) -> Caveat:
    """Return a warning in words, with the parts of the run that have it."""
    where = f"{', '.join(warning.within)}: " if warning.within else ""
    return Caveat(kind=warning.code.partition(".")[2], message=f"{where}{text(warning.reason)}")


def caveats(warnings: Iterable[ResultWarning]) -> tuple[Caveat, ...]:
    """Return warnings in words, in their order."""
    return tuple(map(caveat, warnings))
