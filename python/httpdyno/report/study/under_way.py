"""A run that a process is at, as far as the store knows it: no claim, and no outcome."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.model import Configuration, RunUnderWay, StartUnderWay, level_text
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.report.shared.prose import Prose
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


def under_way_text(run: RunUnderWay, now: datetime) -> RenderableType:
    """Return where it is, and the means of the windows of what is measured now."""
    head = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    head.add_column(min_width=_LABEL_WIDTH, no_wrap=True)
    head.add_column(overflow="fold")
    for label, words in _rows(run, now):
        head.add_row(Text(label, "dim"), Prose(Text(words)))
    title = Text(f"run {run.id}: {run.command} {run.study}", "bold")
    lines: list[RenderableType] = [title, head]
    for start in run.starts:
        lines += [Text(""), *_start(start, now)]
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
    return tuple(
        ", ".join(f"{name}={level_text(each.values.get(name, ''))}" for name in names)
        or "the same configuration"
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


def _start(start: StartUnderWay, now: datetime) -> Iterator[RenderableType]:
    stage = start.stage or f"comparison {start.comparison}"
    yield Text(f"{stage}: start {start.start + 1}, begun {_ago(start.began_at, now)}")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("  arm", overflow="fold")
    for name in ("windows", "throughput", "CPU/request", "errors"):
        table.add_column(name, justify="right", no_wrap=True)
    labels = arm_labels([arm.configuration for arm in start.arms])
    for label, arm in zip(labels, start.arms, strict=True):
        throughput, cpu_s = arm.throughput_per_s, arm.cpu_s_per_request
        table.add_row(
            Text(f"  {label}"),
            f"{arm.n_windows:,}",
            NOTHING if throughput is None else format_rate(throughput),
            NOTHING if cpu_s is None else format_duration(cpu_s),
            f"{arm.n_errors:,}",
        )
    yield table


def _ago(instant: str, now: datetime) -> str:
    """Return how long ago an instant was that is stored as UTC, ISO 8601."""
    try:
        passed_s = (now - datetime.fromisoformat(instant)).total_seconds()
    except (ValueError, TypeError):  # no instant, or one without its zone
        return "some time ago"
    return f"{format_guess(max(0.0, passed_s))} ago"
