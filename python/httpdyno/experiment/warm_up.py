"""How much load servers have before their windows: for a time that is drawn, or by count.

What a server is like may hang on how many requests it has had: a pool unshares what its parent
loaded, caches fill. After a warm-up by time that is another number on each machine, and another
beside other work; after one by count it is the same.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from httpdyno.experiment.arm_load import Place
from httpdyno.experiment.bench import StartRequest
from httpdyno.experiment.start_seed import start_seed
from httpdyno.load.message import WindowPlan
from httpdyno.model import Measurement
from httpdyno.reason import Reason, because

_LONGEST = 2.0
"""Times what was asked."""
_CYCLES_S = 0.5
"""After a warm-up by count, what is looked at for the length of cycles: as long as a warm-up by
time is unless said."""

Play = Callable[[Place, WindowPlan, Callable[[int, Measurement], None]], None]
"""Loads one place, and hands on what it measured; nothing where the place fell silent, or users did
not get in."""


def drawn_s(request: StartRequest, seed: int) -> float:
    """Return how long the arms of a start are warmed up: up to twice as long as asked.

    Servers do some things once in so many requests: they replace a process, collect garbage,
    write a log. Were all starts as long before their windows, these would fall into the windows
    of all of them, or of none, and no number of starts would show it.

    Of a warm-up by count it is what comes after that, where cycles must be learnt.
    """
    asked_s = request.warm_up_s
    if request.warm_up_requests:
        asked_s = min(asked_s, _CYCLES_S)
    text = start_seed(seed, request.comparison, request.start, 4)
    return asked_s * (1 + random.Random(text).random() * (_LONGEST - 1))


def later_s(request: StartRequest, took_s: float, counted_s: float) -> float:
    """Return what the warm-up of a later start takes at the most, which learns nothing of cycles.

    Args:
        request: Of a start.
        took_s: What all of the first one's warm-up took.
        counted_s: What of that was by count.
    """
    if request.warm_up_requests:
        return counted_s
    # The arms of later starts are warmed up all together.
    return min(took_s, _LONGEST * request.warm_up_s)


@dataclass(kw_only=True, slots=True)
class CountedWarmUp:
    """Has servers answer a number of requests each, one server after the other.

    Each has the machine for itself: what they may take does not hang on how many there are.
    """

    n_requests: int
    limit_s: float
    """The longest that one server may take."""
    play: Play
    now_s: Callable[[], float] = time.monotonic
    took_s: float = 0.0
    """For all of them, once they ran."""

    def run(self, up: Sequence[Place]) -> dict[Place, tuple[Reason, ...]]:
        """Warm servers up; return which did not come to as many answers in that time, and how many.

        Ends early where one falls silent, or users do not get in: `play` knows more of that.
        """
        began_s = self.now_s()
        short: dict[Place, tuple[Reason, ...]] = {}
        for place in up:
            n_answers = self._n_answers(place)
            if n_answers is None:
                break
            if n_answers < self.n_requests:
                too_few = because(
                    "experiment.warm_up_too_slow",
                    n=n_answers,
                    of=self.n_requests,
                    limit_s=self.limit_s,
                )
                short[place] = (too_few,)
        self.took_s = self.now_s() - began_s
        return short

    def _n_answers(self, place: Place) -> int | None:
        """Return how many answers a server came to; wrong ones are answers, too."""
        end_s, n_answers = self.now_s() + self.limit_s, 0
        left_s = self.limit_s
        # What failed is asked again.
        while n_answers < self.n_requests and left_s > 0:
            n_left = self.n_requests - n_answers
            plan = WindowPlan(arm=0, lead_in_s=0.0, measure_s=left_s, n_requests=n_left)
            seen: list[Measurement] = []
            self.play(place, plan, partial(_keep, seen))
            if not seen:
                return None
            n_answers += sum(seen[0].statuses.values())
            left_s = end_s - self.now_s()
        return n_answers


def _keep(seen: list[Measurement], _index: int, measurement: Measurement) -> None:
    seen.append(measurement)
