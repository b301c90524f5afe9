"""The objective's limits, which make no change better but forbid it; pure."""

from msgspec import structs

from httpdyno.model import ArmSummary, Objective
from httpdyno.stats.histogram import quantile_s
from httpdyno.units import format_beside, format_bytes, format_duration, format_percent


def limit_broken(arm: ArmSummary, objective: Objective) -> str:
    """Return the objective's limit that the arm breaks, in words; empty when it keeps all."""
    if arm.error_ratio > objective.max_error_ratio:
        failed = format_beside(arm.error_ratio, objective.max_error_ratio, format_percent)
        limit = format_percent(objective.max_error_ratio)
        return f"{failed} of requests failed; the limit is {limit}"
    for name, phase in arm.phases.items():
        if phase.error_ratio > objective.max_error_ratio:
            failed = format_beside(phase.error_ratio, objective.max_error_ratio, format_percent)
            limit = format_percent(objective.max_error_ratio)
            return f"{failed} of requests failed in phase {name}; the limit is {limit}"
    # From however few requests: a limit that needs a large sample to bind would protect nobody.
    p99_s = quantile_s(arm.latency, 0.99)
    if objective.max_p99_s is not None and p99_s > objective.max_p99_s:
        return (
            f"p99 latency is {format_beside(p99_s, objective.max_p99_s, format_duration)}; "
            f"the limit is {format_duration(objective.max_p99_s)}"
        )
    held, most = arm.largest_pss_bytes, objective.max_memory_bytes
    if held is not None and most is not None and held > most:
        return (
            f"its processes took {format_beside(held, most, format_bytes)} of memory; "
            f"the limit is {format_bytes(most)}"
        )
    return ""


def within_limits(summary: ArmSummary, objective: Objective) -> ArmSummary:
    """Return an arm's summary; one that breaks a limit of the objective is `infeasible`."""
    broken = limit_broken(summary, objective) if summary.status == "complete" else ""
    return structs.replace(summary, status="infeasible", detail=broken) if broken else summary
