"""What is started: `[server]`, `[[companions]]`, `[site]` and `[network]` of a study file."""

import re
import signal
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar

from msgspec import structs

from httpdyno.errors import AdapterError, StudyFileError, UsageError
from httpdyno.host.foreign_files import is_there
from httpdyno.model.knob import KnobInfo
from httpdyno.model.server import ServerLimits, SideCommand
from httpdyno.model.site import Member, Site
from httpdyno.model.study import Companion, Method, ServerSpec, Study
from httpdyno.model.workload import RequestSpec, TlsSpec, Workload
from httpdyno.servers.limits.control_group import CONTROLLERS
from httpdyno.servers.limits.limit_group import limit_values
from httpdyno.servers.own_network.network import network_texts
from httpdyno.servers.sandbox.evaluator import PatternError, fits
from httpdyno.servers.stack.names import SERVER, known_knobs
from httpdyno.study.complaint import Wrong
from httpdyno.study.table import StudyFile
from httpdyno.study.workload import NO_NAME
from httpdyno.units import duration_text

# What a study file says of how its server is run: command, folder, signal, readiness.

GET = "GET "
TCP = "tcp"
LOG = "log "


_KNOW_THEIR_COMMAND = frozenset({"apache", "gunicorn", "uvicorn"})
_IN_ITS_PLACE = "apache"
_READY_EXPECTED = "`GET /path`, `GET /path 200`, `tcp` or `log PATTERN`"
_STATUS = re.compile(r"[1-5]\d\d")

S = TypeVar("S", bound=ServerSpec)


def get_of(table: ServerSpec, wrong: Wrong) -> tuple[str, int | None]:
    """Return path and status of the GET that says that the server is ready.

    Raises:
        StudyFileError: `ready` is none of its forms, or says what another key says differently.
    """
    if not table.ready.startswith(GET):
        if table.ready not in {"", TCP} and not table.ready.startswith(LOG):
            raise wrong("server.ready", table.ready, _READY_EXPECTED)
        return table.ready_path, table.ready_status
    path, *status = table.ready.split()[1:] or [""]
    if len(status) > 1 or not all(map(_STATUS.fullmatch, status)):
        raise wrong("server.ready", table.ready, _READY_EXPECTED)
    said = (path, int(status[0]) if status else None)
    if table.ready_path not in {"/", path} or table.ready_status not in {None, said[1]}:
        raise wrong("server.ready", table.ready, "the same as ready_path and ready_status say")
    return said


def check_command(table: ServerSpec, folder: Path, wrong: Wrong) -> None:
    """Refuse what the server does not read, a folder that is not there, an unknown signal.

    Raises:
        StudyFileError: So it is.
    """
    if table.command and table.adapter in _KNOW_THEIR_COMMAND:
        raise wrong(
            "server.command",
            list(table.command),
            f'none: {table.adapter} has one of its own, and `adapter = "command"` any',
        )
    if table.folder and table.adapter == _IN_ITS_PLACE:
        raise wrong("server.folder", table.folder, f"none: {table.adapter} runs in its run folder")
    if twice := [name for name in table.pass_environment if name in table.environment]:
        raise wrong("server.pass_environment", twice[0], "a variable that `environment` has not")
    if table.command and not table.command[0]:
        raise wrong("server.command", list(table.command), "a program first")
    if table.folder and not (folder / table.folder).is_dir():
        raise wrong("server.folder", table.folder, "a folder that is there")
    if f"SIG{table.stop}" not in signal.Signals.__members__ or table.stop in {"KILL", "STOP"}:
        raise wrong("server.stop", table.stop, "a signal that can be caught, such as TERM or INT")
    if table.ready.startswith(LOG):
        try:
            fits(table.ready.removeprefix(LOG), "")
        except PatternError as error:
            raise wrong("server.ready", table.ready, f"a regular expression ({error})") from error


# `limits` of a server in a study file.

_KNOB = "{"
_PERIODS = 10
"""Of a CPU limit in a window: where it begins and ends in one of them is a tenth of a period's time
then, and that is for each window another one."""


def check_limits(limits: ServerLimits, key: str, wrong: Wrong, *, has_knobs: bool) -> None:
    """Refuse limits that make no sense.

    Args:
        limits: As they are written.
        key: `server.limits`.
        wrong: Makes complaints.
        has_knobs: Whether knobs may be in them: what those are is known of each configuration
            alone.

    Raises:
        StudyFileError: With the key.
    """
    none = structs.replace(limits, memory="", cpu="")
    _check({f"{key}.cpu_period": duration_text(limits.cpu_period_s)}, none, wrong)
    for name in CONTROLLERS:
        text = getattr(limits, name)
        if _KNOB not in text:
            _check({f"{key}.{name}": text}, structs.replace(none, **{name: text}), wrong)
        elif not has_knobs:
            raise wrong(f"{key}.{name}", text, "no knob: those of a site are what its files say")


