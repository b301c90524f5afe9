"""What calls of bodies of code take, a body to a row: for a terminal and for a page."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from httpdyno.model import ArmSummary, CallFigures, Outcome, Study
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.report.study.verdict_text import status_badge
from httpdyno.units import format_duration, format_number

Arms = Sequence[tuple[str, ArmSummary]]

HEAD = ("CPU/call", "wall/call", "wall/CPU", "taken off", "calls")
NOTE = (
    "what a pass of the empty body takes is taken off CPU and wall time of a call; wall/CPU is of "
    "whole batches, and above 1 where others had the core too"
)
_NAME_WIDTH = 28
_MILLION = 1_000_000


def are_calls(arms: Arms) -> bool:
    """Whether these are bodies that a program repeats."""
    return any(arm.calls is not None for _, arm in arms)


def has_figures(arm: ArmSummary) -> bool:
    """Whether an arm was measured at all: it answered, or was called."""
    return arm.throughput_per_s > 0 or arm.calls is not None


def calls_table(arms: Arms) -> Table:
    """Return what a call of each takes, for a terminal."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("", max_width=_NAME_WIDTH, overflow="fold")
    for name in HEAD:
        table.add_column(name, justify="right", no_wrap=True)
    for name, arm in arms:
        table.add_row(name, *call_cells(arm))
    table.caption = Text(NOTE, "dim")
    table.caption_justify = "left"
    return table


def call_cells(arm: ArmSummary) -> tuple[str, ...]:
    """Return a body's figures in their own units; why there are none where it was not called."""
    calls = arm.calls
    if calls is None:
        what = "not measured" if arm.status == "complete" else status_badge(arm.status)
        return (what, *[NOTHING] * (len(HEAD) - 1))
    return (
        cpu_text(calls),
        call_time(calls.wall_s),
        format_number(calls.dilation, 2),
        call_time(calls.empty_cpu_s),
        count_text(calls.n_calls),
    )


def cpu_text(calls: CallFigures) -> str:
    """Return the CPU time of a call."""
    return call_time(calls.cpu_s)


def call_time(seconds: float) -> str:
    """Return a time of a call: nanoseconds as far as they go, signs and all."""
    if abs(seconds) < 1e-6:  # noqa: PLR2004 - a microsecond
        return f"{format_number(seconds * 1e9, 1)} ns"
    return format_duration(seconds) if seconds > 0 else f"-{format_duration(-seconds)}"


def count_text(n: int) -> str:
    """Return a number of calls, millions from where they are."""
    return f"{format_number(n / _MILLION, 1)} million" if n >= _MILLION else f"{n:,}"


def tiles_of(a: CallFigures, b: CallFigures) -> list[tuple[str, str, str]]:
    """Return what stands in large on a page: before and after."""
    return [
        ("CPU per call", cpu_text(a), cpu_text(b)),
        ("wall time per call", call_time(a.wall_s), call_time(b.wall_s)),
        ("taken off", call_time(a.empty_cpu_s), call_time(b.empty_cpu_s)),
    ]


def offered_text(study: Study) -> str:
    """Return what is done to what is measured: the workload, or batches of calls."""
    if study.fragments is None:
        return workload_text(study.load_of(study.start_configuration()))
    return f"bodies of code, called in batches of {format_duration(study.method.window_s)}"


def method_words(outcome: Outcome) -> str:
    """Return how calls were measured, in a sentence or two."""
    method, fragments = outcome.plan.study.method, outcome.plan.study.fragments
    empty = fragments.empty if fragments else ""
    return (
        "Each start was a process of its own, with an environment of another length and the bodies "
        "called first in another order. In it both bodies and the empty one "
        f"(`{empty}`) were called in turn, in random order, up to "
        f"{method.blocks_per_start:,} batches of "
        f"{format_duration(method.window_s)} each; the CPU time is the kernel's account of that "
        "process, whatever it says itself. What a pass of the empty body took in the same blocks "
        f"was taken off, and nothing is claimed from fewer than {method.min_starts} such starts, "
        "nor of a body that is not clearly above the empty one."
    )


def page_rows(arms: Arms, caption: str) -> dict[str, Any]:
    """Return the same table for a page."""
    return {
        "head": ["", *HEAD],
        "rows": [[name, *call_cells(arm)] for name, arm in arms],
        "text_columns": 1,
        "caption": f"{caption.capitalize()}; {NOTE}.",
    }
