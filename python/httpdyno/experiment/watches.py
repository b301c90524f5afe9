"""What is counted of a server under a load that comes when the windows are through.

Each start counts it where something is claimed of it. Windows have it too, but nobody looks while
one is timed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from httpdyno.experiment.arm_load import stopped_on_error
from httpdyno.load.engine import Edge, RunningLoad
from httpdyno.load.message import WindowPlan
from httpdyno.metrics import named
from httpdyno.model import Count, Objective
from httpdyno.reason import Reason, because
from httpdyno.telemetry.processes import ExitWatch

StartWindow = Callable[[Sequence[WindowPlan], Edge], RunningLoad]
"""Starts the load of one server, with what is to be called at its windows' edges."""


class Tally(Protocol):
    """What a watch saw."""

    @property
    def n(self) -> int:
        """How often it happened."""

    @property
    def trouble(self) -> Reason | None:
        """Why that is no count, in words; empty where it is one."""


class Watching(Protocol):
    """Looks at a server from its start to its stop."""

    def start(self) -> None:
        """Begin to watch; what happens from when this returns is seen."""

    def stop(self) -> Tally:
        """End it; return what was seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """Who counts for a metric, and for how long."""

    of: Callable[[Sequence[int]], Watching]
    """Makes one of a server's first processes."""
    load_s: float
    """Of load for each server."""
    what: str
    """That is counted, in words."""


WATCHES: Mapping[str, Watch] = {
    # Apache's parent replaces its dead once a second: four seconds hold some of its turns.
    "exits_per_request": Watch(of=ExitWatch, load_s=4.0, what="processes that end"),
}
"""By the metric's name."""


def watches_of(objective: Objective) -> dict[str, Watch]:
    """Return what each start counts, of the metrics that have a claim."""
    return {
        metric: WATCHES[metric]
        for metric in sorted(objective.named)
        if named(metric).source == "watch"
    }


def counted_under(watch: Watch, root_pids: Sequence[int], start: StartWindow) -> Count:
    """Return how often it happened to a server under a load, or why it was not counted.

    All of the load counts, from its first request on: a pool that rested is whole as it begins, and
    answers more than it does later, by processes of which none has ended yet.

    Args:
        watch: Who counts.
        root_pids: The server's first processes.
        start: Starts that load.
    """
    watching = watch.of(root_pids)
    watching.start()
    try:
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=watch.load_s)
        handle = start([window], lambda _window, _is_opening: None)
        with stopped_on_error(handle):
            handle.wait(math.inf)
    finally:
        tally = watching.stop()
    return count_of(tally, sum(each.completed for each in handle.measurements()))


def count_of(tally: Tally, n_answers: int) -> Count:
    """Return what a watch saw, or why it is no count. Pure.

    Args:
        tally: Of the watch.
        n_answers: Right ones that came meanwhile.
    """
    if not n_answers:
        return Count(uncounted=because("experiment.no_answer_meanwhile"))
    if tally.trouble:
        return Count(uncounted=tally.trouble)
    return Count(n=tally.n, n_answers=n_answers)
