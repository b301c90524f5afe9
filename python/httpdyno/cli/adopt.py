"""`httpdyno adopt`: make a study of a server that a person runs."""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from msgspec.structs import replace as replaced

from httpdyno.adopt.adopt import Adopted, Request, adopt, check_new, check_wanted, site_of
from httpdyno.adopt.discover import (
    Behind,
    Gathered,
    front_at,
    gather,
    gather_running,
    named_listener,
    with_listener,
)
from httpdyno.adopt.own_server import own_servers
from httpdyno.adopt.study_text import described, offered
from httpdyno.adopt.suggest import Wanted
from httpdyno.advice.proposal import Proposals
from httpdyno.cli.option import DryRunOption, ForceOption, JsonOption
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import EXIT_NOT_BORNE_OUT, say, tell
from httpdyno.cli.study_folder import study_folder
from httpdyno.errors import AdapterError, UsageError
from httpdyno.experiment.trial.memory import machine_room
from httpdyno.load.requests import header_of
from httpdyno.model import Door, Isolation, Level, Listener, Member, SideCommand, Site, level_text
from httpdyno.reason import Reason
from httpdyno.registry import site_adapters
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.discover.find import Found, find, of_this_machine, sole
from httpdyno.servers.discover.machine import Machine, this_machine
from httpdyno.servers.discover.program import as_command
from httpdyno.servers.discover.source import AddressSource, parse_source
from httpdyno.servers.stack.names import loaded_listener, variable_of
from httpdyno.servers.stack.seats import CellMaker, enter_for, seat_maker
from httpdyno.servers.stack.snapshot import Found as Read
from httpdyno.servers.stack.snapshot import version_of
from httpdyno.units import duration_s


def tell_found(gathered: Gathered, notes: Sequence[Reason] = ()) -> None:
    """Say on stderr what the site is made of, and what was noticed of it, before any start."""
    for found in gathered.members:
        member = found.member
        files = f", {_counted(len(found.files.texts), 'file')}" if found.files.texts else ""
        what = member.main or " ".join(member.command) or member.name
        tell(f"{version_of(found.survey)}: {what}{files}")
    for words in (*texts(notes), *_noticed(gathered)):
        tell(f"note: {words}")
    for words in texts(gathered.caveats):
        tell(f"caveat: {words}")
    for backend in gathered.outside:
        where = f" ({backend.origin.file}:{backend.origin.line})" if backend.origin else ""
        why = text(gathered.why_outside[backend.to])
        tell(f"out of reach for a copy: {backend.to}{where}: {why}")


def _tell(why: Reason) -> None:
    tell(text(why))


def _noticed(gathered: Gathered) -> Iterator[str]:
    """Yield what the owner should know of the configuration, and where it stands."""
    yield from texts(gathered.notes)
    for found in gathered.members:
        for notice in found.survey.notices:
            at, words = notice.origin, text(notice.why)
            yield f"{words} ({at.file}:{at.line})" if at else words


def show_plan(gathered: Gathered, site: Site, folder: Path) -> None:
    """Print what would be read, copied and reached."""
    say(f"would write  {folder}/ (study.toml, snapshot, rehearsal.json, rehearsal-answers.json)")
    for found in gathered.members:
        say(f"member       {found.member.name}: {version_of(found.survey)}")
        for path in found.files.texts:
            say(f"  copies     {path}")
        for path in found.files.unreadable:
            say(f"  cannot read {path}")
        for backend in found.survey.backends:
            say(f"  reaches    {backend.to}")
    for words in _noticed(gathered):
        say(f"note         {words}")
    say(f"loads        {site.listener}{f' as {site.host}' if site.host else ''}, in a copy")
    for backend in gathered.outside:
        say(f"out of reach {backend.to}: {text(gathered.why_outside[backend.to])}")


