"""What looks at servers take of a run's time; pure.

They come once for each configuration, when the windows of the first start that has it are through:
not with every start, so they are reckoned apart from what a start takes.
"""

from httpdyno.experiment.looking import LOOK_S
from httpdyno.model import Record

COUNT_S = 1.0
"""Of counting one server's system calls, where none were counted yet: strace takes hold, 20 answers
come some ten times slower, for a second at the most, and it lets go. The bundled gunicorn takes
0.3 s (`bookmarks`, two virtual cores)."""
LEAST_COUNT_S = 0.1
"""What no count takes less than: it waits for quiet at both edges of its load."""


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
