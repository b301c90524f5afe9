"""How much more of its load a test sends so that the server can be looked at. Pure.

Who looks takes time of the cores, so it is never while anything is timed: a stretch of the same
load comes when all is measured, where somebody asks for it: nothing is sent by itself.
"""

from httpdyno.errors import UsageError
from httpdyno.experiment.looking import STRETCHES_S
from httpdyno.load.plan import LoadPlan
from httpdyno.model import Closed, Constant, Poisson, Workload


def stretches_s(plan: LoadPlan, *, is_asked: bool) -> tuple[float, ...]:
    """Return how long a look may take, and a second one where that was too short; (0 … 2,).

    Args:
        plan: The test.
        is_asked: Whether somebody wants a look.
    """
    return STRETCHES_S if is_asked and not unevenness(plan.workload) else ()


def check_look(workload: Workload, *, is_asked: bool) -> None:
    """Refuse a look at a load of which no short stretch is like the whole.

    Raises:
        UsageError: With what it is that changes.
    """
    if is_asked and (option := unevenness(workload)):
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