def _check(written: dict[str, str], limits: ServerLimits, wrong: Wrong) -> None:
    try:
        limit_values(limits)
    except UsageError as error:
        [(key, text)] = written.items()
        raise wrong(key, text, error.hint) from error


def with_whole_periods(method: Method, limits: Iterable[ServerLimits]) -> Method:
    """Return the method with windows that hold whole periods of every CPU limit.

    A server that rests has all of its CPU seconds when its window begins: so the lead-in is a whole
    period, and a window ten, a phase's own one too. What is asked of fresh servers has no lead-in,
    and keeps none.
    """
    period_s = max((each.cpu_period_s for each in limits if each.cpu), default=0.0)
    whole_s = _PERIODS * period_s
    return structs.replace(
        method,
        window_s=max(method.window_s, whole_s),
        phases=tuple(
            phase
            if phase.window_s is None
            else structs.replace(phase, window_s=max(phase.window_s, whole_s))
            for phase in method.phases
        ),
        lead_in_s=max(method.lead_in_s, period_s) if method.lead_in_s > 0 else method.lead_in_s,
    )


# Commands beside a server, as a study file says them: before a start, and after it.

_OF_A_START = re.compile(
    r"(?<!\$)\{(?:(?:port|address|run|memory|server_user)\}|knob\.)"
    r"|\{[{%][^}]*\b(?:knob|port|address|run|memory|server_user)\b"
)
"""Placeholders that only a start has."""
NOT_OF_A_COPY = re.compile(
    r"(?<!\$)\{(?:(?:port|address|memory|server_user)\}|setting\.)"
    r"|\{[{%][^}]*\b(?:setting|port|address|memory|server_user)\b"
)
"""Placeholders of a server that the study makes: a copy listens where theirs does."""
OF_A_COPY_EXPECTED = "a text without `{port}` and the like: a copy has `{run}`, and ports as yours"


def check_commands(key: str, commands: Sequence[str | SideCommand], wrong: Wrong) -> None:
    """Refuse commands that make no sense; a list of text is one command.

    Raises:
        StudyFileError: With the key.
    """
    for index, each in enumerate(commands):
        if isinstance(each, str):
            if not isinstance(commands[0], str):
                raise wrong(f"{key}[{index}]", each, "tables alone, or a list of text")
            continue
        if isinstance(commands[0], str) or not each.run or not each.run[0]:
            raise wrong(f"{key}[{index}].run", list(each.run), "a program first")
        if each.each == "run" and any(map(_OF_A_START.search, each.run)):
            raise wrong(
                f"{key}[{index}].run", list(each.run), "`{shared}` alone where `each` is `run`"
            )


def check_site_commands(
    key: str, commands: Sequence[SideCommand], members: Sequence[str], wrong: Wrong
) -> None:
    """Refuse commands that cannot run in a site's copies.

    Raises:
        StudyFileError: With the key.
    """
    check_commands(key, commands, wrong)
    for index, each in enumerate(commands):
        name = f"{key}[{index}]"
        if any(map(NOT_OF_A_COPY.search, each.run)):
            raise wrong(f"{name}.run", list(each.run), OF_A_COPY_EXPECTED)
        if each.member and each.member not in members:
            raise wrong(f"{name}.member", each.member, f"a member: {', '.join(members)}")
        if each.folder and not PurePosixPath(each.folder).is_absolute():
            raise wrong(f"{name}.folder", each.folder, "a whole path, from `/` on")
        if each.when == "up" and (each.each == "run" or key.endswith("finish")):
            raise wrong(f"{name}.when", each.when, "`before`: no member is up then")


# The `[site]` of a study file, and what requests need to find it.

SITE_ADAPTER = "site"
"""The adapter of all sites: it asks the adapters of their members."""

SiteKnobInfos = Callable[[Site, Path], Mapping[str, KnobInfo]]
"""From a site and its study's folder to what can be set, by whole name `MEMBER:NAME[@SCOPE]`.

Raises HttpdynoError where that is not known. Defaults are the values as they were found.
"""


_MEMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_PATH = re.compile(r"/[!-~]*")
_HIGHEST_STATUS = 599
_LOWEST_STATUS = 100


def no_site_knobs(_site: Site, _folder: Path) -> Mapping[str, KnobInfo]:
    """Refuse: nobody said who knows the settings of a site.

    Raises:
        StudyFileError: Always.
    """
    raise StudyFileError(
        "a study of your own site ([site]) cannot be read here: nothing knows what its servers "
        "can be set to",
        hint="give it a [server], as bundled studies have",
    )


