"""A run that a process is at, as far as the store knows it: no claim, and no outcome."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.model import ArmUnderWay, Configuration, RunUnderWay, StartUnderWay, level_text
from httpdyno.report.shared.phrase import NOTHING, oxford, plural
from httpdyno.report.shared.prose import Prose
from httpdyno.telemetry.followed import Roots, ServerSeen
from httpdyno.units import format_duration, format_guess, format_rate

_LABEL_WIDTH = 10
_EARLY = "means of the windows so far; what they prove is said when the run has a result"


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
    """Return where it is, and the means of the windows of what is measured now.

    Args:
        run: As the store has it.
        now: The present instant.
        servers: Those of it that can be seen; None where nobody looked.
    """
    head = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    head.add_column(min_width=_LABEL_WIDTH, no_wrap=True)
    head.add_column(overflow="fold")
    for label, words in _rows(run, now):
        head.add_row(Text(label, "dim"), Prose(Text(words)))
    title = Text(f"run {run.id}: {run.command} {run.study}", "bold")
    lines: list[RenderableType] = [title, head]
    for _, together in groupby(run.starts, lambda start: start.comparison):
        starts = [*together]
        words = f"{_stage(starts)}, begun {_ago(starts[0].began_at, now)}"
        lines += [Text(""), Text(words), _arms(starts, servers)]
    if run.starts:
        lines += [Text(""), Prose(Text(_EARLY, "dim"))]
    return Group(*lines)


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


def _arms(
    starts: Sequence[StartUnderWay], servers: Mapping[Roots, ServerSeen] | None
) -> RenderableType:
    """Return a row for each arm of each start; errors only where there are some."""
    has_errors = any(arm.n_errors for start in starts for arm in start.arms)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("start", justify="right", no_wrap=True)
    table.add_column("arm", overflow="fold")
    figures = ["windows", "throughput", "CPU/request", *(["errors"] if has_errors else [])]
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    if servers is not None:
        table.add_column("server", overflow="fold")
        table.add_column("cores", justify="right", no_wrap=True)
    for start in starts:
        labels = arm_labels([arm.configuration for arm in start.arms])
        for label, arm in zip(labels, start.arms, strict=True):
            cells: list[RenderableType] = [f"{start.start + 1}", Text(label)]
            cells += _figures(arm)[: len(figures)]
            cells += _server(arm, servers) if servers is not None else ()
            table.add_row(*cells)
    return table


def _figures(arm: ArmUnderWay) -> tuple[str, ...]:
    throughput, cpu_s = arm.throughput_per_s, arm.cpu_s_per_request
    return (
        f"{arm.n_windows:,}",
        NOTHING if throughput is None else format_rate(throughput),
        NOTHING if cpu_s is None else format_duration(cpu_s),
        f"{arm.n_errors:,}",
    )


def _server(arm: ArmUnderWay, servers: Mapping[Roots, ServerSeen]) -> tuple[Text | str, ...]:
    seen = servers.get(arm.roots)
    if seen is None:
        return Text("not seen" if arm.roots else "not begun", "dim"), NOTHING
    pids = ", ".join(f"{pid}" for pid, _ in seen.roots)
    n_below = seen.n_processes - len(seen.roots)
    return f"{pids} + {n_below:,}" if n_below > 0 else pids, cores_text(seen)


def cores_text(seen: ServerSeen) -> str:
    """Return the CPU time of a server, in cores; `≥` where children may be missing."""
    if seen.cpu_ratio is None:
        return NOTHING
    return f"{'≥ ' if seen.misses_children else ''}{seen.cpu_ratio:.2f}"


def _ago(instant: str, now: datetime) -> str:
    """Return how long ago an instant was that is stored as UTC, ISO 8601."""
    try:
        passed_s = (now - datetime.fromisoformat(instant)).total_seconds()
    except (ValueError, TypeError):  # no instant, or one without its zone
        return "some time ago"
    return f"{format_guess(max(0.0, passed_s))} ago"
