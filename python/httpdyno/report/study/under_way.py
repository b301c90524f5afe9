"""A run that a process is at, as far as the store knows it: no claim, and no outcome."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.model import RunUnderWay, StartUnderWay
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.under_way_arms import ArmsTable, notes
from httpdyno.telemetry.watched import Roots, ServerSeen
from httpdyno.units import format_guess

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
