"""A server that is watched, sized to a terminal: lines about the pool, and a table of workers."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from httpdyno.host.foreign_text import visible
from httpdyno.model import Behind
from httpdyno.report.shared.log_text import log_texts
from httpdyno.report.shared.phrase import NOTHING, age_text
from httpdyno.report.shared.view import labelled, plain_table
from httpdyno.report.watch.phrase import (
    cpu_text,
    detached_text,
    disk_text,
    fork_text,
    memory_text,
    missing_text,
    per_s,
    pressure_text,
    queue_texts,
    since_text,
    state_text,
    status_texts,
    turnover_text,
    workers_text,
    zombie_text,
)
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.telemetry.pool import size
from httpdyno.telemetry.watched import Watched
from httpdyno.telemetry.worker import Worker
from httpdyno.units import format_bytes

N_WORKERS = 20
"""So many have a line where no terminal sets the number."""
LABELS = (
    *("pool", "detached", "CPU", "workers", "forks", "disk", "queue", "pressure", "states"),
    *("zombies", "status", "errors", "!"),
)
_LABEL_WIDTH = 10
_NAME_WIDTH = 17
_TABLE_FRAME = 3
"""Lines of a table that are no workers: one above it, its head, what is left out."""
_SHORT_STATES = {"disk sleep": "disk"}
_NEW, _PARENT = "+", "^"
_N_KINDS = 2
"""Of lines of its error logs."""
_CLOCKS = {
    "apache": "Apache replaces ended workers once a second: forks follow its timer, not its load",
    "php-fpm": "php-fpm replaces ended workers at once, and adjusts spare ones once a second",
}
"""By kind: how forks come. Source: httpd 2.4, server/mpm_unix.c or mpm_common.c,
ap_wait_or_timeout; PHP, sapi/fpm/fpm/fpm_process_ctl.h, FPM_IDLE_SERVER_MAINTENANCE_HEARTBEAT, and
fpm_children.c, fpm_children_bury."""
_NO_CLOCK = "processes that live between two samples are in neither"


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What a person sees of a server."""

    title: str
    """What it is."""
    watched: Watched
    every_s: float
    kind: str = ""
    """Of server, as adapters name theirs; empty where it is none of them."""
    n_lines: int | None = None
    """The height of the terminal; None where there is none."""
    behind: Sequence[Behind] = ()
    """Servers behind it."""
    beside: Sequence[ProcessFacts] = ()
    """Processes of its unit that are in no figure."""
    keys: str = ""
    """What a key does."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines, as many workers as there is room for."""
        title = Text(_one_line(self.title), "bold", no_wrap=True, overflow="ellipsis")
        since = Text(since_text(self.watched), "dim")
        title.truncate(max(1, options.max_width - len(since) - 2), overflow="ellipsis", pad=True)
        yield Text.assemble(title, "  ", since)
        head = self._head()
        yield head
        n_rows = N_WORKERS
        if self.n_lines is not None:
            n_head = 1 + len(console.render_lines(head, options))
            n_rows = max(0, self.n_lines - n_head - _TABLE_FRAME)
        if n_rows:
            yield Text("")
            yield self._table(n_rows)
        yield self._foot(n_rows)

    def _head(self) -> Table:
        rows = ((Text(label, "dim"), _one_line(words)) for label, words in self._rows())
        return labelled(rows, width=_LABEL_WIDTH, gap=1)

    def _rows(self) -> Iterator[tuple[str, str]]:
        watched = self.watched
        yield "pool", f"{workers_text(watched)}, {memory_text(watched, self.every_s)}"
        if detached := detached_text(watched, self.beside):
            yield "detached", detached
        used = ", ".join([cpu_text(watched), *_switches(watched)])
        yield (
            "CPU",
            "; ".join(filter(None, [used, missing_text(watched, self.behind, self.beside)])),
        )
        yield (
            "workers",
            f"{turnover_text(watched)}, {watched.n_births:,} and {watched.n_deaths:,} in "
            f"{since_text(watched)}: {_CLOCKS.get(self.kind, _NO_CLOCK)}",
        )
        if forks := fork_text(watched):
            yield "forks", forks
        if disk := disk_text(watched, self.every_s):
            yield "disk", disk
        if queues := ", ".join(queue_texts(watched, self.every_s)):
            yield "queue", queues
        yield "pressure", pressure_text(watched)
        yield "states", state_text(watched)
        if zombies := zombie_text(watched):
            yield "zombies", zombies
        if status := "; ".join(status_texts(watched)):
            yield "status", status
        for text in log_texts(watched.log, _N_KINDS):
            yield "errors", text
        sample = watched.now.sample
        if not {each.pid for each in sample.workers if not each.is_zombie} & {*sample.root_pids}:
            yield "!", "the parent has ended; these processes are left"

    def _table(self, n_rows: int) -> Table:
        table = plain_table(has_head=True)
        table.add_column("  process", min_width=_NAME_WIDTH, no_wrap=True, overflow="ellipsis")
        served = ["served"] if self.watched.served else []
        for name in ("own", "PSS", "CPU", "switches", *served, "age"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("state", no_wrap=True, overflow="ellipsis")
        for each in self._in_order()[:n_rows]:
            table.add_row(*self._cells(each))
        return table

    def _in_order(self) -> list[Worker]:
        """Return those with most CPU time first, then those with most memory of their own."""
        happened = self.watched.change
        used = happened.cpu_ratio if happened else {}
        living = [each for each in self.watched.now.sample.workers if not each.is_zombie]
        return sorted(living, key=lambda each: (used.get(each.pid, 0.0), size(each)), reverse=True)

    def _cells(self, each: Worker) -> tuple[Text | str, ...]:
        happened = self.watched.change
        used = happened.cpu_ratio.get(each.pid) if happened else None
        switches = happened.switches_per_s.get(each.pid) if happened else None
        mark = _PARENT if each.pid in self.watched.now.sample.root_pids else " "
        if happened and each.pid in happened.new_pids:
            mark = _NEW
        return (
            Text(f"{mark} {each.pid} {_one_line(each.name)}", "green" if mark == _NEW else ""),
            format_bytes(each.memory.uss_bytes) if each.memory else NOTHING,
            format_bytes(each.memory.pss_bytes) if each.memory else NOTHING,
            NOTHING if used is None else f"{used * 100:.0f} %",
            NOTHING if switches is None else per_s(switches),
            *self._served(each),
            age_text(each.age_s),
            _SHORT_STATES.get(each.state, each.state),
        )

    def _served(self, each: Worker) -> Iterator[str]:
        if self.watched.served:
            n = self.watched.served.get(each.pid)
            yield NOTHING if n is None else f"{n:,}"

    def _foot(self, n_rows: int) -> Text:
        left = max(0, len(self._in_order()) - n_rows)
        said = [f"{left:,} more" if left else "", f"{_PARENT} parent, {_NEW} new", self.keys]
        return Text("  ".join(filter(None, said)), "dim", no_wrap=True, overflow="ellipsis")


def _one_line(text: str) -> str:
    """Return what others wrote such that it takes as much room as it has characters."""
    return visible(re.sub(r"[\n\t]+", " ", text))


def _switches(watched: Watched) -> Iterator[str]:
    happened = watched.change
    if happened is None:
        return
    if happened.voluntary_switches is not None and happened.involuntary_switches is not None:
        n = happened.voluntary_switches + happened.involuntary_switches
        yield f"{per_s(n / happened.elapsed_s)} switches"
    yield f"{per_s(happened.major_faults / happened.elapsed_s)} major faults"
