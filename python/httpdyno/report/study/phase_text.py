"""What the phases of turns saw: for a terminal and for a page.

All of them in their order, the one that decides among them: what a server does warm is read beside
what it does cold. All other figures of an arm are of the deciding phase alone.
"""

from typing import Any

from msgspec import structs
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.model import ArmSummary, Outcome, PhaseFigures
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.header_text import header_line, header_name
from httpdyno.report.study.phase_arms import phase_arms
from httpdyno.report.study.settling_text import settling_lines
from httpdyno.units import format_duration, format_percent, format_rate

_HEAD = ("throughput", "CPU/request", "p50", "p90", "errors")
_NOTE = "“{}” decides; nothing is claimed of the other phases"
_DECIDES = "{} (decides)"
_PHASE_WIDTH = 18
_INDENT = (0, 0, 0, 2)


def phase_lines(outcome: Outcome) -> list[RenderableType]:
    """Return a row for each phase and arm, which phase decides, and when answers are steady.

    None without phases.
    """
    rows = _rows(outcome)
    if not rows:
        return []
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("phase", max_width=_PHASE_WIDTH)
    table.add_column("", max_width=_PHASE_WIDTH, overflow="fold")
    for name in _HEAD:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    notes = [*map(Text, _header_lines(outcome)), Text(phase_note(outcome), "dim")]
    notes += map(Text, settling_lines(outcome))
    return [Text(), Padding(table, _INDENT), *(Padding(Prose(note), _INDENT) for note in notes)]


def phases_page(outcome: Outcome) -> dict[str, Any] | None:
    """Return the same for a page, each phase a group of rows; None where there are no phases."""
    rows = _rows(outcome)
    if not rows:
        return None
    # On a narrow page a column that says nothing pushes out one that does.
    n_shown = len(_HEAD) - (not any(_fails(arm) for _, arm in phase_arms(outcome)))
    parts: list[str | list[str]] = []
    for phase, name, *cells in rows:
        parts += [phase] if phase else []
        parts.append([name, *cells[:n_shown]])
    caption = " ".join(f"{line}." for line in (*_header_lines(outcome), phase_note(outcome)))
    return {
        "head": ["", *_HEAD[:n_shown]],
        "rows": parts,
        "text_columns": 1,
        "settled": settling_lines(outcome),
        "caption": caption if n_shown == len(_HEAD) else f"{caption} No request failed in any.",
    }


def phase_note(outcome: Outcome) -> str:
    """Return which phase decides."""
    return _NOTE.format(outcome.plan.study.method.decides)


def _header_lines(outcome: Outcome) -> list[str]:
    """Return what answers said in a header in each phase that does not decide, a line each."""
    method, arms = outcome.plan.study.method, phase_arms(outcome)
    found = {
        phase.name: header_line(
            [
                (name, structs.replace(arm, header_words=seen.beside.get(phase.name)))
                for name, arm in arms
                if (seen := arm.header_words) is not None
            ]
        )
        for phase in method.phases
        if phase.name != method.decides
    }
    header = header_name(arm for _, arm in arms)
    return [f"{header} in {name}: {line}" for name, line in found.items() if line]


def _rows(outcome: Outcome) -> list[list[str]]:
    method, arms = outcome.plan.study.method, phase_arms(outcome)
    if not any(arm.phases for _, arm in arms):
        return []
    return [
        [shown if number == 0 else "", name, *_cells(seen)]
        for phase in method.phases
        for shown in [_DECIDES.format(phase.name) if phase.name == method.decides else phase.name]
        for number, (name, arm) in enumerate(arms)
        for seen in [_own(arm) if phase.name == method.decides else arm.phases.get(phase.name)]
    ]


def _fails(arm: ArmSummary) -> bool:
    return arm.error_ratio > 0 or any(each.error_ratio > 0 for each in arm.phases.values())


def _own(arm: ArmSummary) -> PhaseFigures | None:
    """Return an arm's figures of the phase that decides."""
    if not arm.phases:
        return None
    return PhaseFigures(
        throughput_per_s=arm.throughput_per_s,
        cpu_s_per_request=arm.cpu_s_per_request,
        error_ratio=arm.error_ratio,
        latency_s=arm.latency_s,
    )


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
