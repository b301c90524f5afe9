"""`httpdyno inspect`: what runs here, what it is set to, what is not as it looks."""

import os
import time
from contextlib import suppress
from typing import Annotated

import typer

from httpdyno.advice.rules.place import folders_of
from httpdyno.advice.rules.reference import rule_reference
from httpdyno.cli.census import asked, source_of
from httpdyno.cli.console import results
from httpdyno.cli.named_source import ConfigOption, PidOption, ServerOption, named_source
from httpdyno.cli.option import JsonOption
from httpdyno.cli.output import Outputs, write_json
from httpdyno.cli.standard_streams import say
from httpdyno.registry import site_adapters
from httpdyno.report.inspect.facts import Asked, Surroundings
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.text import inspect_text
from httpdyno.servers.cell.possible import possible
from httpdyno.servers.source.find import configured, find, running
from httpdyno.servers.source.inspection import Inspected, inspected, serving, with_backends
from httpdyno.servers.source.machine import Machine, this_machine
from httpdyno.servers.source.words import Source
from httpdyno.telemetry.census.taken import N_REQUESTS
from httpdyno.telemetry.filesystem import filesystems
from httpdyno.telemetry.observed import observed

EXAMPLE = """Example:

\b
  httpdyno inspect nginx
"""


def command(  # noqa: PLR0913 - an option each
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="`nginx`, a configuration file, `unit:shop.service`, `pid:1234`, `:8080` for "
            "whoever listens there, a Procfile, or a command after `--`.  [default: all that run, "
            "else what is configured]",
            show_default=False,
        ),
    ] = None,
    *,
    pid: PidOption = None,
    server: ServerOption = None,
    config: ConfigOption = None,
    census: Annotated[
        str | None,
        typer.Option(
            "--census",
            metavar="URL",
            help="Ask for this URL, one request at a time, and count the server's system calls "
            "by `strace`; the server is slower meanwhile.",
        ),
    ] = None,
    census_requests: Annotated[
        int,
        typer.Option(
            "--census-requests",
            metavar="N",
            min=2,
            max=1000,
            help="So many requests are counted; some come before, so that the server is warm.",
        ),
    ] = N_REQUESTS,
    rules: Annotated[
        bool, typer.Option("--rules", help="What is looked for, as a page in Markdown.")
    ] = False,
    json: JsonOption = None,
) -> int:
    """Say what runs here and what it is set to, without touching it.

    Nothing is sent to a server, signalled or changed, unless you ask for a census. Of its programs
    only `nginx -V` is run, which says how it was built and writes nothing.
    """
    if rules:
        say(rule_reference().rstrip("\n"))
        return 0
    outputs = Outputs(json=json)
    outputs.check()
    named = named_source(source or [], pid=pid, server=server, config=config)
    if census is not None:
        named = source_of(census, named)
    page = _page(named, census, census_requests)
    if outputs.json is not None:
        write_json(inspect_json(page), outputs.json)
    if outputs.has_text:
        results().print(inspect_text(page))
    return 0


def _page(source: Source | None, census: str | None, n_requests: int) -> Page:
    machine = this_machine(site_adapters())
    found = running(machine) or configured(machine) if source is None else find(source, machine)
    took = None if census is None else asked(census, n_requests, found)
    seen = with_backends([inspected(each, machine.adapters) for each in found], machine)
    isolation, reason = possible() if seen else ("", "")
    if isolation == "cell":
        reason = "root" if os.geteuid() == 0 else "a user namespace of your own"
    named = () if source is None else found
    return Page(
        servers=tuple(
            _server(each, machine, is_named=each.found in named, took=took) for each in seen
        ),
        now_s=time.time(),
        isolation=isolation,
        isolation_reason=reason,
    )


def _server(seen: Inspected, machine: Machine, *, is_named: bool, took: Asked | None) -> Server:
    root = seen.found.root
    inodes = {each.inode for each in seen.found.listens} if is_named else None
    backends: dict[str, str] = {}
    for backend in seen.survey.backends if seen.survey else ():
        servers = [each for each in serving(backend, machine) if each.root]
        backends[backend.to] = ", ".join(
            f"{each.member.kind} {each.root.pid}" for each in servers if each.root
        )
    return Server(
        seen=seen,
        is_named=is_named,
        observed=observed(root.pid, inodes) if root else None,
        surroundings=_surroundings(seen),
        asked=took if is_named and root else None,
        backends=tuple(backends.items()),
    )


def _surroundings(seen: Inspected) -> Surroundings:
    """Return what of the machine its settings are judged beside."""
    root = seen.found.root
    n_cpus = None
    with suppress(OSError):
        n_cpus = len(os.sched_getaffinity(root.pid)) if root else None
    folders = folders_of(seen.survey) if seen.survey else ()
    found = filesystems(folders, root.pid if root else None) if folders else {}
    return Surroundings(n_cpus=n_cpus, filesystems=found)
