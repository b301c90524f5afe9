"""How much more of its load a test sends so that the server can be looked at. Pure.

Who looks takes time of the cores, so it is never while anything is timed: a stretch of the same
load comes when all is measured. Nobody asked for the requests of it, so by itself it comes only
where it is short beside the test, and asks for nothing that may change what the server keeps.
"""

from httpdyno.errors import UsageError
from httpdyno.experiment.looking import STRETCHES_S, stretches_within_s
from httpdyno.load.plan import LoadPlan
from httpdyno.model import Closed, Constant, Poisson, Workload

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Source: RFC 9110, section 9.2.1."""


def stretches_s(plan: LoadPlan, asked: bool | None) -> tuple[float, ...]:
    """Return how long a look may take, and a second one where that was too short; (0 … 2,).

    Args:
        plan: The test.
        asked: Whether somebody wants a look; None where nobody said so.
    """
    if asked is False or unevenness(plan.workload):
        return ()
    if asked:
        return STRETCHES_S
    if plan.window.n_requests or plan.workload.first or not _is_safe(plan.workload):
        return ()
    return stretches_within_s(plan.window.measure_s)


def check_look(asked: bool | None, workload: Workload) -> None:
    """Refuse a look at a load of which no short stretch is like the whole.

    Raises:
        UsageError: With what it is that changes.
    """
    if asked and (option := unevenness(workload)):
        raise UsageError(
            f"`--look` is for a load that is the same from its first moment on, not for `{option}`",
            hint="`httpdyno watch` shows a server while it is loaded",
        )


def unevenness(workload: Workload) -> str:
    """Return the option that makes a load's first second another one than its last; else empty."""
    if not isinstance(workload.arrival, Closed | Constant | Poisson):
        return f"--{type(workload.arrival).__name__.lower()}"
    if workload.connections_per_s:
        return "--connection-rate"
    return "--think" if workload.users.think.mean_s else ""


def _is_safe(workload: Workload) -> bool:
    return all(each.method in SAFE_METHODS for each in workload.requests)