def show_adopted(adopted: Adopted, gathered: Gathered) -> None:
    """Print what the rehearsal showed, what is proposed, and what comes next."""
    report, proposals = adopted.report, adopted.proposals
    for each in report.wrong:
        say(f"not as expected: GET {each.path}: {each.words}")
    for line in told_attempts(report.refused, report.reached, report.isolation):
        say(line)
    if report.unnamed:
        say(f"not all that its copy tries is named: {text(report.unnamed)}")
    for words in texts(adopted.remarks):
        say(f"note: {words}")
    parts = [
        f"{_counted(len(gathered.members), 'member')} ({described(adopted.site.members)})",
        f"{_counted(adopted.n_files, 'file')} read",
        f"{_counted(len(proposals.tried), 'knob')} proposed",
    ]
    if proposals.listed:
        parts.append(f"{len(proposals.listed)} more listed with the reason")
    say(f"wrote {adopted.folder}/: {', '.join(parts)}")
    for line in told_proposals(proposals):
        say(line)
    if report.wrong:
        say(f"mend that first: what is asked for stands in {adopted.folder}/study.toml")
    elif proposals.tried:
        say(f"next: httpdyno tune {adopted.folder}")
    else:
        say(
            f"next: put a `[[knobs]]` into {adopted.folder}/study.toml, or serve its copy: "
            f"httpdyno study serve {adopted.folder}"
        )


def told_proposals(proposals: Proposals) -> Iterator[str]:
    """Yield lines for what is tried, and for what is not because memory does not hold it."""
    for each in proposals.tried:
        levels = ", ".join(level_text(level) for level in each.levels)
        why = text(each.why) if each.why else ""
        yield f"  {each.name}  {level_text(each.start)} → {levels}: {why}"
        if each.memory:
            yield f"    {text(each.memory)}"
    for each in proposals.listed:
        if each.memory and each.memory == each.blocked:
            yield f"  {each.name}  {level_text(each.start)} stays: {text(each.memory)}"


def told_attempts(
    refused: Sequence[str | Reason], reached: Sequence[str | Reason], isolation: str
) -> Iterator[str]:
    """Yield a line for each thing that a copy tried: what it may not, and what got out."""
    yield from map(_refused_text, refused)
    for attempt in texts(reached):
        yield f"its copy reached {attempt}: a {isolation} does not keep it from that"


def _refused_text(attempt: str | Reason) -> str:
    """Return what the copy may not, and what there is to do about it."""
    to = attempt if isinstance(attempt, str) else str(attempt.params["to"])
    kind, _, where = to.partition(" ")
    if kind == "write":
        return f"its copy may not write {where}: with `--isolation cell` it has its own"
    (shown,) = texts([attempt])
    return f"its copy may not reach {shown}: {_way_out(to)}"


def _way_out(attempt: str) -> str:
    if attempt.startswith("unix:/"):
        return "allow it with `[[site.doors]]` in its study"
    if attempt.startswith("unix:"):
        return "no `[[site.doors]]` can allow it"
    where = attempt.partition(" ")[2].partition(" ")[0]
    if where.rpartition(":")[2] == "53":
        return "a copy asks no name server"
    member = f"`--with :{where.rpartition(':')[2]}`"
    return (
        f"if that server is on this machine, add it with {member}; no `[[site.doors]]` can allow it"
    )


def _counted(n_things: int, what: str) -> str:
    return f"{n_things} {what}{'s' * (n_things != 1)}"


def plan_json(gathered: Gathered, site: Site, folder: Path) -> dict[str, Any]:
    """Return what `show_plan` prints, in built-in types."""
    return {
        "folder": str(folder),
        "site": msgspec.to_builtins(site),
        "copies": {f.member.name: list(f.files.texts) for f in gathered.members},
        "unreadable": {f.member.name: list(f.files.unreadable) for f in gathered.members},
        "out_of_reach": [each.to for each in gathered.outside],
    }


