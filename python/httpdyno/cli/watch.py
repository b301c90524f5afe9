"""`httpdyno watch`: a server that runs, seen once a second, without touching it."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated

import typer

from httpdyno.cli.console import results
from httpdyno.cli.named_source import ConfigOption, PidOption, ServerOption, named_source
from httpdyno.cli.output import Outputs, write_json
from httpdyno.cli.statsd_status import STATSD, statsd_status_of
from httpdyno.cli.status_page import status_page
from httpdyno.cli.watching import ENDED, Watching
from httpdyno.errors import AdapterError, TargetError, UsageError
from httpdyno.registry import site_adapters
from httpdyno.report.shared.phrase import oxford
from httpdyno.report.watch.json import watch_json
from httpdyno.servers.source.behind import behind
from httpdyno.servers.source.error_log import error_logs
from httpdyno.servers.source.find import Found, find, running
from httpdyno.servers.source.inspection import inspected
from httpdyno.servers.source.machine import Machine, this_machine
from httpdyno.servers.source.words import Source
from httpdyno.telemetry.status_text import Status
from httpdyno.telemetry.watched import Watcher
from httpdyno.telemetry.worker import EACH_SECOND_S
from httpdyno.units import duration_s

EXAMPLE = """Example:

\b
  httpdyno watch apache --status 'http://127.0.0.1/server-status?auto'
"""

_LEAST_S = 0.1
"""CPU time is counted in ticks of 10 ms, and nobody reads faster."""


def command(  # noqa: PLR0913 - a parameter for each option
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="As `inspect` takes it: `apache`, `unit:shop.service`, `cgroup:PATH`, `pid:1234`, "
            "`:8080` for whoever listens there.  [default: the one that runs]",
            show_default=False,
        ),
    ] = None,
    *,
    pid: PidOption = None,
    server: ServerOption = None,
    config: ConfigOption = None,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="How often it is looked at.")
    ] = "1s",
    n_looks: Annotated[
        int | None,
        typer.Option(
            "-n",
            metavar="COUNT",
            min=1,
            help="End after so many looks.  [default: go on until `q`, Ctrl-C or the server's end]",
            show_default=False,
        ),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="URL|statsd",
            help="Ask for the server's own status page with each look: Apache's "
            "`server-status?auto`, nginx's stub_status, php-fpm's. `statsd`: hear what gunicorn "
            "sends of itself, where nobody else does. Without it nothing is asked.",
        ),
    ] = None,
    once: Annotated[
        bool,
        typer.Option("--once", help="Look twice, --every apart, print what was seen, and end."),
    ] = False,
    json: Annotated[
        str | None,
        typer.Option(
            "--json",
            metavar="FILE|-",
            help="With --once: write what was seen as JSON; `-` is stdout, without text.",
        ),
    ] = None,
) -> int:
    """Show what a server that runs does and occupies, once a second.

    Whoever started it, and without touching it: its processes are read from outside. What those of
    other users occupy is told to root only. Where stdout is no terminal, each look is a line.
    """
    outputs = Outputs(json=json)
    outputs.check()
    every_s = duration_s(every)
    _check(every_s, has_count=n_looks is not None, is_once=once, has_json=json is not None)
    machine = this_machine(site_adapters())
    found = _sole(named_source(source or [], pid=pid, server=server, config=config), machine)
    root_pid = _root_pid(found)
    seen = inspected(found, machine.adapters)
    with _asking(root_pid, status, every_s) as ask:
        watching = Watching(
            watcher=Watcher(
                root_pid,
                {each.inode for each in found.listens},
                most_s=math.inf if once else EACH_SECOND_S * every_s,
                ask=ask,
                logs=error_logs(found, seen.survey),
            ),
            title=_title(found),
            kind=found.member.kind,
            every_s=every_s,
            behind=behind(seen, machine),
        )
        console = results()
        if once:
            _once(watching, found, outputs)
        elif console.is_terminal and not console.is_dumb_terminal:
            watching.view(console, n_looks)
        else:
            watching.lines(n_looks)
    return 0


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


def _once(watching: Watching, found: Found, outputs: Outputs) -> None:
    """Look twice and print that.

    Raises:
        TargetError: The server ended in between.
    """
    seen = watching.twice()
    if seen is None:
        raise TargetError(f"{ENDED} while it was looked at")
    if outputs.json is not None:
        root = found.root
        about = {
            "kind": found.member.kind,
            "pid": root.pid if root else None,
            "main": found.member.main or None,
            "command": list(found.member.command),
        }
        write_json({"server": about, **watch_json(seen, watching.behind)}, outputs.json)
    if outputs.has_text:
        results().print(watching.shown(seen))


def _sole(source: Source | None, machine: Machine) -> Found:
    """Return the one server that is meant, and that runs.

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
    if len(live) > 1:
        raise UsageError(
            f"{len(live)} servers are meant: {'; '.join(str(each) for each in live)}",
            hint="say one of them by its `pid:` or its address, such as `:8080`",
        )
    return live[0]


def _root_pid(found: Found) -> int:
    if found.root is None:
        raise AssertionError("only what runs is watched")
    return found.root.pid


def _asking(
    pid: int, status: str | None, every_s: float
) -> AbstractContextManager[Callable[[], Status | str] | None]:
    """Return what has it say its status, for as long as it is entered."""
    if status == STATSD:
        return statsd_status_of(pid)
    return nullcontext(None if status is None else status_page(status, every_s))


def _title(found: Found) -> str:
    what = found.member.main or " ".join(found.member.command)
    return f"{found.member.kind} {found.root.pid if found.root else ''}  {what}".strip()
