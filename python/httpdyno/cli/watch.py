"""`httpdyno watch`: a server that runs, seen once a second, without touching it."""

import math
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from httpdyno.cli.console import results
from httpdyno.cli.live_display import LiveLooks
from httpdyno.cli.named_source import ConfigOption, PidOption, ServerOption, named_source
from httpdyno.cli.option import ForceOption
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import AdapterError, StoreError, TargetError, UsageError
from httpdyno.inspection.statsd import STATSD, statsd_status_of
from httpdyno.inspection.status import status_page
from httpdyno.model import Behind
from httpdyno.reason import Reason
from httpdyno.registry import site_adapters
from httpdyno.report.shared.bottleneck import behind_text
from httpdyno.report.shared.message import text
from httpdyno.report.shared.phrase import oxford
from httpdyno.report.study.finding import headline
from httpdyno.report.watch.json import watch_json
from httpdyno.report.watch.line import watch_line
from httpdyno.report.watch.phrase import beside_text
from httpdyno.report.watch.run import RunLook, RunView, run_json, run_line
from httpdyno.report.watch.view import View
from httpdyno.servers.discover.error_log import error_logs
from httpdyno.servers.discover.find import Found, find, running
from httpdyno.servers.discover.inspection import behind, looked_at
from httpdyno.servers.discover.machine import Machine, this_machine
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.servers.discover.source import Source, run_named
from httpdyno.telemetry.account import whole_group
from httpdyno.telemetry.status import Status
from httpdyno.telemetry.watched import Follower, Watched, Watcher, first_look, next_look
from httpdyno.telemetry.worker import EACH_SECOND_S
from httpdyno.units import duration_s, format_guess

if TYPE_CHECKING:
    from httpdyno.store import Store

ENDED = "the server has ended"


class Watching(LiveLooks[Watched]):
    """What is watched, and how often."""

    def __init__(  # noqa: PLR0913 - what a view is made of
        self,
        *,
        watcher: Watcher,
        title: str,
        every_s: float,
        kind: str = "",
        behind: Sequence[Behind] = (),
        beside: Sequence[ProcessFacts] = (),
    ) -> None:
        super().__init__(every_s)
        self.title = title
        self.kind = kind
        self.behind = tuple(behind)
        """Servers whose CPU time is in no figure."""
        self.beside = tuple(beside)
        """Processes of its unit that are in no figure."""
        self._watcher = watcher

    def look(self, before: Watched | None) -> Watched | None:
        """Return what is known with one look more; None when the server has ended."""
        look = self._watcher.look(is_last=self.is_last)
        if look is None:
            return None
        return next_look(before, look) if before else first_look(look)

    def has_rates(self, seen: Watched) -> bool:
        """Whether it is not the first look."""
        return seen.change is not None

    def line(self, seen: Watched) -> str:
        """Return a look in a line."""
        return watch_line(seen, self.every_s)

    def hidden_text(self, seen: Watched) -> str:
        """Return that reads and writes of the disk may not be seen; empty where they may."""
        disk = seen.now.disk
        return text(disk.hidden) if disk and disk.hidden else ""

    def shown(self, seen: Watched, *, n_lines: int | None = None, keys: str = "") -> View:
        """Return a view of what was seen."""
        return View(
            title=self.title,
            watched=seen,
            every_s=self.every_s,
            kind=self.kind,
            n_lines=n_lines,
            behind=self.behind,
            beside=self.beside,
            keys=keys,
        )

    def end_text(self) -> str:
        """Return that the server ended, and how long it was watched."""
        return f"{ENDED}, after {format_guess(self._last.since_s if self._last else 0.0)}"

    def lines(self, n_looks: int | None) -> None:
        """Say first what no figure has; then a line for each look."""
        if misses := behind_text(self.behind):
            tell(f"CPU time is without {misses}")
        if self.beside:
            tell(beside_text(self.beside))
        super().lines(n_looks)


def watch_run(
    run_id: str, *, every_s: float, n_looks: int | None, is_once: bool, outputs: Outputs
) -> int:
    """Follow a run until it ends, or the view is left.

    Raises:
        StoreError: There is no such run, or nobody is at it.
        TargetError: It ended between the two looks of `--once`.
    """
    from httpdyno.store import Store  # noqa: PLC0415 - not for servers

    with Store.open() as store:
        following = Following(store, run_id, every_s)
        console = results()
        if is_once:
            _once_of_run(following, outputs)
        elif console.is_terminal and not console.is_dumb_terminal:
            following.view(console, n_looks)
        else:
            following.lines(n_looks)
    return 0