def adopted_json(adopted: Adopted) -> dict[str, Any]:
    """Return what was adopted, in built-in types."""
    return {
        "folder": str(adopted.folder),
        "site": msgspec.to_builtins(adopted.site),
        "remarks": list(texts(adopted.remarks)),
        "rehearsal": msgspec.to_builtins(adopted.report),
        "tried": msgspec.to_builtins(adopted.proposals.tried),
        "listed": msgspec.to_builtins(adopted.proposals.listed),
    }


EXAMPLE = """Examples:

\b
  httpdyno adopt nginx --get / --get /shop/
  httpdyno adopt /etc/nginx/nginx.conf -o shop --host shop.example
  httpdyno adopt -- .venv/bin/gunicorn shop.wsgi
"""

_BUDGET, _START = "10m", "20s"
_ISOLATIONS = ("auto", "cell", "wall", "open")
_ALLOWED = ("stale", "loss", "inline", "links")
_NO_COPY = (
    "run it as root (`httpdyno doctor` says what this machine allows), or with `--isolation open` "
    "where nothing that a copy could touch matters"
)

SourceArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="Server (nginx, apache, …), configuration file, unit:NAME, cgroup:PATH, pid:N, "
        ":PORT, or `-- COMMAND`.",
    ),
]


def command(  # noqa: PLR0913 - one parameter for each option
    source: SourceArgument,
    *,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder of the study.  [default: named after host or server]",
            show_default=False,
        ),
    ] = None,
    get: Annotated[
        list[str] | None,
        typer.Option("--get", metavar="PATH", help="Path to request. Repeatable."),
    ] = None,
    urls: Annotated[
        str | None,
        typer.Option("--urls", metavar="FILE", help="File with paths to request, one per line."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "-H", "--header", metavar="'NAME: VALUE'", help="Send this header. Repeatable."
        ),
    ] = None,
    connections: Annotated[
        int | None,
        typer.Option(
            "--connections",
            "-c",
            metavar="N",
            help="Concurrent clients.  [default: 16]",
            show_default=False,
        ),
    ] = None,
    listener: Annotated[
        str,
        typer.Option(
            "--listener", metavar="PORT", help="Listening port to load.", show_default=False
        ),
    ] = "",
    host: Annotated[
        str,
        typer.Option("--host", metavar="NAME", help="Host name to request.", show_default=False),
    ] = "",
    ready: Annotated[
        str,
        typer.Option(
            "--ready", metavar="PATH[=STATUS]", help="Path that responds once the server is up."
        ),
    ] = "/",
    with_member: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="SOURCE",
            help="Backend server to copy too. Put a command in quotes. Repeatable.",
        ),
    ] = None,
    knob: Annotated[
        list[str] | None,
        typer.Option(
            "--knob", metavar="NAME=L1,L2", help="Try a knob with these levels. Repeatable."
        ),
    ] = None,
    not_knob: Annotated[
        list[str] | None,
        typer.Option("--not-knob", metavar="NAME", help="Exclude a knob. Repeatable."),
    ] = None,
    allow: Annotated[
        str,
        typer.Option(
            "--allow",
            metavar="stale,loss,inline,links",
            help="Allow knobs that risk stale responses, lost log lines, inlined `.htaccess` or "
            "followed links.",
            show_default=False,
        ),
    ] = "",
    door: Annotated[
        list[str] | None,
        typer.Option(
            "--door",
            metavar="unix:/PATH",
            help="Socket outside that the copy may reach. Repeatable.",
        ),
    ] = None,
    prepare: Annotated[
        list[str] | None,
        typer.Option(
            "--prepare",
            metavar="COMMAND",
            help="Run this in each copy before its start, for test data. Repeatable.",
        ),
    ] = None,
    ask_running: Annotated[
        bool,
        typer.Option(
            "--ask-running",
            help="Send each request twice to your running server. Refuse a copy that answers "
            "differently.",
        ),
    ] = False,
    start_timeout: Annotated[
        str,
        typer.Option("--start-timeout", metavar="TIME", help="Timeout for each copy's start."),
    ] = _START,
    isolation: Annotated[
        str,
        typer.Option(
            "--isolation",
            metavar="|".join(_ISOLATIONS),
            help="Sandbox of a copy: `cell` (namespaces), `wall` (Landlock), `open` (none), "
            "`auto` (cell, else wall).",
        ),
    ] = "auto",
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="Time budget for `tune`.")
    ] = _BUDGET,
    dry_run: DryRunOption = False,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Make a study of your own server, to tune a private copy.

    httpdyno copies the configuration, starts a private copy once and checks its responses. Your
    server is not changed or signalled, and only `--ask-running` sends it requests. Exit code 1 if
    a response is wrong.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    before = tuple(map(_side_command, prepare or ()))
    start_s = duration_s(start_timeout, "--start-timeout")
    adapters = {each.name: each for each in site_adapters()}
    machine = this_machine(site_adapters())
    named = [_found(words, machine) for words in (list(source), *([w] for w in with_member or []))]
    _check_front(named[0].member)
    behind = Behind(machine, start_s)
    own = [e.member if e.member.kind in adapters else as_command(e.member) for e in named]
    members = [replaced(each, ready_timeout_s=start_s) for each in own]
    asked = Site(
        members=(),
        isolation=_isolation(isolation),
        listener=listener,
        host=host,
        doors=tuple(Door(to=each) for each in door or []),
    )
    wanted = Wanted(
        allowed=_allowed(allow),
        levels=dict(_levels(each) for each in knob or []),
        left_out=tuple(not_knob or ()),
        memory_bytes=int(free_bytes) if (free_bytes := machine_room().memory_bytes) < inf else 0,
        n_cpus=len(os.sched_getaffinity(0)),
    )
    if dry_run:
        gathered = gather(members, adapters, None, behind)
        asked = _named(asked, source, gathered)
        check_wanted(gathered, wanted, adapters)
        site = site_of(gathered, asked)
        folder = adopted_folder(output, site)
        if outputs.has_text:
            show_plan(gathered, site, folder)
        if outputs.json is not None:
            outputs.write_json(plan_json(gathered, site, folder))
        return 0
    enter_for(asked.isolation)
    make_seat = seat_maker(asked.isolation)
    if isinstance(make_seat, Reason):
        raise AdapterError(why=[make_seat], hint=_NO_COPY)
    gathered = gather_running(members, adapters, make_seat, behind)
    asked = _named(asked, source, gathered)
    gathered = _listening(
        gathered, asked, lambda it: with_listener(it, adapters, make_seat, before)
    )
    site = site_of(gathered, asked)
    folder = adopted_folder(output, site)
    check_new(folder)
    loaded = loaded_listener(site, gathered.members[0].survey.listeners)
    if loaded.is_proxied and isinstance(make_seat, CellMaker):  # a wall's copy is without it
        raise _proxied(loaded)
    ready_path, ready_status = _ready(ready)
    offer = offered(
        paths=get or [],
        url_file=Path(urls) if urls else None,
        ready_path=ready_path,
        connections=connections,
        is_tls=loaded.is_tls,
        headers=[header_of(each) for each in header or []],
    )
    tell_found(gathered, [note for each in named for note in each.notes])
    request = Request(
        folder=folder,
        site=asked,
        offer=offer,
        ready_path=ready_path,
        ready_status=ready_status,
        budget_s=duration_s(budget, "--budget"),
        before=before,
        wanted=wanted,
        own=own_servers(gathered, [*named, *behind.found], machine, _tell),
        asks_running=ask_running,
    )
    adopted = adopt(gathered, request, adapters, make_seat, tell=_tell)
    if outputs.has_text:
        show_adopted(adopted, gathered)
    if outputs.json is not None:
        outputs.write_json(adopted_json(adopted))
    return EXIT_NOT_BORNE_OUT if adopted.report.wrong else 0


