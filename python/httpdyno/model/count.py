"""How often something happened while a server answered, as it was counted in one start."""

from collections.abc import Iterable

from httpdyno.model.base import Record
from httpdyno.reason import Reason


class Count(Record, frozen=True, omit_defaults=True):
    """What was counted under a load that was there for that alone, after all windows."""

    n: int = 0
    n_answers: int = 0
    """Right ones to that load; 0 where nothing was counted."""
    uncounted: Reason | None = None
    """Why not."""

    @property
    def per_request(self) -> float | None:
        """Over answers; None where nothing was counted."""
        return self.n / self.n_answers if self.n_answers > 0 and self.uncounted is None else None


def counts_together(parts: Iterable[Count | None]) -> Count | None:
    """Return what those of several starts come to; None where nothing was counted. Pure."""
    known = [each for each in parts if each is not None and each.per_request is not None]
    if not known:
        return None
    return Count(n=sum(each.n for each in known), n_answers=sum(each.n_answers for each in known))
