"""What each user does first, and in which order it does the rest: what makes sense of both."""

from collections.abc import Sequence

from httpdyno.errors import UsageError
from httpdyno.load.traffic_table import Naming, TrafficTable
from httpdyno.model.arrival import Arrival, Closed, Sessions
from httpdyno.model.workload import StepOrder, VisitStep

_ARRIVALS = ("rate", "stages", "sessions", "replay")


def check_first(table: TrafficTable, naming: Naming, arrival: Arrival) -> None:
    """Refuse first steps where users do not stay.

    Raises:
        UsageError: With what they cannot be beside.
    """
    first = naming.name("first")
    if not isinstance(arrival, Closed):
        given = next(_given(table, naming, key) for key in _ARRIVALS if getattr(table, key))
        raise UsageError(
            f"{first} is for a closed loop, whose users stay; with {given} they come and go",
            hint=f"leave out {given}, or ask for it among the others",
        )
    if table.new_users is not None:
        raise UsageError(
            f"{first} and {_given(table, naming, 'new_users')} contradict each other: who is new "
            "has not done it",
            hint="keep one of them",
        )


def step_order(
    table: TrafficTable, naming: Naming, arrival: Arrival, steps: Sequence[VisitStep]
) -> StepOrder:
    """Return in which order visits take the steps.

    Raises:
        UsageError: There are no visits, or weights say otherwise.
    """
    if table.order != "given":
        return "mixed"
    order = _given(table, naming, "order")
    if not isinstance(arrival, Closed | Sessions):
        raise UsageError(
            f"{order} does nothing where requests come by themselves",
            hint=f"visits are in a closed loop, or in {naming.name('sessions', '20/s')}",
        )
    if len({step.weight for step in steps}) > 1:
        raise UsageError(
            f"{order} and weights contradict each other",
            hint="leave the weights out: each visit takes every step",
        )
    return "given"


def _given(table: TrafficTable, naming: Naming, key: str) -> str:
    return naming.name(key, getattr(table, key))
