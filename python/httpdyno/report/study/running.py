"""A run that goes on: where it stands, and what the store knows of it; no claim."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from httpdyno.metrics import named
from httpdyno.model import (
    ArmUnderWay,
    Configuration,
    RatioInterval,
    RunUnderWay,
    SecondClaim,
    StartUnderWay,
    Verdict,
    level_text,
)
from httpdyno.report.shared.interval import ratio_bounds_text
from httpdyno.report.shared.phrase import NOTHING, oxford, plural
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.view import labelled, plain_table
from httpdyno.report.study.verdict import PROVEN
from httpdyno.stats.histogram import MIN_TAIL_COUNT
from httpdyno.telemetry.watched import Roots, ServerSeen
from httpdyno.units import format_bytes, format_duration, format_guess, format_rate

# Where an unfinished comparison stands, for those who watch it.


def standing_text(
    n_starts: int, interval: RatioInterval | None, second: SecondClaim | None = None
) -> str:
    """Return `12 starts  1.08 × (0.97 … 1.20)`, with what is proven of the second metric."""
    where = "no interval yet" if interval is None else ratio_bounds_text(interval)
    if second is not None and second.verdict in PROVEN:
        where += f", {named(second.metric).short} {second.verdict}"
    return f"{plural(n_starts, 'start')}  {where}"


def outlook_text(
    verdict: Verdict,
    open_metric: str,
    *,
    decides_in_s: float | None,
    allowed_s: float,
    is_few: bool,
) -> str:
    """Return what may be said already, and when the rest would be: `decided in about 12 s`.

    Args:
        verdict: At this look.
        open_metric: The metric that has not spoken yet; empty where the verdict stands.
        decides_in_s: Time until it would be decided; None: out of sight.
        allowed_s: What the comparison may still use.
        is_few: Nothing is claimed of so few starts.
    """
    word = verdict.replace("_", " ")
    if not open_metric:
        return f"{word}, and still narrowing" if allowed_s > 0 else word
    # The tie breaker is open where the metric itself has spoken.
    what = "" if verdict == "inconclusive" else f"{word}, {named(open_metric).short} "
    if decides_in_s is None:
        return f"{what}no end in sight"
    time = format_guess(decides_in_s)
    if is_few:
        return f"{what}decided in {time} at the earliest"
    if decides_in_s > allowed_s:
        return f"{what}would take about {time}"
    return f"{what}decided in about {time}"


# The arms that are measured now, a row to each of each start, with their figures so far.

_EARLY = "figures of the windows so far; claims come with the result of the run"
_LEAST_OF_P99 = f"a p99 takes {MIN_TAIL_COUNT * 100:,} requests in a start"
_BEFORE = "in brackets: memory of the last complete start; it is read after the windows"
_ANY_WIDTH = 1_000

_Cells = Sequence[str | Text]


class ArmsTable:
    """Figures of arms; latency and memory in a table below where the rows have no room for them."""

    def __init__(
        self, starts: Sequence[StartUnderWay], servers: Mapping[Roots, ServerSeen] | None
    ) -> None:
        """Prepare what is shown.

        Args:
            starts: Of one comparison.
            servers: Those that can be seen; None where nobody looked.
        """
        in_starts = [(arm, start.start) for start in starts for arm in start.arms]
        arms = [arm for arm, _ in in_starts]
        names = [name for start in starts for name in _names(start)]
        pace = _Columns(["windows", "throughput", "CPU/request"], [*map(_pace, arms)])
        more = _Columns(
            ["requests", "p50", "p99", "memory"],
            [[*_latency(arm), _memory(arm, start)] for arm, start in in_starts],
        ).without_empty()
        errors = _Columns(["errors"], [[f"{arm.n_errors:,}"] for arm in arms])
        rest = [errors] if any(arm.n_errors for arm in arms) else []
        if servers is not None:
            rest.append(_Columns(["server", "cores"], [_server(arm, servers) for arm in arms]))
        self._whole = _table(names, [pace, more, *rest])
        self._parts: list[RenderableType] = [_table(names, [pace, *rest])]
        if more.head:
            self._parts += [Text(""), _table(names, [more])]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield one table, or two."""
        most = Measurement.get(console, options.update(width=_ANY_WIDTH), self._whole).maximum
        if most <= options.max_width:
            yield self._whole
        else:
            yield from self._parts


def arm_labels(configurations: Sequence[Configuration]) -> tuple[str, ...]:
    """Return what sets each of some configurations apart from the others; (n_arms,)."""
    names = [
        name
        for name in (configurations[0].values if configurations else ())
        if len({level_text(each.values.get(name, "")) for each in configurations}) > 1
    ]
    if not names:
        return tuple(f"arm {number}, alike" for number in range(1, len(configurations) + 1))
    return tuple(
        ", ".join(f"{name}={level_text(each.values.get(name, ''))}" for name in names)
        for each in configurations
    )


def cores_text(seen: ServerSeen) -> str:
    """Return the CPU time of a server, in cores; `≥` where children may be missing."""
    if seen.cpu_ratio is None:
        return NOTHING
    return f"{'≥ ' if seen.misses_children else ''}{seen.cpu_ratio:.2f}"


def notes(starts: Iterable[StartUnderWay]) -> Iterator[str]:
    """Yield what must be known of the figures of starts, a sentence each."""
    yield _EARLY
    in_starts = [(arm, start.start) for start in starts for arm in start.arms]
    if any(arm.latency is not None and arm.latency.p99_s is None for arm, _ in in_starts):
        yield _LEAST_OF_P99
    if any(arm.memory is not None and arm.memory.start != start for arm, start in in_starts):
        yield _BEFORE


