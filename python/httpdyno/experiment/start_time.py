"""Whether a start fits into the time that it may take; pure."""

from httpdyno.errors import UsageError
from httpdyno.units import format_duration

BESIDE_LOAD = 1.2
"""For the time that servers take to come up, about, where a start's load is long."""


def require_time(load_s: float, limit_s: float, n: int, *, cycle_s: float) -> None:
    """Refuse what cannot fit before it is begun, not when the budget is gone.

    Args:
        load_s: What one start loads for.
        limit_s: What the budget leaves for each.
        n: How many such starts it takes to claim anything.
        cycle_s: The mean cycle of the slowest arm, where that decides; else 0.

    Raises:
        UsageError: With the time that it takes.
    """
    if load_s <= limit_s:
        return
    why, advice = "by the study's method", ""
    if cycle_s > 0:
        cycle = format_duration(cycle_s)
        why = f"because the server takes about {cycle} for a cycle of request and pause"
        advice = ". More connections shorten windows where latencies vary much."
    raise UsageError(
        f"one start takes {format_duration(load_s)} of load, {why}; the budget "
        f"leaves {format_duration(limit_s)} for each of {n} starts",
        hint=f"{n} such starts take about {format_duration(n * load_s * BESIDE_LOAD)}; "
        f"see `--budget`{advice}",
    )