class Following(LiveLooks[RunLook]):
    """A run that somebody is at, and its servers where they can be seen."""

    def __init__(self, store: "Store", run_id: str, every_s: float) -> None:
        super().__init__(every_s)
        self._store = store
        self._run_id = run_id
        self._follower = Follower()

    def look(self, before: RunLook | None) -> RunLook | None:
        """Return what is known now; None when nobody is at the run any more.

        Raises:
            StoreError: Nobody was at the first look.
        """
        run = self._store.under_way(self._run_id)
        if run is None:
            if before is None:
                raise StoreError(
                    f"run {self._run_id} does not run now",
                    hint=f"`httpdyno report {self._run_id}` says what it found",
                )
            return None
        is_here = run.host == socket.gethostname()
        arms = [arm for start in run.starts for arm in start.arms] if is_here else []
        return RunLook(
            run=run,
            now=datetime.now(UTC),
            servers=self._follower.look(arm.roots for arm in arms),
            is_first=before is None,
        )

    def has_rates(self, seen: RunLook) -> bool:
        """Whether it is not the first look."""
        return not seen.is_first

    def line(self, seen: RunLook) -> str:
        """Return a look in a line."""
        return run_line(seen)

    def shown(self, seen: RunLook, *, n_lines: int | None = None, keys: str = "") -> RunView:
        """Return a view of what was seen."""
        return RunView(look=seen, n_lines=n_lines, keys=keys)

    def end_text(self) -> str:
        """Return how the run ended, with what it found."""
        outcome = self._store.outcome(self._run_id)
        if outcome is None or outcome.status == "running":
            return (
                f"the process that was at run {self._run_id} has ended, and the run has not: "
                f"`httpdyno study run --resume {self._run_id}` goes on with it"
            )
        return f"run {self._run_id} has ended: {headline(outcome)}"


def _once_of_run(following: Following, outputs: Outputs) -> None:
    """Take two samples and print the result."""
    seen = following.twice()
    if seen is None:
        raise TargetError(f"{following.end_text()}, between the two samples")
    if outputs.json is not None:
        outputs.write_json(run_json(seen))
    if outputs.has_text:
        results().print(following.shown(seen))


EXAMPLE = """Example:

\b
  httpdyno watch apache --status 'http://127.0.0.1/server-status?auto'
"""

EVERY = "1s"
EVERY_OF_RUN = "5s"
"""A look takes some CPU time of the machine that is measured."""
_LEAST_S = 0.1
"""CPU time is counted in ticks of 10 ms, and nobody reads faster."""


