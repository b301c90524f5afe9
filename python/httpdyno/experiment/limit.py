"""The objective's limits, which make no change better but forbid it; pure."""

from msgspec import structs

from httpdyno.model import ArmSummary, Objective
from httpdyno.reason import Reason, because
from httpdyno.stats.histogram import quantile_s


def limit_broken(arm: ArmSummary, objective: Objective) -> Reason | None:
    """Return the objective's limit that the arm breaks; None when it keeps all."""
    most_ratio = objective.max_error_ratio
    if arm.error_ratio > most_ratio:
        return because("experiment.errors_over_limit", ratio=arm.error_ratio, limit=most_ratio)
    for name, phase in arm.phases.items():
        if phase.error_ratio > most_ratio:
            return because(
                "experiment.phase_errors_over_limit",
                ratio=phase.error_ratio,
                limit=most_ratio,
                phase=name,
            )
    # From however few requests: a limit that needs a large sample to bind would protect nobody.
    p99_s = quantile_s(arm.latency, 0.99)
    if objective.max_p99_s is not None and p99_s > objective.max_p99_s:
        return because("experiment.p99_over_limit", p99_s=p99_s, limit_s=objective.max_p99_s)
    held, most = arm.largest_pss_bytes, objective.max_memory_bytes
    if held is not None and most is not None and held > most:
        return because("experiment.memory_over_limit", held=held, limit=most)
    return None


def within_limits(summary: ArmSummary, objective: Objective) -> ArmSummary:
    """Return an arm's summary; one that breaks a limit of the objective is `infeasible`."""
    broken = limit_broken(summary, objective) if summary.status == "complete" else None
    if broken is None:
        return summary
    return structs.replace(summary, status="infeasible", detail=(broken,))
