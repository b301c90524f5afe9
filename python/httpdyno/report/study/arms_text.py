"""What arms did, in their own units, an arm to a row: for a terminal and for a page."""

import math
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from httpdyno.metrics import METRICS, named
from httpdyno.model import ArmSummary, Comparison, Outcome
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.study.calls_text import are_calls, calls_table, has_figures, page_rows
from httpdyno.report.study.finding import reference_name
from httpdyno.report.study.header_text import header_name, words_text
from httpdyno.report.study.verdict_text import status_badge
from httpdyno.stats.histogram import is_median_between
from httpdyno.units import format_bytes, format_duration, format_percent, format_rate

Arms = Sequence[tuple[str, ArmSummary]]

ROWS_NOTE = (
    "each row had starts of the reference beside it; its figures here are those of most starts"
)
_OWN = frozenset({"uss_bytes_per_process", "bytes_per_request"})
"""Metrics that are always there and have no column otherwise."""
_OWN_HEADS = {"bytes_per_request": "bytes/request"}
_HEADER = "header "
"""Before the name of one whose words are counted: what its column is called by here."""
_NAME_WIDTH = 16
_LEAST_NAME = 12
"""Narrower than that, names of arms are chopped to letters."""
_ANY_WIDTH = 1_000
_HEAD = ("throughput", "CPU/request", "p50", "p99", "errors", "memory")


def arms_table(arms: Arms, *, more: Sequence[str]) -> RenderableType:
    """Return what arms did, in their own units: in two tables where one is too wide."""
    return calls_table(arms) if are_calls(arms) else _ArmsTable(arms, more)


class _ArmsTable:
    """Figures of arms, an arm to a row; those that few ask for below where they have no room."""

    def __init__(self, arms: Arms, more: Sequence[str]) -> None:
        head = cells_head(more)
        rows = [(name, unit_cells(arm, more)) for name, arm in arms]
        n = len(_HEAD)
        self._whole = _table(head, rows)
        self._parts = (
            _table(head[:n], [(name, cells[:n]) for name, cells in rows]),
            _table(head[n:], [(name, cells[n:]) for name, cells in rows]),
        )
        self._is_one = not more

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = Measurement.get(console, options.update(width=_ANY_WIDTH), self._whole).minimum
        if self._is_one or least <= options.max_width:
            yield self._whole
        else:
            yield from self._parts


