"""What looks at servers take of a run's time; pure.

They come once for each configuration, when the windows of the first start that has it are through:
not with every start, so they are reckoned apart from what a start takes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from httpdyno.experiment.looking import LOOK_S
from httpdyno.metrics import sources
from httpdyno.model import Configuration, Record, Study

COUNT_S = 1.0
"""Of counting one server's system calls, where none were counted yet: strace takes hold, 20 answers
come some ten times slower, for a second at the most, and it lets go. The bundled gunicorn takes
0.3 s (`bookmarks`, two virtual cores)."""
LEAST_COUNT_S = 0.1
"""What no count takes less than: it waits for quiet at both edges of its load."""

LEAST_WORDS_S = 0.1
"""What counting the words of a header may always take of a server."""


class HeaderCost(NamedTuple):
    """What counting the words of a header takes of one server."""

    each_s: float = 0.0
    """In each start, at the least: up to two seconds where there is time, or a turn of phases."""
    once_s: float = 0.0
    """In the first start of a comparison alone."""


def header_cost(study: Study) -> HeaderCost:
    """Return what the header that a study counts takes of each server; nothing without one."""
    if not study.counted_header:
        return HeaderCost()
    if study.method.phases:
        turn_s = study.method.turn_s
        return (
            HeaderCost(each_s=turn_s)
            if "header words" in sources(study.objective.named)
            else HeaderCost(once_s=turn_s)
        )
    return HeaderCost(each_s=LEAST_WORDS_S)


def header_turns_s(study: Study, comparisons: Iterable[Sequence[Configuration]]) -> float:
    """Return what counting words takes in the first starts alone of comparisons that begin."""
    return header_cost(study).once_s * sum(map(len, comparisons))


class LookCost(Record, frozen=True):
    """What the looks so far took."""

    n_looks: int = 0
    looks_s: float = 0.0
    """With the longer ones that replaced some of them."""
    n_counts: int = 0
    """Servers whose system calls were counted as well, or were to be."""
    counts_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.looks_s + self.counts_s

    def __add__(self, other: "LookCost") -> "LookCost":
        """Return what both took together."""
        return LookCost(
            n_looks=self.n_looks + other.n_looks,
            looks_s=self.looks_s + other.looks_s,
            n_counts=self.n_counts + other.n_counts,
            counts_s=self.counts_s + other.counts_s,
        )

    def expected_s(self, n_looks: int, n_counts: int) -> float:
        """Return what so many more are expected to take: as those before did, in the mean."""
        look_s = self.looks_s / self.n_looks if self.n_looks else LOOK_S
        count_s = self.counts_s / self.n_counts if self.n_counts else COUNT_S
        return n_looks * look_s + n_counts * count_s
