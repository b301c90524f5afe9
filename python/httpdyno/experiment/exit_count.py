"""Ends of a server's processes, counted under a load that comes when the windows are through.

Each start counts its own where something is claimed of them. Windows have them too, but nobody
looks while one is timed.
"""

from collections.abc import Callable, Sequence
from functools import partial

from httpdyno.experiment.looking import looks_in
from httpdyno.load.engine import Edge, RunningLoad
from httpdyno.load.window_plan import WindowPlan
from httpdyno.model import Look, ProcessExits, Workload
from httpdyno.telemetry.exit_watch import ExitWatch

EXITS_S = 4.0
"""Of load for each server. They are looked for in the last seven tenths of it: Apache's parent
replaces its dead once a second, so that holds some of its turns."""

StartWindow = Callable[[Sequence[WindowPlan], Edge], RunningLoad]
"""Starts the load of one server, with what is to be called at its windows' edges."""


def counted_exits(
    root_pids: Sequence[int], workload: Workload, start: StartWindow, load_s: float
) -> ProcessExits:
    """Return how many processes of a server ended under a load, or why they were not counted.

    Args:
        root_pids: The server's first processes.
        workload: What is asked of it.
        start: Starts that load.
        load_s: How long it lasts.
    """
    plan = [WindowPlan(arm=0, lead_in_s=0.0, measure_s=load_s)]
    found = looks_in([ExitWatch(root_pids)], plan, partial(start, plan), [workload])
    return exits_of(found.get(0))


def exits_of(look: Look | None) -> ProcessExits:
    """Return what a watch saw, or why it is no count. Pure."""
    if look is None or look.answers <= 0:
        return ProcessExits(uncounted="no answer came while they were looked for")
    if look.hidden:
        return ProcessExits(uncounted="; ".join(look.hidden))
    return ProcessExits(n=look.deaths, n_answers=look.answers)