def _table(head: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    longest = max((cell_len(name) for name, _ in rows), default=0)
    least = min(longest, _LEAST_NAME)
    table.add_column("", min_width=least, max_width=_NAME_WIDTH, overflow="fold")
    for column, name in enumerate(head):
        width = max(map(cell_len, (name, *(cells[column] for _, cells in rows))))
        table.add_column(name, justify="right", min_width=width)
    for name, cells in rows:
        table.add_row(name, *map(Text, cells))  # what a server said is no markup
    return table


def row_arms(outcome: Outcome) -> list[tuple[str, ArmSummary]]:
    """Return the arms of all comparisons with one reference, that of most starts before them.

    Empty for other outcomes, and where nothing was measured.
    """
    if outcome.plan.reference is None or not outcome.steps:
        return []
    rows = [(step.label, step.comparison.b) for step in outcome.steps]
    # One that failed ended after a start or two: the reference's figures are of most starts.
    first = max((step.comparison for step in outcome.steps), key=lambda each: each.n_starts).a
    arms = [(reference_name(outcome).removeprefix("the "), first), *rows]
    return arms if any(has_figures(arm) for _, arm in arms) else []


def rows_page(outcome: Outcome) -> dict[str, Any] | None:
    """Return the same for a page; None for other outcomes."""
    arms = row_arms(outcome)
    if not arms:
        return None
    if are_calls(arms):
        return page_rows(arms, ROWS_NOTE)
    more = more_of(outcome.steps[0].comparison)
    return {
        "head": ["", *cells_head(more)],
        "rows": [[name, *unit_cells(arm, more)] for name, arm in arms],
        "text_columns": 1,
        "caption": f"{ROWS_NOTE.capitalize()}.",
    }


def more_of(comparison: Comparison) -> tuple[str, ...]:
    """Return the metrics that something is claimed of, and that have no column otherwise."""
    told = {comparison.metric, comparison.decided_by, *(each.metric for each in comparison.also)}
    return more_columns(told, (comparison.a, comparison.b))


def more_columns(told: Set[str], arms: Iterable[ArmSummary]) -> tuple[str, ...]:
    """Return those of the metrics that have no column otherwise, and what stands beside them."""
    all_arms = tuple(arms)
    known = (
        *(m.name for m in METRICS),
        *sorted(metric for metric in filter(None, told) if named(metric).of),
    )
    more = tuple(m for m in known if m in told and (m in _OWN or named(m).is_on_demand))
    beside = (
        name
        for name, each in _BESIDE.items()
        if name not in more and any(map(each.is_there, all_arms))
    )
    name = header_name(all_arms)
    return (*more, *beside, *([f"{_HEADER}{name}"] if name else []))


def cells_head(more: Sequence[str]) -> tuple[str, ...]:
    """Return what `unit_cells` are of."""
    return (*_HEAD, *map(_head_of, more))


def _head_of(metric: str) -> str:
    if metric in _BESIDE:
        return _BESIDE[metric].head
    if metric.startswith(_HEADER):
        return metric.removeprefix(_HEADER)
    return _OWN_HEADS.get(metric) or named(metric).short


def unit_cells(arm: ArmSummary, more: Sequence[str]) -> tuple[str, ...]:
    """Return an arm's figures, in their own units, with those of further metrics."""
    is_measured = arm.throughput_per_s > 0
    return (
        format_rate(arm.throughput_per_s) if is_measured else _unmeasured(arm),
        format_duration(arm.cpu_s_per_request) if is_measured else NOTHING,
        latency_text(arm, "p50"),
        latency_text(arm, "p99"),
        format_percent(arm.error_ratio) if is_measured else NOTHING,
        NOTHING if arm.pss_bytes is None else format_bytes(arm.pss_bytes),
        *(_cell(arm, metric) for metric in more),
    )


def _cell(arm: ArmSummary, metric: str) -> str:
    if metric.startswith(_HEADER):
        return words_text(arm.header_words)
    return _BESIDE[metric].text(arm) if metric in _BESIDE else figure_text(arm, metric)


def figure_text(arm: ArmSummary, metric: str) -> str:
    """Return an arm's figure of a metric of requests, in its unit; a dash where there is none."""
    figure = arm.figures.get(metric)
    return NOTHING if figure is None else named(metric).write(figure)


def lookups_text(arm: ArmSummary) -> str:
    """Return how many names the server asked for at a request."""
    n = arm.figures.get("lookups_per_request")
    return NOTHING if n is None else f"{n:.2f}"


def full_handshakes_text(arm: ArmSummary) -> str:
    """Return for which part of the right answers the server signed in a TLS handshake."""
    return format_percent(arm.connecting.handshakes_full_per_request)


def _resumed_text(arm: ArmSummary) -> str:
    return format_percent(arm.connecting.handshakes_resumed_per_request)


class _Beside(NamedTuple):
    """A figure that stands beside the metrics where an arm has it, whoever asks for it."""

    head: str
    is_there: Callable[[ArmSummary], bool]
    text: Callable[[ArmSummary], str]


_BESIDE = {
    "lookups_per_request": _Beside(
        "lookups", lambda arm: "lookups_per_request" in arm.figures, lookups_text
    ),
    "handshakes_full_per_request": _Beside(
        "handshakes", lambda arm: arm.connecting.has_tls, full_handshakes_text
    ),
    "handshakes_resumed_per_request": _Beside(
        "resumed", lambda arm: arm.connecting.has_tls, _resumed_text
    ),
}


def _unmeasured(arm: ArmSummary) -> str:
    return "not measured" if arm.status == "complete" else status_badge(arm.status)


def latency_text(arm: ArmSummary, name: str) -> str:
    """Return one of an arm's percentiles; a dash where the sample does not carry it.

    Nor does it carry a median that lies between two unlike kinds of requests: it is of neither.
    """
    if name == "p50" and is_median_between(arm.latency):
        return NOTHING
    return format_duration(arm.latency_s.get(name, math.nan))