def adopted_folder(output: str | None, site: Site) -> Path:
    """Return the folder of the study that is made of a site: the one that was asked for, if any."""
    return Path(output) if output else study_folder(site.host or site.members[0].name)


def _listening(gathered: Gathered, asked: Site, seen: Callable[[Read], Read]) -> Gathered:
    """Return the site with where its front listens, where no configuration says it.

    Args:
        gathered: The site.
        asked: What of it was asked for.
        seen: Looks where a front listens.
    """
    front = gathered.members[0]
    if not front.survey.listeners and asked.listener.startswith("unix:"):
        front = front_at(front, loaded_listener(asked, ()))
    elif not (asked.listener or front.survey.listeners):
        front = seen(front)
    return replace(gathered, members=(front, *gathered.members[1:]))


def _named(asked: Site, words: Sequence[str], gathered: Gathered) -> Site:
    """Return the site as asked for, loaded at the address that named it."""
    source = parse_source(words, Path.cwd())
    if asked.listener or not isinstance(source, AddressSource):
        return asked
    listeners = gathered.members[0].survey.listeners
    return replaced(asked, listener=named_listener(listeners, source.host, source.port))


def _check_front(member: Member) -> None:
    if member.kind == "php-fpm":
        raise UsageError(
            "php-fpm speaks FastCGI, which the load does not",
            hint="adopt the web server in front of it, with it: "
            "`httpdyno adopt nginx --with php-fpm`",
        )


