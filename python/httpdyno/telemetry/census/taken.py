"""A census of a server that runs: it is asked some times, one request at a time, under strace.

Never inside a timed window: the server is some ten times slower meanwhile.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from httpdyno.errors import TargetError
from httpdyno.telemetry.census.call import trace
from httpdyno.telemetry.census.count import census
from httpdyno.telemetry.census.record import Census
from httpdyno.telemetry.census.tracer import Tracer, threads_of, traced, tree_pids

N_REQUESTS = 20
_WARM_PER_PROCESS = 3
"""Requests before the first that counts: caches of code and of files belong to a process."""
_FEWEST_WARM = 5
_MOST_WARM = 100
_REST_S = 0.3
_QUIET_S = 0.03
"""Nothing is written for so long: a request's log and the end of its connection are over."""
_EDGE_S = 0.5
"""Those that write without rest are waited for so long at the edge of a load."""
_N_EDGES = 2
_LONGEST_S = 2.0
"""A server that never rests is waited for so long. A lingering close takes as long."""


def census_of(root_pids: Sequence[int], ask: Callable[[], None], n: int = N_REQUESTS) -> Census:
    """Return the system calls of requests to a server.

    Args:
        root_pids: The processes that it began as; all below them are traced, and what they begin.
        ask: Sends one request and reads the answer; it says where and from where.
        n: So many requests are counted; some others come before, so that the server is warm.

    Raises:
        TargetError: There is no strace, it may not trace, or the server's processes are gone.
        RevertError: It did not let go of them.
    """
    n_warm = min(_MOST_WARM, max(_FEWEST_WARM, _WARM_PER_PROCESS * len(tree_pids(root_pids))))
    for _ in range(n_warm):
        ask()
    with traced(root_pids) as tracer:
        process_of = threads_of(tree_pids(root_pids))
        # The first after strace took hold: calls that it broke into are begun again.
        began_s = time.monotonic()
        time.sleep(_REST_S)
        marks = [tracer.settle(_QUIET_S, _QUIET_S)]
        rest_s = time.monotonic() - began_s
        for _ in range(n):
            ask()
            marks.append(tracer.settle(_QUIET_S, _LONGEST_S))
        lines = tracer.lines()
    parts = [lines[begin:end] for begin, end in zip([0, *marks], marks, strict=False)]
    return census(trace(parts), process_of, rest_s=rest_s)


class Edges:
    """Where a load's counted part begins and ends in what a tracer writes."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self.marks: list[int] = []
        """Whole lines at the edges that came so far: (begin, end)."""

    def on_edge(self, _window: int, _is_opening: bool) -> None:
        """See what was written so far as that of before; nothing may be in flight."""
        # strace may be gone: who opened the trace is told so when it is read.
        with suppress(TargetError):
            self.marks.append(self._tracer.settle(_QUIET_S, _EDGE_S))


def census_between(
    root_pids: Sequence[int], load: Callable[[Callable[[int, bool], None]], None]
) -> Census | None:
    """Return the system calls of all that a server did between the edges of a load, as one request.

    Args:
        root_pids: The processes that it began as; all below them are traced, and what they begin.
        load: Loads it and calls what it is given at both edges of what counts; the server is warm.

    Returns:
        None where the load did not come to its end.

    Raises:
        TargetError: There is no strace, it may not trace, or the server's processes are gone.
        RevertError: It did not let go of them.
    """
    with traced(root_pids) as tracer:
        process_of = threads_of(tree_pids(root_pids))
        edges = Edges(tracer)
        load(edges.on_edge)
        tracer.settle(0.0, 0.0)
        lines = tracer.lines()
    if len(edges.marks) != _N_EDGES:
        return None
    begin, end = edges.marks
    return census(trace([lines[:begin], lines[begin:end]]), process_of)