def check_site(site: Site, folder: Path, wrong: Wrong) -> None:
    """Refuse a site that makes no sense.

    Raises:
        StudyFileError: With the key.
    """
    if not site.members:
        raise wrong("site.members", [], "at least one [[site.members]]")
    names = [member.name for member in site.members]
    for index, member in enumerate(site.members):
        _check_member(f"site.members[{index}]", member, names[:index], wrong)
    _check_paths("site.writes", site.writes, wrong)
    for index, door in enumerate(site.doors):
        if not door.to:
            raise wrong(f"site.doors[{index}].to", door.to, "an address, such as unix:/run/db.sock")
    snapshot = folder / site.snapshot
    if not (site.snapshot and is_there(snapshot) and snapshot.is_dir()):
        raise wrong("site.snapshot", site.snapshot, f"a folder in {folder}")
    check_ready("site.ready", site.ready, site.ready_status, wrong)
    check_site_commands("site.prepare", site.prepare, names, wrong)
    check_site_commands("site.finish", site.finish, names, wrong)


def site_server(site: Site) -> ServerSpec:
    """Return what load and readiness need to know of a site, and what runs beside it."""
    return ServerSpec(
        adapter=SITE_ADAPTER,
        ready_path=site.ready,
        ready_status=site.ready_status,
        before=tuple(SideCommand(**structs.asdict(each)) for each in site.prepare),
        finish=tuple(SideCommand(**structs.asdict(each)) for each in site.finish),
    )


def reached(workload: Workload, site: Site) -> Workload:
    """Return the workload as the site's loaded host is asked for it.

    Requests that name no host get the site's. A private copy shows the certificate of the real
    host, so that is not checked.
    """
    return reached_as(workload, site.host, is_tls=site.tls)


def reached_as(workload: Workload, host: str, *, is_tls: bool) -> Workload:
    """Return the workload as a site is asked for this host; an empty one is its address."""
    tls = workload.tls
    if is_tls and tls is None:
        # A listener without a name of its own is asked for some name: TLS takes none for none.
        tls = TlsSpec(server_name=host or NO_NAME, is_verified=False)
    requests = workload.requests
    if host:
        requests = tuple(_of_host(each, host) for each in requests)
    return structs.replace(workload, requests=requests, tls=tls)


def check_ready(key: str, path: str, status: int | None, wrong: Wrong) -> None:
    """Refuse a path or a status that no request can have.

    Raises:
        StudyFileError: With the key.
    """
    if not _PATH.fullmatch(path):
        raise wrong(key, path, "a path from `/` on, in ASCII, no spaces")
    if status is not None and not _LOWEST_STATUS <= status <= _HIGHEST_STATUS:
        name = f"{key.removesuffix('_path')}_status"
        raise wrong(name, status, f"{_LOWEST_STATUS} to {_HIGHEST_STATUS}")


def whole_name(name: str, members: Sequence[str], known: Collection[str]) -> str:
    """Return a knob's name as `MEMBER:NAME[@SCOPE]`, where something was left out of it.

    The member may be left out where there is one, the scope where the setting has one. A name
    that cannot be told stays as it is, and so does one of no site.
    """
    has_member = name.partition(":")[0] in members
    whole = name if has_member or len(members) != 1 else f"{members[0]}:{name}"
    if whole in known:
        return whole
    scoped = [each for each in known if each.startswith(f"{whole}@")]
    return scoped[0] if len(scoped) == 1 else whole


def _check_member(key: str, member: Member, before: Sequence[str], wrong: Wrong) -> None:
    if not _MEMBER.fullmatch(member.name):
        raise wrong(f"{key}.name", member.name, "letters, digits, `-`, `_` and `.`")
    if member.name in before:
        raise wrong(f"{key}.name", member.name, "a name that no other member has")
    if not (member.main or member.command):
        raise wrong(
            f"{key}.main", "", "the path of its main configuration file, or its command beside it"
        )
    for name, path in (
        ("main", member.main),
        ("folder", member.folder),
        ("prefix", member.prefix),
    ):
        if path:
            _check_paths(f"{key}.{name}", (path,), wrong)
    for name, text in member.environment.items():
        if NOT_OF_A_COPY.search(text):
            raise wrong(f"{key}.environment.{name}", text, OF_A_COPY_EXPECTED)
    check_limits(member.limits, f"{key}.limits", wrong, has_knobs=False)


