"""The summary of a load test for a terminal: what readers of ab or wrk know at a glance."""

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.model import LoadOutcome
from httpdyno.report.load.address import url_text, where_text
from httpdyno.report.load.caveat import by_weight, load_caveats
from httpdyno.report.load.headline import (
    compression_hint,
    is_good,
    offer_text,
    port_hint,
    redirect_hint,
    verdict_line,
)
from httpdyno.report.load.histogram_text import distribution_text, sparkline
from httpdyno.report.load.limit import evidence_rows, server_rows, verdict_text
from httpdyno.report.load.precision import half_width_text, interval_grid, warm_up_text
from httpdyno.report.load.tables import (
    Grid,
    censored_note,
    client_text,
    conservation_grid,
    latency_grid,
    phases_grid,
    portions_grid,
    traffic_rows,
)
from httpdyno.report.load.threshold import judgements
from httpdyno.report.shared.distribution import missing_percentiles
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.workload_text import latency_label
from httpdyno.stats.histogram import count

_INDENT = "  "
_GAP = 2
_CELL = 40
"""Characters; a longer cell is a sentence, which may be broken."""


def load_text(
    outcome: LoadOutcome, *, has_histogram: bool = False, is_verbose: bool = False
) -> RenderableType:
    """Return a summary whose first line is the verdict.

    Args:
        outcome: The test.
        has_histogram: With bars and the percentile spectrum.
        is_verbose: With all that was measured.
    """
    measurement = outcome.measurement
    parts = _head(outcome)
    if count(measurement.latency):
        parts += [Text(), *_latency(outcome, has_histogram=has_histogram)]
    phases = phases_grid(outcome, is_whole=is_verbose)
    if phases is not None:
        parts += [Text(), Text("where the time of completed requests went"), table_of(phases)]
    portions = portions_grid(outcome, is_whole=is_verbose)
    if portions is not None:
        parts += [Text(), table_of(portions), *_note(portions.note)]
    parts += [Text(), _facts(outcome, is_verbose=is_verbose)]
    if is_verbose:
        parts += _verbose(outcome)
    if outcome.fail_if:
        parts += [Text(), threshold_text(outcome)]
    return Group(*parts)


def _head(outcome: LoadOutcome) -> list[RenderableType]:
    measurement = outcome.measurement
    style = "bold green" if is_good(measurement) else "bold red"
    line = verdict_line(
        measurement,
        outcome.workload,
        half_width=half_width_text(outcome),
        address=where_text(outcome),
    )
    parts: list[RenderableType] = [Prose(Text(line, style))]
    for hint in (redirect_hint, port_hint, compression_hint):
        if told := hint(measurement, outcome.workload):
            parts.append(Prose(Text(f"hint: {told}", "cyan")))
    offer = offer_text(outcome)
    parts.append(Prose(Text(f"{url_text(outcome)}, {offer}" if outcome.url else offer)))
    errors = {kind.replace("_", " "): n for kind, n in measurement.errors.items() if n}
    if errors:
        parts += [Text(), Text("errors"), _counts(errors.items())]
    statuses = {key: n for key, n in measurement.statuses.items() if n}
    if len(statuses) > 1:
        parts += [Text(), Text("statuses"), _counts(statuses.items())]
    return parts


def _latency(outcome: LoadOutcome, *, has_histogram: bool) -> list[RenderableType]:
    data = outcome.measurement.latency
    parts: list[RenderableType] = [Text(f"latency, {latency_label(outcome.workload)}")]
    parts.append(_Folded(latency_grid(outcome)))
    parts += _note(missing_percentiles(data))
    parts += _note(censored_note(outcome))
    if has_histogram:
        parts += [Text(), distribution_text(data, outcome.measurement.censored)]
    elif line := sparkline(data):
        parts.append(Padding(Text(line), (0, 0, 0, len(_INDENT))))
    return parts


