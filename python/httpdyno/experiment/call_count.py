"""System calls of an answer, counted under strace when all that is measured and seen is through.

One client asks for what the study asks for, one request after the other: many at a time would wait
for each other, and how often they do so is not what an answer takes.
"""

import math
from collections.abc import Callable, Iterator, Sequence

from msgspec import structs

from httpdyno.errors import RevertError, TargetError
from httpdyno.load.engine import Edge, LoadHandle
from httpdyno.load.message import WindowPlan
from httpdyno.metrics.totals import calls_in
from httpdyno.model import Closed, Look, Replay, StartRecord, SystemCalls, Workload
from httpdyno.reason import Reason, because
from httpdyno.telemetry.syscalls.count import SyscallProfile
from httpdyno.telemetry.syscalls.strace import census_between

N_ANSWERS = 20
"""That are counted in a start. Each is some ten times slower under strace."""
LONGEST_S = 10.0
"""Slow answers are waited for, where a claim rests on them; then those that came are counted, each
to its end."""
LOOK_LONGEST_S = 1.0
"""Where no claim rests on it."""

Start = Callable[[Workload, WindowPlan, Edge], LoadHandle]
"""Starts a load of the one server."""


def traced_workload(workload: Workload) -> Workload | None:
    """Return the same requests from one client after the other; None for a log's. Pure."""
    if isinstance(workload.arrival, Replay):
        return None
    return structs.replace(
        workload, arrival=Closed(), connections=1, connections_per_s=0.0, slow=None
    )


def with_calls(look: Look, root_pids: Sequence[int], workload: Workload, start: Start) -> Look:
    """Return a look with the system calls of an answer, or with why they could not be counted.

    Args:
        look: What was seen of the server before.
        root_pids: Its processes; all below them are traced.
        workload: What the study asks of it.
        start: Starts a load of this one server.
    """
    return told_in(look, counted(root_pids, workload, start, longest_s=LOOK_LONGEST_S))


def told_in(look: Look, found: SystemCalls) -> Look:
    """Return a look with what was counted, or with why nothing was. Pure."""
    if found.untraced:
        return structs.replace(look, untraced=found.untraced)
    return structs.replace(look, calls=found.by_kind, n_traced=found.n_answers, untraced=None)


def counted(
    root_pids: Sequence[int], workload: Workload, start: Start, *, longest_s: float
) -> SystemCalls:
    """Return the system calls of an answer, or why they could not be counted.

    Args:
        root_pids: The server's processes; all below them are traced.
        workload: What the study asks of it.
        start: Starts a load of this one server.
        longest_s: What the answers may take in all.
    """
    one_by_one = traced_workload(workload)
    if one_by_one is None:
        return SystemCalls(untraced=because("telemetry.log_not_repeated"))
    completed: list[int] = []

    def load(on_edge: Edge) -> None:
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=longest_s, n_requests=N_ANSWERS)
        handle = start(one_by_one, window, on_edge)
        try:
            handle.wait(math.inf)
        finally:
            handle.stop()
            handle.wait(math.inf)
        completed.extend(each.completed for each in handle.measurements() if not each.errors)

    try:
        found = census_between(root_pids, load)
    except (TargetError, RevertError) as error:
        return SystemCalls(untraced=because("telemetry.not_traced", error=str(error)))
    n_answers = sum(completed)
    if found is None or not n_answers:
        return SystemCalls(untraced=because("telemetry.no_answer_traced"))
    if not found.n_took_part:
        return SystemCalls(untraced=because("telemetry.nobody_traced"))
    return SystemCalls(
        per_request=found.total.mean / n_answers,
        by_kind=calls_of(found, n_answers),
        n_answers=n_answers,
    )


def calls_of(found: SyscallProfile, n_answers: int) -> dict[str, float]:
    """Return the system calls of an answer by kind. Pure.

    Args:
        found: What was counted for all of them together.
        n_answers: How many they were; above 0.
    """
    counts: dict[str, float] = {each.kind: each.calls.mean for each in found.kinds}
    counts[".htaccess"] = found.htaccess_opens.mean
    counts["missing"] = found.missing_stats.mean + found.missing_opens.mean
    return {kind: n / n_answers for kind, n in counts.items() if n}


def few_answers(starts: Sequence[StartRecord]) -> Iterator[Reason]:
    """Warn where some counts are of fewer answers than others.

    Who answers fewer answers fewer of the workload's requests, where it has several.
    """
    arms = [(start, arm) for start in starts for arm in range(len(start.system_calls))]
    counts = [found.n_answers for start, arm in arms if (found := calls_in(start, arm))]
    few = [n for n in counts if n < N_ANSWERS]
    if few:
        yield because(
            "experiment.few_calls",
            n=len(few),
            of=len(counts),
            longest_s=LONGEST_S,
            wanted=N_ANSWERS,
            fewest=min(few),
        )
