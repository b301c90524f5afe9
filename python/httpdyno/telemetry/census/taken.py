"""A census of a server that runs: it is asked some times, one request at a time, under strace.

Never inside a timed window: the server is some ten times slower meanwhile.
"""

import time
from collections.abc import Callable, Sequence

from httpdyno.telemetry.census.call import trace
from httpdyno.telemetry.census.count import census
from httpdyno.telemetry.census.record import Census
from httpdyno.telemetry.census.tracer import threads_of, traced, tree_pids

N_REQUESTS = 20
_WARM_PER_PROCESS = 3
"""Requests before the first that counts: caches of code and of files belong to a process."""
_FEWEST_WARM = 5
_MOST_WARM = 100
_REST_S = 0.3
_QUIET_S = 0.03
"""Nothing is written for so long: a request's log and the end of its connection are over."""
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