def _proxied(loaded: Listener) -> UsageError:
    at = f" ({loaded.origin.file}:{loaded.origin.line})" if loaded.origin else ""
    return UsageError(
        f"`{loaded.address}` speaks the PROXY protocol{at}, which the load does not",
        hint="name another address, `--listener`, or one of the configuration without it; "
        "`--isolation wall` leaves it out of its copies",
    )


def _found(words: Sequence[str], machine: Machine) -> Found:
    found = find(parse_source(words, Path.cwd()), machine)
    return of_this_machine(sole(found, " ".join(words)))


def _isolation(text: str) -> Isolation:
    for each in _ISOLATIONS:
        if text == each:
            return each  # type: ignore[return-value] # one of the four
    raise UsageError(
        f"`--isolation {text}` makes no sense; expected one of {', '.join(_ISOLATIONS)}"
    )


def _allowed(text: str) -> tuple[str, ...]:
    words = tuple(filter(None, (each.strip() for each in text.split(","))))
    if unknown := next((each for each in words if each not in _ALLOWED), ""):
        raise UsageError(
            f"`--allow {unknown}` allows nothing", hint=f"some of {', '.join(_ALLOWED)}"
        )
    return words


def _ready(text: str) -> tuple[str, int | None]:
    path, _, status = text.partition("=")
    if not path.startswith("/") or (status and not status.isdigit()):
        raise UsageError(f"`--ready {text}` is no path", hint="such as `--ready /health=204`")
    return path, int(status) if status else None


def _side_command(text: str) -> SideCommand:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"`--prepare {text}` is no command: {error}") from error
    if not words or not words[0]:
        raise UsageError(
            f"`--prepare {text!r}` is no command", hint="such as `--prepare 'python seed.py'`"
        )
    return SideCommand(run=words)


def _levels(text: str) -> tuple[str, tuple[Level, ...]]:
    name, separator, levels = text.partition("=")
    if not separator or not levels:
        raise UsageError(
            f"`--knob {text}` says no levels", hint="such as `--knob backlog=511,4096`"
        )
    words = [each.strip() for each in levels.split(",")]
    # A variable is text, and what it looks like no matter: `01` is not 1.
    return name, tuple(words) if variable_of(name) else tuple(map(_level, words))


def _level(text: str) -> Level:
    if text in {"true", "false"}:
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