def command(  # noqa: PLR0913 - a parameter for each option
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="As for `inspect`, such as apache, unit:NAME or :PORT; or run:ID, a run in "
            "progress.  [default: the running server]",
            show_default=False,
        ),
    ] = None,
    *,
    pid: PidOption = None,
    server: ServerOption = None,
    config: ConfigOption = None,
    every: Annotated[
        str | None,
        typer.Option(
            "--every",
            metavar="TIME",
            help="Sampling interval.  [default: 1s; 5s for a run]",
            show_default=False,
        ),
    ] = None,
    n_looks: Annotated[
        int | None,
        typer.Option(
            "-n",
            metavar="COUNT",
            min=1,
            help="Stop after this many samples.  [default: until `q`, Ctrl-C or the server's end]",
            show_default=False,
        ),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="URL|statsd",
            help="Poll the status page of Apache (`?auto`), nginx or php-fpm; or receive "
            "gunicorn's statsd metrics.",
        ),
    ] = None,
    once: Annotated[
        bool,
        typer.Option("--once", help="Take two samples, --every apart, print the result and exit."),
    ] = False,
    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="With --once: write the result as JSON. `-` is stdout, without text.",
        ),
    ] = None,
    force: ForceOption = False,
) -> int:
    """Live view of a running server: workers, CPU, memory, queues.

    It reads processes from outside and touches nothing. Memory of other users' processes needs
    root. Without a terminal it prints a line per sample.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    run_id = run_named(source or [])
    every_s = duration_s(every or (EVERY if run_id is None else EVERY_OF_RUN), "--every")
    _check(every_s, has_count=n_looks is not None, is_once=once, has_json=json is not None)
    if run_id is not None:
        if any(each is not None for each in (pid, server, config, status)):
            raise UsageError(
                f"`run:{run_id}` is a run, and that option is for a server",
                hint="the servers of a run have pids: `httpdyno watch pid:1234` shows one",
            )
        return _followed(run_id, every_s, n_looks, outputs, is_once=once)
    machine = this_machine(site_adapters())
    meant = _meant(named_source(source or [], pid=pid, server=server, config=config), machine)
    with _asking(meant, status, every_s) as ask:
        watching = _watching(
            meant, machine, ask, every_s, most_s=math.inf if once else EACH_SECOND_S * every_s
        )
        console = results()
        if once:
            _once(watching, meant, outputs)
        elif console.is_terminal and not console.is_dumb_terminal:
            watching.view(console, n_looks)
        else:
            watching.lines(n_looks)
    return 0


def _followed(
    run_id: str, every_s: float, n_looks: int | None, outputs: Outputs, *, is_once: bool
) -> int:
    return watch_run(run_id, every_s=every_s, n_looks=n_looks, is_once=is_once, outputs=outputs)


def _check(every_s: float, *, has_count: bool, is_once: bool, has_json: bool) -> None:
    if every_s < _LEAST_S:
        raise UsageError(
            f"`--every` is shorter than {_LEAST_S:g} s",
            hint="CPU time is counted in ticks of 10 ms, so shorter intervals show nothing",
        )
    if has_json and not is_once:
        raise UsageError(
            "`--json` is for `--once`", hint="add `--once`: it writes one document of two samples"
        )
    if has_count and is_once:
        raise UsageError("`-n` and `--once` exclude each other")


def _watching(
    meant: Sequence[Found],
    machine: Machine,
    ask: Callable[[], Status | Reason] | None,
    every_s: float,
    *,
    most_s: float,
) -> Watching:
    """Return what watches servers that are meant as one."""
    roots = [_root(each).pid for each in meant]
    whole = whole_group(meant[0].group, roots) if meant[0].group else None
    own = {each.pid for found in meant for each in (_root(found), *found.below)}
    beside = [each for found in meant for each in found.beside if each.pid not in own]
    left: list[int] = []
    if whole and whole.folder:
        # The members of a whole group are read with it, at each look.
        left, beside = [each.pid for each in beside], []
        own |= {*whole.pids()}
    seen = [looked_at(each, machine) for each in meant]
    places = (place for each in seen for place in behind(each, machine, besides=own))
    kinds = {each.member.kind for each in meant}
    return Watching(
        watcher=Watcher(
            roots[0],
            {each.inode for found in meant for each in found.listens},
            whole=whole,
            most_s=most_s,
            ask=ask,
            logs=error_logs(seen, besides=left),
        ),
        title=_title(meant),
        kind=kinds.pop() if len(kinds) == 1 else "",
        every_s=every_s,
        behind=[*dict.fromkeys(places)],
        beside=beside,
    )


def _once(watching: Watching, meant: Sequence[Found], outputs: Outputs) -> None:
    """Take two samples and print the result.

    Raises:
        TargetError: The server ended in between.
    """
    seen = watching.twice()
    if seen is None:
        raise TargetError(f"{ENDED} between the two samples")
    if outputs.json is not None:
        about = _about(meant)
        outputs.write_json({"server": about, **watch_json(seen, watching.behind, watching.beside)})
    if outputs.has_text:
        results().print(watching.shown(seen))


def _about(meant: Sequence[Found]) -> dict[str, Any]:
    """Return which server is watched; of several roots what is one's own is null."""
    sole = meant[0] if len(meant) == 1 else None
    return {
        "kind": sole.member.kind if sole else None,
        "pid": _root(sole).pid if sole else None,
        "root_pids": [_root(each).pid for each in meant],
        "group": meant[0].group or None,
        "main": sole.member.main or None if sole else None,
        "command": list(sole.member.command) if sole else [],
    }


def _meant(source: Source | None, machine: Machine) -> list[Found]:
    """Return the server that is meant, and that runs: several roots where a group is meant.

    Raises:
        UsageError: There are several.
        AdapterError: None runs.
    """
    found = running(machine) if source is None else find(source, machine)
    live = [each for each in found if each.root is not None]
    if not live:
        what = oxford([str(each) for each in found]) if found else "no server of a known kind"
        raise AdapterError(
            f"nothing to watch: {what}" + ("" if found else " runs here"),
            hint="`httpdyno inspect` lists what runs; any process is named by `pid:1234`",
        )
    if len(live) > 1 and {each.group for each in live} != {live[0].group or None}:
        raise UsageError(
            f"{len(live)} servers are meant: {'; '.join(str(each) for each in live)}",
            hint="name one by its `pid:` or its address, such as `:8080`",
        )
    return live


def _root(found: Found) -> ProcessFacts:
    if found.root is None:
        raise AssertionError("only what runs is watched")
    return found.root


def _asking(
    meant: Sequence[Found], status: str | None, every_s: float
) -> AbstractContextManager[Callable[[], Status | Reason] | None]:
    """Return what has it say its status, for as long as it is entered."""
    if status == STATSD:
        senders = [each for each in meant if each.member.kind == "gunicorn"] or meant
        return statsd_status_of(_root(senders[0]).pid)
    return nullcontext(None if status is None else status_page(status, every_s))


def _title(meant: Sequence[Found]) -> str:
    if len(meant) > 1:
        return f"cgroup:{meant[0].group}"
    member = meant[0].member
    what = member.main or " ".join(member.command)
    return f"{member.kind} {_root(meant[0]).pid}  {what}".strip()
