"""The arms whose phases are told."""

from collections.abc import Sequence

from httpdyno.model import ArmSummary, Outcome
from httpdyno.report.study.arms_text import row_arms
from httpdyno.report.study.finding import arm_names


def phase_arms(outcome: Outcome) -> Sequence[tuple[str, ArmSummary]]:
    """Return both arms of the final claim, or those of a table, with their names."""
    final = outcome.final
    if final is None:
        return row_arms(outcome)
    return list(zip(arm_names(outcome), (final.a, final.b), strict=True))
