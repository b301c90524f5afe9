"""What a run knows of its configurations' cycles, and for how many of them it has users settle.

How long windows must be follows from the cycles that were seen (`window_choice.py`), which is right
for a loop whose cycles do not hang on one another. Where a server takes longer to come to rest than
its cycles say, because a neighbour of the machine does something or the server's own period beats
with them, the throughput by Little's law differs from the credited one and the interval is wider by
as much (`doubt.py`). More starts of the same kind would differ alike. So users then settle for
twice as long, and windows are longer; what was measured stays in, and weighs less the longer the
later windows are. It costs that comparison its time, and no other one: a server that comes to rest
late in one seldom does in the next, and where nothing is to be claimed, as in a calibration,
nothing is refused.
"""

from collections.abc import Mapping, Sequence

from httpdyno.experiment.littles_law import little_check
from httpdyno.experiment.session import CALIBRATION_INDEX
from httpdyno.experiment.window_choice import CycleMoments
from httpdyno.model import StartRecord

LONGER = 2.0
"""Each time."""
MOST = 4.0
"""What takes longer than that has no steady throughput, and the law says so in the claim."""
_FEWEST = 3
"""Starts of which chance is known well enough."""


class KnownCycles:
    """By a configuration's label; of starts that nothing disturbed."""

    def __init__(self) -> None:
        self._moments: dict[str, CycleMoments] = {}
        self._settling: dict[str, float] = {}
        self._unjudged: dict[str, list[StartRecord]] = {}
        """What was measured since the last time that windows became longer."""
        self._comparison: int | None = None

    def has(self, labels: Sequence[str]) -> bool:
        """Whether something is known of each."""
        return self._moments.keys() >= set(labels)

    def settling(self, label: str) -> float:
        """Return how many times as long as its cycles say users settle; from 1 to `MOST`."""
        return self._settling.get(label, 1.0)

    def of(self, labels: Sequence[str]) -> dict[int, CycleMoments]:
        """Return by the arm's number what windows are to be chosen by, where something is known."""
        return {
            number: self._moments[label].settling_for(self.settling(label))
            for number, label in enumerate(labels)
            if label in self._moments
        }

    def add(self, labels: Sequence[str], seen: Mapping[int, CycleMoments]) -> None:
        """Add what starts of these arms show of their cycles."""
        for number, moments in seen.items():
            label = labels[number]
            self._moments[label] = self._moments.get(label, CycleMoments()) + moments

    def judge(self, labels: Sequence[str], starts: Sequence[StartRecord]) -> None:
        """Have users of an arm settle for longer where its starts contradict Little's law."""
        for start in starts:
            if start.comparison != self._comparison:
                self._comparison = start.comparison
                self._unjudged, self._settling = {}, {}
            for label in dict.fromkeys(labels):
                self._unjudged.setdefault(label, []).append(start)
        if self._comparison == CALIBRATION_INDEX:
            return
        for number, label in enumerate(labels):
            unjudged = self._unjudged.get(label, [])
            if len(unjudged) < _FEWEST:
                continue
            check = little_check(unjudged, number)
            if check is not None and check.is_unsteady:
                self._settling[label] = min(MOST, LONGER * self.settling(label))
                self._unjudged[label] = []
