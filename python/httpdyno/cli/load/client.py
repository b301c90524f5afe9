"""The options that say what `httpdyno load` uses of this machine: threads, cores, polling."""

import os
import re

from httpdyno.errors import UsageError
from httpdyno.load.plan import suited_threads
from httpdyno.model import Workload
from httpdyno.report.shared.phrase import plural
from httpdyno.units import duration_s, format_duration

_MAX_SPIN_S = 0.1
_CPU_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def threads_from(given: int | None, workload: Workload) -> int:
    """Return how many threads are to send.

    Raises:
        UsageError: More than connections.
    """
    if given is None:
        return suited_threads(workload)
    if given > workload.connections:
        raise UsageError(
            f"{given} threads cannot share {plural(workload.connections, 'connection')}",
            hint="give at least one connection to each thread",
        )
    return given


def cpus_from(text: str | None) -> tuple[int, ...]:
    """Return the cores in `2,3` or `2-5`; none leaves the threads free.

    Raises:
        UsageError: Not cores, or none of this process.
    """
    if text is None:
        return ()
    cpus: list[int] = []
    for part in text.split(","):
        found = _CPU_RANGE.fullmatch(part.strip())
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise UsageError(
                f"`--cpus {text}` makes no sense; expected cores such as `2,3` or `2-5`"
            )
        cpus += range(int(found[1]), int(found[2] or found[1]) + 1)
    present = os.sched_getaffinity(0)
    missing = [cpu for cpu in cpus if cpu not in present]
    if missing:
        raise UsageError(
            f"`--cpus {text}` names core {missing[0]}, which this process may not run on",
            hint=f"it may run on {', '.join(map(str, sorted(present)))}",
        )
    return tuple(dict.fromkeys(cpus))


def spin_s_from(text: str | None) -> float | None:
    """Return how long to poll before a due time; None leaves it to `usual_spin_s`.

    Raises:
        UsageError: Not a time, or a long one.
    """
    if text is None:
        return None
    try:
        seconds = duration_s(text)
    except UsageError as error:
        raise UsageError(
            f"`--spin {text}` makes no sense; expected a time such as `60us`"
        ) from error
    if seconds > _MAX_SPIN_S:
        raise UsageError(
            f"`--spin {text}` makes no sense; expected at most {format_duration(_MAX_SPIN_S)}"
        )
    return seconds