class _Folded:
    """A table of which what is too wide goes below, each time beside the rows' names."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in _parts(self._grid, options.max_width):
            yield table_of(part)


def _parts(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield the table in parts that are not wider, the whole where it is not."""
    widths = [max(map(len, cells)) + _GAP for cells in zip(grid.head, *grid.rows, strict=True)]
    left = width + _GAP - widths[0] - len(_INDENT)
    is_whole = sum(widths[1:]) <= left
    begin = 1
    while begin < len(widths):
        end = begin + 1
        while end < len(widths) and sum(widths[begin : end + 1]) <= left:
            if end == grid.fold_at and begin == 1 and not is_whole:
                break
            end += 1
        yield Grid(
            head=(grid.head[0], *grid.head[begin:end]),
            rows=tuple((row[0], *row[begin:end]) for row in grid.rows),
        )
        begin = end


def _note(text: str) -> list[RenderableType]:
    return [Padding(Text(text, "dim"), (0, 0, 0, len(_INDENT)))] if text else []


def _facts(outcome: LoadOutcome, *, is_verbose: bool) -> Table:
    table = _plain_table()
    if limit := verdict_text(outcome):
        table.add_row("limited by", Text(limit))
    for name, value in server_rows(outcome):
        table.add_row(name, Text(value))
    if warm_up := warm_up_text(outcome):
        table.add_row("warm-up", Text(warm_up))
    caveats = by_weight(load_caveats(outcome))
    shown = caveats if is_verbose else caveats[:1]
    for caveat in shown:
        table.add_row("caveat", Text(caveat.message, "yellow"))
    if n_more := len(caveats) - len(shown):
        table.add_row("", Text(f"{n_more} more with `--verbose`", "dim"))
    table.add_row("client", client_text(outcome))
    for name, value in traffic_rows(outcome):
        table.add_row(name, Text(value))
    if outcome.workload.is_open_loop or is_verbose:
        table.add_row("schedule", Text(schedule_text(outcome)))
    return table


def schedule_text(outcome: LoadOutcome) -> str:
    """Return what repeats the schedule, and what tells that it was repeated."""
    text = f"seed {outcome.seed}"
    return f"{text}, hash {outcome.schedule_hash}" if outcome.schedule_hash else text


def _verbose(outcome: LoadOutcome) -> list[RenderableType]:
    measurement = outcome.measurement
    host = _plain_table()
    for name, value in (
        ("began", outcome.began_at),
        ("host", f"{outcome.host.cpu}, {outcome.host.n_cpus} CPUs, {outcome.host.kernel}"),
        ("threads", str(outcome.threads)),
        ("httpdyno", outcome.host.httpdyno),
    ):
        host.add_row(name, Text(value))
    evidence = _plain_table()
    for name, value in evidence_rows(measurement.evidence):
        evidence.add_row(f"{_INDENT}{name}", value)
    intervals = interval_grid(outcome)
    parts: list[RenderableType] = [Text(), Text("how far the figures may be off")]
    parts += [table_of(intervals), *_note(intervals.note), Text(), Text("every request")]
    parts += [table_of(conservation_grid(outcome)), Text()]
    parts += [Text("what the verdict on the limit rests on"), evidence, Text(), host]
    return parts


def threshold_text(outcome: LoadOutcome) -> Table:
    """Return a line for each threshold: whether it holds, and what was measured."""
    table = _plain_table()
    for each in judgements(outcome):
        mark = Text("pass", "green") if each.is_passed else Text("FAIL", "bold red")
        table.add_row(mark, Text(f"fail if {each.threshold.text}"), Text(each.sentence))
    return table


def table_of(grid: Grid) -> Table:
    """Return a table whose rows are indented below what names it."""
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    for i, name in enumerate(grid.head):
        is_prose = any(len(row[i]) > _CELL for row in grid.rows)
        is_left = i == 0 or is_prose
        table.add_column(name, justify="left" if is_left else "right", no_wrap=not is_left)
    for name, *cells in grid.rows:
        table.add_row(Text(f"{_INDENT}{name}"), *(Text(cell) for cell in cells))
    return table


def _counts(rows: Iterable[tuple[str, int]]) -> Table:
    table = Table(box=None, padding=(0, 0, 0, 2), pad_edge=True, show_header=False)
    table.add_column(justify="right")
    for name, n in sorted(rows, key=lambda row: -row[1]):
        table.add_row(f"{n:,}", Text(name))
    return table


def _plain_table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
