"""`httpdyno inspect`: what runs here, what it is set to, what is not as it looks."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.console import results
from httpdyno.cli.option import JsonOption
from httpdyno.cli.output import Outputs, write_json
from httpdyno.registry import site_adapters
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.text import inspect_text
from httpdyno.servers.cell.possible import possible
from httpdyno.servers.source.find import configured, find, running
from httpdyno.servers.source.inspection import Inspected, inspected, serving, with_backends
from httpdyno.servers.source.machine import Machine, this_machine
from httpdyno.servers.source.words import parse_source
from httpdyno.telemetry.process_tree import ProcessTree

EXAMPLE = """Example:

\b
  httpdyno inspect nginx
"""


def command(
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
    json: JsonOption = None,
) -> int:
    """Say what runs here and what it is set to, without touching it.

    Nothing is sent to a server, signalled or changed. Of its programs only `nginx -V` is run, which
    says how it was built and writes nothing.
    """
    outputs = Outputs(json=json)
    outputs.check()
    page = _page(source or [])
    if outputs.json is not None:
        write_json(inspect_json(page), outputs.json)
    if outputs.has_text:
        results().print(inspect_text(page))
    return 0


def _page(words: list[str]) -> Page:
    machine = this_machine(site_adapters())
    if words:
        found = find(parse_source(words, Path.cwd()), machine)
    else:
        found = running(machine) or configured(machine)
    seen = with_backends([inspected(each, machine.adapters) for each in found], machine)
    isolation, reason = possible() if seen else ("", "")
    if isolation == "cell":
        reason = "root" if os.geteuid() == 0 else "a user namespace of your own"
    return Page(
        servers=tuple(_server(each, machine) for each in seen),
        now_s=time.time(),
        isolation=isolation,
        isolation_reason=reason,
    )


def _server(seen: Inspected, machine: Machine) -> Server:
    root = seen.found.root
    backends: dict[str, str] = {}
    for backend in seen.survey.backends if seen.survey else ():
        servers = [each for each in serving(backend, machine) if each.root]
        backends[backend.to] = ", ".join(
            f"{each.member.kind} {each.root.pid}" for each in servers if each.root
        )
    return Server(
        seen=seen,
        memory_bytes=ProcessTree(root.pid).pss_bytes() if root else None,
        backends=tuple(backends.items()),
    )
