"""What the phases of turns saw that do not decide: for a terminal and for a page."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from httpdyno.model import ArmSummary, Outcome, PhaseFigures
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.units import format_duration, format_percent, format_rate

Arms = Sequence[tuple[str, ArmSummary]]

_HEAD = ("throughput", "CPU/request", "p50", "p90", "errors")
_NOTE = "phase {} decides; nothing is claimed of the others"


def phase_table(arms: Arms) -> Table | None:
    """Return a row for each phase and arm; None where there are no phases."""
    rows = _rows(arms)
    if not rows:
        return None
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("phase", ""):
        table.add_column(name)
    for name in _HEAD:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def phases_page(outcome: Outcome, arms: Arms) -> dict[str, Any] | None:
    """Return the same for a page; None where there are no phases."""
    rows = _rows(arms)
    if not rows:
        return None
    return {
        "head": ["phase", "", *_HEAD],
        "rows": rows,
        "text_columns": 2,
        "caption": f"{phase_note(outcome).capitalize()}.",
    }


def phase_note(outcome: Outcome) -> str:
    """Return which phase decides."""
    return _NOTE.format(outcome.plan.study.method.decides)


def _rows(arms: Arms) -> list[list[str]]:
    names = dict.fromkeys(name for _, arm in arms for name in arm.phases)
    return [
        [phase if number == 0 else "", name, *_cells(arm.phases.get(phase))]
        for phase in names
        for number, (name, arm) in enumerate(arms)
    ]


def _cells(seen: PhaseFigures | None) -> list[str]:
    if seen is None:
        return [NOTHING] * len(_HEAD)
    latency = seen.latency_s
    return [
        format_rate(seen.throughput_per_s),
        format_duration(seen.cpu_s_per_request) if seen.cpu_s_per_request else NOTHING,
        format_duration(latency["p50"]) if "p50" in latency else NOTHING,
        format_duration(latency["p90"]) if "p90" in latency else NOTHING,
        format_percent(seen.error_ratio),
    ]
