"""`httpdyno watch`: a server that runs, seen once a second, without touching it."""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any

import typer

from httpdyno.cli.console import results
from httpdyno.cli.named_source import ConfigOption, PidOption, ServerOption, named_source
from httpdyno.cli.option import ForceOption
from httpdyno.cli.output import Outputs
from httpdyno.cli.watching import ENDED, Watching
from httpdyno.errors import AdapterError, TargetError, UsageError
from httpdyno.inspection.statsd import STATSD, statsd_status_of
from httpdyno.inspection.status import status_page
from httpdyno.registry import site_adapters
from httpdyno.report.shared.phrase import oxford
from httpdyno.report.watch.json import watch_json
from httpdyno.servers.discover.error_log import error_logs
from httpdyno.servers.discover.find import Found, find, running
from httpdyno.servers.discover.inspection import behind, looked_at
from httpdyno.servers.discover.machine import Machine, this_machine
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.servers.discover.source import Source, run_named
from httpdyno.telemetry.account import whole_group
from httpdyno.telemetry.status import Status
from httpdyno.telemetry.watched import Watcher
from httpdyno.telemetry.worker import EACH_SECOND_S
from httpdyno.units import duration_s

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
    from httpdyno.cli.watch_run import watch_run  # noqa: PLC0415 - the store, not for servers

    return watch_run(run_id, every_s=every_s, n_looks=n_looks, is_once=is_once, outputs=outputs)


def _check(every_s: float, *, has_count: bool, is_once: bool, has_json: bool) -> None:
    if every_s < _LEAST_S:
        raise UsageError(
            f"`--every` is shorter than {_LEAST_S:g} s",
            hint="CPU time is counted in ticks of 10 ms: shorter looks tell nothing",
        )
    if has_json and not is_once:
        raise UsageError("`--json` is for `--once`", hint="give both: two looks make one document")
    if has_count and is_once:
        raise UsageError("`-n` and `--once` exclude each other")


def _watching(
    meant: Sequence[Found],
    machine: Machine,
    ask: Callable[[], Status | str] | None,
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
    """Look twice and print that.

    Raises:
        TargetError: The server ended in between.
    """
    seen = watching.twice()
    if seen is None:
        raise TargetError(f"{ENDED} while it was looked at")
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
            hint="say one of them by its `pid:` or its address, such as `:8080`",
        )
    return live


def _root(found: Found) -> ProcessFacts:
    if found.root is None:
        raise AssertionError("only what runs is watched")
    return found.root


def _asking(
    meant: Sequence[Found], status: str | None, every_s: float
) -> AbstractContextManager[Callable[[], Status | str] | None]:
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
