"""Ends of a server's processes, counted under a load that comes when the windows are through.

Each start counts its own where something is claimed of them. Windows have them too, but nobody
looks while one is timed.
"""

import math
from collections.abc import Callable, Sequence

from httpdyno.experiment.arm_load import stopped_on_error
from httpdyno.load.engine import Edge, RunningLoad
from httpdyno.load.window_plan import WindowPlan
from httpdyno.model import ProcessExits
from httpdyno.telemetry.exit_watch import ExitTally, ExitWatch

EXITS_S = 4.0
"""Of load for each server. Apache's parent replaces its dead once a second, so that holds some of
its turns."""

StartWindow = Callable[[Sequence[WindowPlan], Edge], RunningLoad]
"""Starts the load of one server, with what is to be called at its windows' edges."""


def counted_exits(root_pids: Sequence[int], start: StartWindow, load_s: float) -> ProcessExits:
    """Return how many processes of a server ended under a load, or why they were not counted.

    All of the load counts, from its first request on: a pool that rested is whole as it begins, and
    answers more than it does later, by processes of which none has ended yet.

    Args:
        root_pids: The server's first processes.
        start: Starts that load.
        load_s: How long it lasts.
    """
    watch = ExitWatch(root_pids)
    watch.start()
    try:
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=load_s)
        handle = start([window], lambda _window, _is_opening: None)
        with stopped_on_error(handle):
            handle.wait(math.inf)
    finally:
        tally = watch.stop()
    return exits_of(tally, sum(each.completed for each in handle.measurements()))


def exits_of(tally: ExitTally, n_answers: int) -> ProcessExits:
    """Return what a watch saw, or why it is no count. Pure.

    Args:
        tally: Of the watch.
        n_answers: Right ones that came meanwhile.
    """
    if not n_answers:
        return ProcessExits(uncounted="no answer came while they were looked for")
    if tally.trouble:
        return ProcessExits(uncounted=tally.trouble)
    return ProcessExits(n=tally.n_exits, n_answers=n_answers)
