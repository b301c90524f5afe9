"""How long something is waited for, counted in time in which we really looked.

A process can be stopped for a while (SIGSTOP, a suspended machine, a host that takes the CPU), and
the clock goes on meanwhile. Who then gives up because the time is over blames the server for what
it had no chance to do. So a gap between two looks counts as no more than `LONGEST_GAP_S`, however
long it was, and who waits looks much more often than that.
"""

import time
from collections.abc import Callable

LONGEST_GAP_S = 1.0
SLICE_S = 0.25
"""No single wait is longer, so that a gap is told from a wait."""


class Patience:
    """Time to wait that is used up by looking. Every wait with it has an end."""

    def __init__(self, timeout_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.timeout_s = timeout_s
        self._clock = clock
        self._looked_at_s = clock()
        self._spent_s = 0.0

    @property
    def spent_s(self) -> float:
        """How long was waited so far, without gaps."""
        now_s = self._clock()
        self._spent_s += min(now_s - self._looked_at_s, LONGEST_GAP_S)
        self._looked_at_s = now_s
        return self._spent_s

    @property
    def left_s(self) -> float:
        """How long may still be waited; never below 0."""
        return max(0.0, self.timeout_s - self.spent_s)

    @property
    def is_over(self) -> bool:
        """Whether it is used up. Whoever gives up for it tries once more: it may just be there."""
        return self.left_s <= 0

    @property
    def slice_s(self) -> float:
        """How long the next single wait may be; above 0."""
        return min(max(self.left_s, 0.001), SLICE_S)
