"""Windows of different workloads, one load after the other, as if they were one."""

import math
import time
from collections.abc import Callable, Sequence

from httpdyno.load.engine import LoadHandle
from httpdyno.model import Measurement


class LoadsInTurn:
    """Loads of one window each; every one is begun when the one before it is over."""

    def __init__(self, starts: Sequence[Callable[[], LoadHandle]], arms: Sequence[int]) -> None:
        """Begin the first.

        Args:
            starts: Each starts a load of one window of one arm; (n_windows,).
            arms: The arm of each in the whole plan; (n_windows,).
        """
        self._starts = starts
        self._arms = arms
        self._begun: list[LoadHandle] = [starts[0]()]
        self._is_stopped = False

    def wait(self, timeout_s: float = math.inf) -> bool:
        """Wait until all are over; True when they are. Ctrl-C comes through.

        Raises:
            EngineError: The engine failed.
        """
        deadline_s = time.monotonic() + timeout_s
        while self._begun[-1].wait(max(0.0, deadline_s - time.monotonic())):
            if self._is_stopped or len(self._begun) == len(self._starts):
                return True
            self._begun.append(self._starts[len(self._begun)]())
        return False

    def stop(self) -> None:
        """Begin no other, and end the one under way soon."""
        self._is_stopped = True
        self._begun[-1].stop()

    def entrances(self) -> dict[int, Measurement]:
        """Return what the first steps came to, of the arms that had their turn so far; by arm."""
        found: dict[int, Measurement] = {}
        for arm, handle in zip(self._arms, self._begun, strict=False):
            for each in handle.entrances().values():
                found.setdefault(arm, each)
        return found

    def measurements(self) -> list[Measurement]:
        """Return the windows that ended so far, in order."""
        return [each for handle in self._begun for each in handle.measurements()]
