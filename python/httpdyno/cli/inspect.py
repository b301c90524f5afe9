"""`httpdyno inspect`: what runs here, what it is set to, what is not as it looks."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from httpdyno.cli.console import messages, results
from httpdyno.cli.named_source import ConfigOption, PidOption, ServerOption, named_source
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.option_group import whole_number
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say, tell_why
from httpdyno.inspection.server import LoadAsked, listening_at, page_of, with_status
from httpdyno.reason import Reason
from httpdyno.registry import site_adapters
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.text import inspect_text
from httpdyno.report.shared.message import text
from httpdyno.report.shared.reference import rule_reference
from httpdyno.servers.discover.machine import Machine, this_machine
from httpdyno.telemetry.syscalls.strace import N_REQUESTS

if TYPE_CHECKING:
    from httpdyno.inspection.under_load import Shown

EXAMPLE = """Example:

\b
  httpdyno inspect nginx
  httpdyno inspect :8000 --load http://127.0.0.1:8000/ --for 20s
  httpdyno inspect --census http://127.0.0.1:8000/
"""


def command(  # noqa: PLR0913 - an option each
    source: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            help="Server (nginx, …), configuration file, Procfile, unit:NAME, cgroup:PATH, "
            "pid:N, :PORT, or `-- COMMAND`.  [default: all running, else configured servers]",
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
            help="Request this URL serially and count system calls with `strace`. Slows the "
            "server.",
        ),
    ] = None,
    census_requests: Annotated[
        int,
        typer.Option(
            "--census-requests",
            metavar="N",
            min=2,
            max=1000,
            help="Number of requests to count, after a warm-up.",
        ),
    ] = N_REQUESTS,
    load: Annotated[
        list[str] | None,
        typer.Option(
            "--load",
            metavar="URL",
            help="Load this local or private URL and report how workers grow or leak. Repeatable.",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="TIME",
            help="With --load: duration.  [default: 20s]",
            show_default=False,
        ),
    ] = None,
    connections: Annotated[
        int | None,
        typer.Option(
            "-c",
            "--connections",
            parser=whole_number("-c"),
            metavar="N",
            help="With --load: users, one connection each.  [default: 4]",
            show_default=False,
        ),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status",
            metavar="URL",
            help="Status page of Apache (`server-status`) or php-fpm (`?full`), for requests per "
            "worker.",
        ),
    ] = None,
    respawn: Annotated[
        list[str] | None,
        typer.Option(
            "--respawn",
            metavar="N=RATE|run:ID",
            help="With --load: rates measured by MaxConnectionsPerChild, or run:ID, to price "
            "worker recycling.",
        ),
    ] = None,
    rules: Annotated[
        bool,
        typer.Option("--rules", help="Print all rules as Markdown, and exit."),
    ] = False,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Report running servers: settings, workers, memory and problems.

    It only reads, and sends nothing to a server unless --load, --census or --status names a URL.
    The only program that it runs is `nginx -V`, which prints build options.
    """
    if rules:
        say(rule_reference().rstrip("\n"))
        return 0
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    loading = LoadAsked(
        urls=load or (),
        duration=duration,
        connections=connections,
        status=status,
        respawn=respawn or (),
    )
    loading.require_load()
    meant = named_source(source or [], pid=pid, server=server, config=config)
    if census is not None:
        meant = listening_at(census, meant)
    page = page_of(meant, _machine(), tell_why, census=census, n_requests=census_requests)
    if loading.urls:
        from httpdyno.inspection.under_load import loaded  # noqa: PLC0415 - arrays, not for a look

        page = loaded(page, _machine, loading, _progress, tell=tell_why, is_named=meant is not None)
    elif status is not None:
        page = with_status(page, status, is_named=meant is not None)
    if outputs.json is not None:
        outputs.write_json(inspect_json(page))
    if outputs.has_text:
        results().print(inspect_text(page))
    return 0


def _progress(what: Reason, duration_s: float) -> "AbstractContextManager[Shown]":
    from httpdyno.cli.load.progress import LoadProgress  # noqa: PLC0415 - arrays, not for a look

    return LoadProgress(messages(), text(what), duration_s)


def _machine() -> Machine:
    return this_machine(site_adapters())
