"""How many of a server's processes ended while it answered, as it was counted in one start."""

from collections.abc import Iterable

from httpdyno.model.base import Record


class ProcessExits(Record, frozen=True, omit_defaults=True):
    """Processes that ended under a load that was there for that alone, after all windows.

    Of all of the server's, those that nobody has asked yet how they ended too.
    """

    n: int = 0
    n_answers: int = 0
    """Right ones to that load; 0 where nothing was counted."""
    uncounted: str = ""
    """Why not, in words."""

    @property
    def per_request(self) -> float | None:
        """Ends of processes over answers; None where they were not counted."""
        return self.n / self.n_answers if self.n_answers > 0 and not self.uncounted else None


def exits_together(parts: Iterable[ProcessExits | None]) -> ProcessExits | None:
    """Return what those of several starts come to; None where none were counted. Pure."""
    known = [each for each in parts if each is not None and each.per_request is not None]
    if not known:
        return None
    return ProcessExits(
        n=sum(each.n for each in known), n_answers=sum(each.n_answers for each in known)
    )
