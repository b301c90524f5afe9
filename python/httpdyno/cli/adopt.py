"""`httpdyno adopt`: make a study of a server that a person runs."""

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from httpdyno.adopt.adopt import Adopted, Request, adopt, check_new, check_wanted, site_of
from httpdyno.adopt.gather import Gathered, gather, gather_running
from httpdyno.adopt.listening import with_listener
from httpdyno.adopt.offer import offered
from httpdyno.adopt.propose import Wanted
from httpdyno.adopt.study_text import described
from httpdyno.cli.exit_code import EXIT_NOT_BORNE_OUT
from httpdyno.cli.option import DryRunOption, JsonOption
from httpdyno.cli.output import Outputs, write_json
from httpdyno.cli.standard_streams import say, tell
from httpdyno.errors import AdapterError, UsageError
from httpdyno.experiment.machine_room import machine_room
from httpdyno.model import Door, Isolation, Level, Member, SideCommand, Site, level_text
from httpdyno.registry import site_adapters
from httpdyno.servers.site.isolation import enter_for, seat_maker
from httpdyno.servers.site.knob_name import variable_of
from httpdyno.servers.site.listener import loaded_listener
from httpdyno.servers.site.snapshot import version_of
from httpdyno.servers.source.find import find, of_this_machine, sole
from httpdyno.servers.source.machine import Machine, this_machine
from httpdyno.servers.source.words import parse_source
from httpdyno.units import duration_s

EXAMPLE = """Examples:

\b
  httpdyno adopt nginx --get / --get /shop/
  httpdyno adopt /etc/nginx/nginx.conf -o shop --host shop.example
  httpdyno adopt -- .venv/bin/gunicorn shop.wsgi
"""

_BUDGET = "10m"
_ISOLATIONS = ("auto", "cell", "wall", "open")
_ALLOWED = ("stale", "loss", "inline")
_NO_COPY = (
    "run it as root (`httpdyno doctor` says what this machine allows), or with `--isolation open` "
    "where nothing that a copy could touch matters"
)

SourceArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE",
        help="nginx, apache, php-fpm …; a configuration file; unit:NAME, pid:N, :PORT; or a "
        "command after `--`.",
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
            help="The study's folder.  [default: its name]",
            show_default=False,
        ),
    ] = None,
    get: Annotated[
        list[str] | None,
        typer.Option("--get", metavar="PATH", help="What clients ask for; give it again for more."),
    ] = None,
    urls: Annotated[
        str | None,
        typer.Option("--urls", metavar="FILE", help="What clients ask for, a path to a line."),
    ] = None,
    connections: Annotated[
        int | None,
        typer.Option(
            "--connections",
            "-c",
            metavar="N",
            help="Clients at a time.  [default: 16]",
            show_default=False,
        ),
    ] = None,
    listener: Annotated[
        str,
        typer.Option(
            "--listener", metavar="PORT", help="Which listener is loaded.", show_default=False
        ),
    ] = "",
    host: Annotated[
        str,
        typer.Option("--host", metavar="NAME", help="Which host is asked for.", show_default=False),
    ] = "",
    ready: Annotated[
        str, typer.Option("--ready", metavar="PATH[=STATUS]", help="What answers once it is up.")
    ] = "/",
    with_member: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="SOURCE", help="A further member behind it."),
    ] = None,
    knob: Annotated[
        list[str] | None,
        typer.Option("--knob", metavar="NAME=L1,L2", help="Try a knob with these levels."),
    ] = None,
    not_knob: Annotated[
        list[str] | None, typer.Option("--not-knob", metavar="NAME", help="Leave a knob out.")
    ] = None,
    allow: Annotated[
        str,
        typer.Option(
            "--allow",
            metavar="stale,loss,inline",
            help="Propose knobs with which answers may be stale, log lines be lost, or "
            "`.htaccess` files be written into the configuration.",
            show_default=False,
        ),
    ] = "",
    door: Annotated[
        list[str] | None,
        typer.Option("--door", metavar="unix:/PATH", help="What the copy may reach outside."),
    ] = None,
    prepare: Annotated[
        list[str] | None,
        typer.Option(
            "--prepare",
            metavar="COMMAND",
            help="Run in each copy before its start, for test data; again for more.",
        ),
    ] = None,
    isolation: Annotated[
        str,
        typer.Option(
            "--isolation", metavar="|".join(_ISOLATIONS), help="How a copy is kept apart."
        ),
    ] = "auto",
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="The time that `tune` may take.")
    ] = _BUDGET,
    dry_run: DryRunOption = False,
    json: JsonOption = None,
) -> int:
    """Make a study of your own server, to tune a copy of it.

    Its configuration is copied, and a private copy of it is started once. Nothing of yours is
    changed, asked or signalled, and the copy cannot reach anything outside.
    """
    outputs = Outputs(json=json)
    outputs.check()
    before = tuple(map(_side_command, prepare or ()))
    adapters = {each.kind: each for each in site_adapters()}
    machine = this_machine(site_adapters())
    named = [_member(words, machine) for words in (list(source), *([w] for w in with_member or []))]
    members = _named_apart(named)
    unknown = [member.kind for member in members if member.kind not in adapters]
    if unknown:
        known = ", ".join(f"`{kind}`" for kind in sorted(adapters))
        raise AdapterError(f"{unknown[0]} cannot be adopted yet", hint=f"what can: {known}")
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
        memory_bytes=int(machine_room().memory_bytes),
        n_cpus=len(os.sched_getaffinity(0)),
    )
    if dry_run:
        gathered = gather(members, adapters, None)
        check_wanted(gathered, wanted, adapters)
        site = site_of(gathered, asked)
        folder = Path(output or site.host or members[0].name)
        if outputs.has_text:
            _show_plan(gathered, site, folder)
        if outputs.json is not None:
            write_json(_plan(gathered, site, folder), outputs.json)
        return 0
    enter_for(asked.isolation)
    make_seat = seat_maker(asked.isolation)
    if isinstance(make_seat, str):
        raise AdapterError(make_seat, hint=_NO_COPY)
    gathered = gather_running(members, adapters, make_seat)
    if not (asked.listener or gathered.members[0].survey.listeners):
        front = with_listener(gathered.members[0], adapters, make_seat, before)
        gathered = replace(gathered, members=(front, *gathered.members[1:]))
    site = site_of(gathered, asked)
    folder = Path(output or site.host or members[0].name)
    check_new(folder)
    loaded = loaded_listener(site, gathered.members[0].survey.listeners)
    ready_path, ready_status = _ready(ready)
    offer = offered(
        paths=get or [],
        url_file=Path(urls) if urls else None,
        ready_path=ready_path,
        connections=connections,
        is_tls=loaded.is_tls,
    )
    request = Request(
        folder=folder,
        site=asked,
        offer=offer,
        ready_path=ready_path,
        ready_status=ready_status,
        budget_s=duration_s(budget),
        before=before,
        wanted=wanted,
    )
    _tell_found(gathered)
    adopted = adopt(gathered, request, adapters, make_seat, tell=tell)
    if outputs.has_text:
        _show(adopted, gathered)
    if outputs.json is not None:
        write_json(_result(adopted), outputs.json)
    return EXIT_NOT_BORNE_OUT if adopted.report.wrong else 0


def _member(words: Sequence[str], machine: Machine) -> Member:
    found = find(parse_source(words, Path.cwd()), machine)
    return of_this_machine(sole(found, " ".join(words))).member


def _named_apart(members: Sequence[Member]) -> list[Member]:
    """Return the members; two of one name are one too many.

    Raises:
        UsageError: They are the same.
    """
    names = [member.name for member in members]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"two members would be called `{twice}`", hint="name each server once")
    return list(members)


def _isolation(text: str) -> Isolation:
    for each in _ISOLATIONS:
        if text == each:
            return each  # type: ignore[return-value] # one of the four
    raise UsageError(f"`--isolation {text}` is none", hint=f"one of {', '.join(_ISOLATIONS)}")


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