def _check_paths(key: str, paths: Sequence[str], wrong: Wrong) -> None:
    for path in paths:
        if not PurePosixPath(path).is_absolute():
            raise wrong(key, path, "whole paths, from `/` on")


def _of_host(request: RequestSpec, host: str) -> RequestSpec:
    if any(name.lower() == "host" for name, _ in request.headers):
        return request
    return structs.replace(request, headers=(*request.headers, ("Host", host)))


# `[network]` of a study file: what names mean where its servers run.


def check_network(study: Study) -> None:
    """Refuse texts of a network that make no sense in one of the study's configurations.

    Raises:
        StudyFileError: With what that configuration changes of the start.
    """
    network, start = study.server.network, study.start_configuration()
    if network is None:
        return
    changes = [{}, *({knob.name: level} for knob in study.knobs for level in knob.levels)]
    for change in (*changes, *(candidate.values for candidate in study.candidates)):
        of_server = study.of_server(start.with_values(change))
        try:
            network_texts(network, of_server.values, study.server.settings)
        except AdapterError as error:
            where = ", ".join(f"{name} = {level!r}" for name, level in change.items())
            amid = error.within(f"`{Path(study.folder, study.file)}`")
            amid["message"] += f", with {where}" if where else ""
            raise StudyFileError(**amid) from error


_WORD = re.compile(r"[a-z][a-z0-9_]*")


def server_from(table: S, folder: Path, wrong: Wrong) -> S:
    """Return the server that a table describes, with one way to say when it is ready.

    Raises:
        StudyFileError: Something in it makes no sense.
    """

    def existing(key: str, name: str) -> None:
        if not is_there(folder / name):
            raise wrong(key, name, f"a file in {folder}")

    ready_path, ready_status = get_of(table, wrong)
    check_ready("server.ready_path", ready_path, ready_status, wrong)
    check_command(table, folder, wrong)
    check_limits(table.limits, "server.limits", wrong, has_knobs=True)
    if table.effective_path:
        check_ready("server.effective_path", table.effective_path, None, wrong)
    for index, template in enumerate(table.templates):
        existing(f"server.templates[{index}].source", template.source)
    if table.base:
        existing("server.base", table.base)
    for index, entry in enumerate(table.files):
        # Files of packages (absolute) may not be installed yet; `doctor` and the adapter tell.
        if not Path(entry.source).is_absolute():
            existing(f"server.files[{index}].from", entry.source)
    check_commands("server.prepare", table.prepare, wrong)
    check_commands("server.finish", table.finish, wrong)
    return structs.replace(
        table,
        ready="" if table.ready.startswith(GET) else table.ready,
        ready_path=ready_path,
        ready_status=ready_status,
        prepare=table.prepare_command,
        before=tuple(each for each in table.prepare if isinstance(each, SideCommand)),
    )


def with_companions(server: ServerSpec, typed: StudyFile, folder: Path, wrong: Wrong) -> ServerSpec:
    """Return the server with its companions, and the one that is loaded.

    Raises:
        StudyFileError: Something in them makes no sense, or the load is for none of them.
    """
    target = typed.workload.target
    if not typed.companions:
        if target not in {"", SERVER}:
            raise wrong("workload.target", target, "`server`: there are no companions")
        return server
    found: list[Companion] = []
    for index, table in enumerate(typed.companions):
        key = f"companions[{index}]"
        names = [SERVER, *(each.name for each in found)]
        if not _WORD.fullmatch(table.name) or table.name in names:
            raise wrong(f"{key}.name", table.name, "a word of its own, such as `front` or `db`")
        found.append(_companion(table, key, folder, wrong))
    if "{" not in target and target not in {"", SERVER, *(each.name for each in found)}:
        there = ", ".join(f"`{name}`" for name in (SERVER, *(each.name for each in found)))
        raise wrong("workload.target", target, there)
    return structs.replace(server, companions=tuple(found), loaded=target)


def infos_of(
    server: ServerSpec, of_adapter: Callable[[str], Mapping[str, KnobInfo]]
) -> Mapping[str, KnobInfo]:
    """Return what is known of the settings of all servers, under the names that a study has."""
    others = {each.name: of_adapter(each.adapter) for each in server.companions}
    return known_knobs(of_adapter(server.adapter), others)


def _companion(table: Companion, key: str, folder: Path, wrong: Wrong) -> Companion:
    def here(name: str, value: object, expected: str) -> StudyFileError:
        return wrong(re.sub(r"^server\b", key, name), value, expected)

    found = server_from(table, folder, here)
    if any(each.each == "run" for each in (*found.before, *found.finish)):
        raise wrong(f"{key}.prepare", "run", "`start`: only [server] has commands of a whole run")
    return found
