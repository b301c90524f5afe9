"""The arms that are measured now, a row to each of each start, with their figures so far."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from httpdyno.model import ArmUnderWay, Configuration, StartUnderWay, level_text
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.stats.histogram import MIN_TAIL_COUNT
from httpdyno.telemetry.watched import Roots, ServerSeen
from httpdyno.units import format_bytes, format_duration, format_rate

_EARLY = "figures of the windows so far; what they prove is said when the run has a result"
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
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("start", justify="right", no_wrap=True)
    table.add_column("arm", overflow="fold")
    for name in (name for each in columns for name in each.head):
        if name == "server":
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    rows = zip(*(each.rows for each in columns), strict=True)
    for named, cells in zip(names, rows, strict=True):
        table.add_row(*named, *(cell for each in cells for cell in each))
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
