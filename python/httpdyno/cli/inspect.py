"""`httpdyno inspect`: what runs here, what it is set to, what is not as it looks."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from httpdyno.advice.curve import configured_lives
from httpdyno.cli.behind_now import behind_now
from httpdyno.cli.census import asked, source_of
from httpdyno.cli.console import results
from httpdyno.cli.load_asked import LoadAsked
from httpdyno.cli.named_source import ConfigOption, PidOption, ServerOption, named_source
from httpdyno.cli.option import ForceOption, JsonOption
from httpdyno.cli.option_group import whole_number
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import say
from httpdyno.cli.surroundings import surroundings_of
from httpdyno.errors import TargetError, UsageError
from httpdyno.registry import site_adapters
from httpdyno.report.inspect.facts import NOTHING_KNOWN, Asked
from httpdyno.report.inspect.front import fronts_of
from httpdyno.report.inspect.json import inspect_json
from httpdyno.report.inspect.page import Page, Server
from httpdyno.report.inspect.text import inspect_text
from httpdyno.report.shared.reference import rule_reference
from httpdyno.servers.discover.contained import contained
from httpdyno.servers.discover.error_log import error_logs
from httpdyno.servers.discover.find import configured, find, running
from httpdyno.servers.discover.inspection import (
    Inspected,
    looked_at,
    name_of,
    named,
    serving,
    with_backends,
)
from httpdyno.servers.discover.machine import Machine, this_machine
from httpdyno.servers.discover.process import ProcessFacts
from httpdyno.servers.discover.source import Source
from httpdyno.servers.sandbox.available import possible
from httpdyno.telemetry.observed import observed
from httpdyno.telemetry.syscalls.strace import N_REQUESTS

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
        meant = source_of(census, meant)
    page = _page(meant, census, census_requests)
    if loading.urls:
        page = _loaded(page, loading, is_named=meant is not None)
    elif status is not None:
        page = _told(page, status, is_named=meant is not None)
    if outputs.json is not None:
        outputs.write_json(inspect_json(page))
    if outputs.has_text:
        results().print(inspect_text(page))
    return 0


def _page(source: Source | None, census: str | None, n_requests: int) -> Page:
    machine = this_machine(site_adapters())
    found = running(machine) or configured(machine) if source is None else find(source, machine)
    took = None if census is None else asked(census, n_requests, found)
    seen = with_backends([looked_at(each, machine) for each in found], machine)
    isolation, reason = possible() if seen else ("", "")
    if isolation == "cell":
        reason = "root" if os.geteuid() == 0 else "a user namespace of your own"
    asked_for = () if source is None else found
    return Page(
        servers=tuple(
            _server(each, machine, seen, is_named=each.found in asked_for, took=took)
            for each in seen
        ),
        now_s=time.time(),
        isolation=isolation,
        isolation_reason=reason,
        passed_over=machine.passed_over,
    )


def _loaded(page: Page, asked: LoadAsked, *, is_named: bool) -> Page:
    """Return the page with the one server that was meant as it is under load, and after it."""
    from httpdyno.cli.inspect_load import looked_under_load  # noqa: PLC0415 - arrays, not for a look

    meant, root = _meant(page, "--load", is_named=is_named)
    seen = meant.seen
    loaded, after = looked_under_load(
        asked, root.pid, configured_lives(seen.survey), error_logs([seen])
    )
    asked_for = loaded.look.backends if loaded.look else ()
    loaded = replace(loaded, behind=behind_now([root.pid], asked_for))
    now = replace(meant, loaded=loaded, observed=after or meant.observed, is_named=True)
    return _with(page, meant, now)


def _told(page: Page, url: str, *, is_named: bool) -> Page:
    """Return the page with what the one server that was meant says of its workers."""
    from httpdyno.cli.kept_workers import kept_workers  # noqa: PLC0415 - not for a look
    from httpdyno.cli.worker_status import worker_status  # noqa: PLC0415 - not for a look

    meant, root = _meant(page, "--status", is_named=is_named)
    told = worker_status(url)() or {}
    # Those that began since are looked at, too.
    now = observed(
        root.pid, {each.inode for each in meant.seen.found.listens} if is_named else None
    )
    if now is None or not told.keys() & {each.pid for each in now.workers}:
        raise TargetError(
            f"`--status {url}` tells of other processes than those of {meant.seen.found}",
            hint="name the server whose page it is; php-fpm's is asked through a web server",
        )
    return _with(page, meant, replace(meant, told=told, observed=now, kept=kept_workers(url)))


def _meant(page: Page, option: str, *, is_named: bool) -> tuple[Server, ProcessFacts]:
    """Return the one server that was meant, and the process that it began as.

    Raises:
        UsageError: There are several, or it does not run.
    """
    meant = [each for each in page.servers if each.is_named or not is_named]
    if len(meant) != 1:
        raise UsageError(
            f"`{option}` takes one server, and {len(meant)} were found",
            hint="name it: `pid:1234`, or `:8080` for whoever listens there",
        )
    root = meant[0].seen.found.root
    if root is None:
        raise UsageError(f"`{option}` takes a server that runs, and this one does not")
    return meant[0], root


def _with(page: Page, server: Server, now: Server) -> Page:
    return replace(page, servers=tuple(now if each is server else each for each in page.servers))


def _server(
    seen: Inspected,
    machine: Machine,
    all_seen: Sequence[Inspected],
    *,
    is_named: bool,
    took: Asked | None,
) -> Server:
    """Return a server with what is around it; one that cannot be looked at is what was seen."""
    name = name_of(seen.found)
    root = seen.found.root
    allowance = machine.allowance(root.user) if root else None
    looked = contained(
        lambda: _looked(seen, machine, all_seen, is_named=is_named, took=took),
        name,
        allowance=allowance,
    )
    if isinstance(looked, str):
        return Server(seen=replace(seen, trouble=looked, survey=None), is_named=is_named)
    # What is made of it belongs to the look: whatever is said of one is said here first.
    alone = Page(servers=(looked,), now_s=time.time())
    said = contained(lambda: (inspect_text(alone), inspect_json(alone)), name, allowance=allowance)
    if isinstance(said, str):
        return Server(seen=Inspected(found=seen.found, trouble=said), is_named=is_named)
    return looked


def _looked(
    seen: Inspected,
    machine: Machine,
    all_seen: Sequence[Inspected],
    *,
    is_named: bool,
    took: Asked | None,
) -> Server:
    root = seen.found.root
    inodes = {each.inode for each in seen.found.listens} if is_named else None
    backends: dict[str, str] = {}
    for backend in seen.survey.backends if seen.survey else ():
        backends[backend.to] = named(serving(backend, machine))
    # What is wrong with a front of it may be wrong with that alone.
    around = contained(
        lambda: surroundings_of(
            seen, fronts_of(seen, all_seen, lambda backend: serving(backend, machine))
        ),
        name_of(seen.found),
    )
    return Server(
        seen=seen,
        is_named=is_named,
        observed=observed(root.pid, inodes) if root else None,
        surroundings=NOTHING_KNOWN if isinstance(around, str) else around,
        asked=took if is_named and root else None,
        backends=tuple(backends.items()),
    )