def _tell_found(gathered: Gathered) -> None:
    for found in gathered.members:
        member = found.member
        files = f", {_counted(len(found.files.texts), 'file')}" if found.files.texts else ""
        what = member.main or " ".join(member.command) or member.name
        tell(f"{version_of(found.survey)}: {what}{files}")
    for words in _noticed(gathered):
        tell(f"note: {words}")
    for words in gathered.caveats:
        tell(f"caveat: {words}")
    for backend in gathered.outside:
        where = f" ({backend.origin.file}:{backend.origin.line})" if backend.origin else ""
        tell(f"out of reach for a copy: {backend.to}{where}")


def _noticed(gathered: Gathered) -> Iterator[str]:
    """Yield what the owner should know of the configuration, and where it stands."""
    for found in gathered.members:
        for notice in found.survey.notices:
            at = notice.origin
            yield f"{notice.words} ({at.file}:{at.line})" if at else notice.words


def _show_plan(gathered: Gathered, site: Site, folder: Path) -> None:
    say(f"would write  {folder}/ (study.toml, snapshot, rehearsal.json)")
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
        say(f"out of reach {backend.to}")


def _show(adopted: Adopted, gathered: Gathered) -> None:
    report, proposals = adopted.report, adopted.proposals
    for each in report.wrong:
        say(f"not as expected: GET {each.path}: {each.words}")
    for line in told_attempts(report.refused, report.reached, report.isolation):
        say(line)
    if report.unnamed:
        say(f"not all that its copy tries is named: {report.unnamed}")
    for words in adopted.remarks:
        say(f"note: {words}")
    parts = [
        f"{_counted(len(gathered.members), 'member')} ({described(adopted.site.members)})",
        f"{_counted(adopted.n_files, 'file')} read",
        f"{_counted(len(proposals.tried), 'knob')} proposed",
    ]
    if proposals.listed:
        parts.append(f"{len(proposals.listed)} more listed with the reason")
    say(f"wrote {adopted.folder}/: {', '.join(parts)}")
    for proposal in proposals.tried:
        levels = ", ".join(level_text(level) for level in proposal.levels)
        say(f"  {proposal.name}  {level_text(proposal.start)} → {levels}: {proposal.why}")
    if report.wrong:
        say(f"mend that first: what is asked for stands in {adopted.folder}/study.toml")
    else:
        say(f"next: httpdyno tune {adopted.folder}")


def told_attempts(refused: Sequence[str], reached: Sequence[str], isolation: str) -> Iterator[str]:
    """Yield a line for each thing that a copy tried: what it may not, and what got out."""
    yield from map(_refused_text, refused)
    for attempt in reached:
        yield f"its copy reached {attempt}: a {isolation} does not keep it from that"


def _refused_text(attempt: str) -> str:
    """Return what the copy may not, and what there is to do about it."""
    kind, _, where = attempt.partition(" ")
    if kind == "write":
        return f"its copy may not write {where}: in a cell that would be its own"
    return f"its copy may not reach {attempt}: {_way_out(attempt)}"


def _way_out(attempt: str) -> str:
    if attempt.startswith("unix:/"):
        return "a door would lead there, `[[site.doors]]` in its study"
    if attempt.startswith("unix:"):
        return "no door leads there"
    where = attempt.partition(" ")[2].partition(" ")[0]
    if where.rpartition(":")[2] == "53":
        return "a copy asks no name server"
    member = f"`--with :{where.rpartition(':')[2]}`"
    return f"where that is of this machine, name it as a member, {member}; no door leads there"


def _counted(n_things: int, what: str) -> str:
    return f"{n_things} {what}{'s' * (n_things != 1)}"


def _plan(gathered: Gathered, site: Site, folder: Path) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "site": msgspec.to_builtins(site),
        "copies": {f.member.name: list(f.files.texts) for f in gathered.members},
        "unreadable": {f.member.name: list(f.files.unreadable) for f in gathered.members},
        "out_of_reach": [each.to for each in gathered.outside],
    }


def _result(adopted: Adopted) -> dict[str, Any]:
    return {
        "folder": str(adopted.folder),
        "site": msgspec.to_builtins(adopted.site),
        "remarks": list(adopted.remarks),
        "rehearsal": msgspec.to_builtins(adopted.report),
        "tried": msgspec.to_builtins(adopted.proposals.tried),
        "listed": msgspec.to_builtins(adopted.proposals.listed),
    }