class _Columns(NamedTuple):
    """Neighbouring columns."""

    head: Sequence[str]
    rows: Sequence[_Cells]

    def without_empty(self) -> "_Columns":
        """Return them; none of them where no row has anything."""
        is_empty = all(cell == NOTHING for cells in self.rows for cell in cells)
        return _Columns([], [()] * len(self.rows)) if is_empty else self


def _table(names: Sequence[tuple[str, Text]], columns: Sequence[_Columns]) -> Table:
    table = plain_table(has_head=True)
    table.add_column("start", justify="right", no_wrap=True)
    table.add_column("arm", overflow="fold")
    for name in (name for each in columns for name in each.head):
        if name == "server":
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    rows = zip(*(each.rows for each in columns), strict=True)
    for name_cells, cells in zip(names, rows, strict=True):
        table.add_row(*name_cells, *(cell for each in cells for cell in each))
    return table


def _names(start: StartUnderWay) -> Iterator[tuple[str, Text]]:
    for label in arm_labels([arm.configuration for arm in start.arms]):
        yield f"{start.start + 1}", Text(label)


def _pace(arm: ArmUnderWay) -> _Cells:
    throughput, cpu_s = arm.throughput_per_s, arm.cpu_s_per_request
    return (
        f"{arm.n_windows:,}",
        NOTHING if throughput is None else format_rate(throughput),
        NOTHING if cpu_s is None else format_duration(cpu_s),
    )


def _latency(arm: ArmUnderWay) -> _Cells:
    seen = arm.latency
    if seen is None:
        return NOTHING, NOTHING, NOTHING
    return (
        f"{seen.n_requests:,}",
        _percentile(seen.p50_s, is_lower_bound=seen.is_p50_lower_bound),
        _percentile(seen.p99_s, is_lower_bound=seen.is_p99_lower_bound),
    )


def _percentile(value_s: float | None, *, is_lower_bound: bool) -> str:
    if value_s is None:
        return NOTHING
    return f"{'≥ ' if is_lower_bound else ''}{format_duration(value_s)}"


def _memory(arm: ArmUnderWay, start: int) -> str:
    if arm.memory is None:
        return NOTHING
    size = format_bytes(arm.memory.pss_bytes)
    return size if arm.memory.start == start else f"({size})"


def _server(arm: ArmUnderWay, servers: Mapping[Roots, ServerSeen]) -> _Cells:
    seen = servers.get(arm.roots)
    if seen is None:
        return Text("not seen" if arm.roots else "not begun", "dim"), NOTHING
    pids = ", ".join(f"{pid}" for pid, _ in seen.roots)
    n_below = seen.n_processes - len(seen.roots)
    return f"{pids} + {n_below:,}" if n_below > 0 else pids, cores_text(seen)


# A run that a process is at, as far as the store knows it: no claim, and no outcome.

_LABEL_WIDTH = 10


def under_way_words(run: RunUnderWay, now: datetime) -> str:
    """Return in a clause that it runs, by whom and since when, and what is stored of it."""
    began = f"{run.began_at[:16].replace('T', ' ')} UTC"
    stored = f"{plural(run.n_starts, 'complete start')} and {plural(run.n_windows, 'window')}"
    return (
        f"run {run.id} of `{run.study}` still runs: process {run.pid} on {run.host} is at it, "
        f"begun {began}, {_ago(run.began_at, now)}, with {stored} so far"
    )


def under_way_text(
    run: RunUnderWay, now: datetime, servers: Mapping[Roots, ServerSeen] | None = None
) -> RenderableType:
    """Return where it is, and the figures so far of what is measured now.

    Args:
        run: As the store has it.
        now: The present instant.
        servers: Those of it that can be seen; None where nobody looked.
    """
    rows = ((Text(label, "dim"), words) for label, words in _rows(run, now))
    head = labelled(rows, width=_LABEL_WIDTH, gap=1)
    title = Text(f"run {run.id}: {run.command} {run.study}", "bold")
    lines: list[RenderableType] = [title, head]
    for _, together in groupby(run.starts, lambda start: start.comparison):
        starts = [*together]
        words = f"{_stage(starts)}, begun {_ago(starts[0].began_at, now)}"
        lines += [Text(""), Text(words), ArmsTable(starts, servers)]
    if run.starts:
        lines += [Text(""), *(Prose(Text(note, "dim")) for note in notes(run.starts))]
    return Group(*lines)


def _rows(run: RunUnderWay, now: datetime) -> Iterator[tuple[str, str]]:
    began = f"{run.began_at[:16].replace('T', ' ')} UTC"
    yield (
        "runs",
        f"process {run.pid} on {run.host} is at it; begun {began}, {_ago(run.began_at, now)}",
    )
    stored = f"{plural(run.n_starts, 'complete start')}, {plural(run.n_windows, 'window')}"
    if run.last_saved_at:
        stored += f", the last one {_ago(run.last_saved_at, now)}"
    yield "stored", stored
    if not run.starts:
        yield "now", "between two starts"


def _stage(starts: Sequence[StartUnderWay]) -> str:
    """Return which starts of what these are, of one comparison."""
    stage = starts[0].stage or f"comparison {starts[0].comparison}"
    numbers = [f"{start.start + 1}" for start in starts]
    return f"{stage}: {'start' if len(starts) == 1 else 'starts'} {oxford(numbers)}"


def _ago(instant: str, now: datetime) -> str:
    """Return how long ago an instant was that is stored as UTC, ISO 8601."""
    try:
        passed_s = (now - datetime.fromisoformat(instant)).total_seconds()
    except (ValueError, TypeError):  # no instant, or one without its zone
        return "some time ago"
    return f"{format_guess(max(0.0, passed_s))} ago"
