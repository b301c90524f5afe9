"""Site adapter for gunicorn as people run it: a command line, and a configuration that is code.

Their code is never edited and, to read it, never executed. A copy executes it first, and then the
overlay (`overlay.py`) and the flags at the end of its command line, which gunicorn reads last.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    KnobInfo,
    Level,
    Listener,
    LogPlace,
    Member,
    Reading,
    Survey,
    level_text,
)
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.site import recognised, started_with
from httpdyno.servers.discover.program import python_version
from httpdyno.servers.gunicorn.config_text import Assigned, assignments
from httpdyno.servers.gunicorn.insight import GunicornInsight
from httpdyno.servers.gunicorn.knob import KNOBS
from httpdyno.servers.gunicorn.overlay import FLAGS, SWITCHES, flags, overlay
from httpdyno.servers.option_words import listening_address, option, options, with_values
from httpdyno.servers.run.folder import write_own
from httpdyno.servers.site.adapter import MemberFiles, Seat, SiteLaunch
from httpdyno.servers.site.environment import readable_variables
from httpdyno.servers.site.own_folder import own_folder
from httpdyno.servers.site.their_files import TheirFiles

_KIND = "gunicorn"
_USUAL = "gunicorn.conf.py"
_VARIABLE = "GUNICORN_CMD_ARGS"
_OVERLAY = "overlay.conf.py"
_LARGEST_BYTES = 1 << 20
_SHORT = {"workers": "-w", "worker_class": "-k", "timeout": "-t"}
_DEFAULTS: dict[str, Level] = {"sendfile": True}
_BIND = ("-b", "--bind")
_STATSD = ("--statsd-host",)
"""A copy's figures are not to be among those of the server; arguments hold over its overlay."""
_TOLD = ("reload", "loglevel")
"""What is no knob, and rules look at it, where the file says it."""
_TO_BACKGROUND = ("-D", "--daemon")
_FILES = ("pidfile", "errorlog", "accesslog")


class GunicornSite:
    """Site adapter for gunicorn."""

    @property
    def kind(self) -> str:
        """Its name in `[[site.members]]`."""
        return _KIND

    def usual(self) -> tuple[Member, ...]:
        """Return nothing: no package runs it."""
        return ()

    def at(self, path: str) -> Member | None:
        """Return nothing: a configuration alone does not say which application is served."""
        del path
        return None

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of."""
        return recognised(_KIND, program, arguments, folder)

    def read(self, member: Member) -> MemberFiles:
        """Read its configuration file; executes nothing.

        Raises:
            AdapterError: It is not there or cannot be read, or nobody knows the command line.
        """
        if len(member.command) < 2:  # noqa: PLR2004 - program and application
            raise AdapterError(
                f"the command line of {member.name} cannot be seen: gunicorn wrote over it",
                hint="name its unit (`unit:shop.service`), or the command itself after `--`",
            )
        path = _config_path(member)
        if not path:
            return MemberFiles(texts={})
        read = TheirFiles(user=member.user)
        try:
            read.content(path, limit_bytes=_LARGEST_BYTES)
        except OSError as error:
            raise AdapterError(f"`{path}` cannot be read: {reason(error)}") from error
        return MemberFiles(texts=read.texts, real=read.real, rights=read.rights)

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what file, variable and command line say, the last of them first.

        Raises:
            AdapterError: The configuration is no Python.
        """
        del seat
        variables = _variables(member)
        assigned: dict[str, Assigned] = {}
        for path, text in files.texts.items():
            assigned |= assignments(text, path, n_cores=os.cpu_count() or 1, environment=variables)
        words = (*shlex.split(variables.get(_VARIABLE, "")), *member.command)
        version = python_version(_KIND, member.command, member.folder)
        return Survey(
            version=f"gunicorn {version}".strip(),
            readings=(
                *(_reading(name, words, assigned.get(name)) for name in KNOBS),
                *(_assigned(name, assigned[name]) for name in _TOLD if name in assigned),
            ),
            listeners=_listeners(words, assigned, variables, member.folder),
            logs=_logs(words, assigned, member.folder),
            writes=_folders(words, assigned, member.folder),
        )

    def knobs(self, survey: Survey) -> Mapping[str, KnobInfo]:
        """Return what can be set, with the values as found; no default where nobody knows."""
        found = {}
        for reading in survey.readings:
            info = KNOBS.get(reading.name)
            if info is None:
                continue
            level = _level(info, reading.text)
            if level is not None or reading.origin is not None:
                found[reading.name] = replace(info, default=level)
        return found

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return the flags that put values in force, over file and variable. Pure.

        Raises:
            AdapterError: There is no such setting or level.
        """
        del files
        known = self.knobs(survey)
        changed: dict[str, Level] = {}
        removed: list[str] = []
        notes: list[str] = []
        for name, value in values.items():
            info = known.get(name) or KNOBS.get(name)
            if info is None or info.complaint(value):
                wrong = info.complaint(value) if info else "it has no such setting"
                raise AdapterError(f"gunicorn: {name} = {level_text(value)}: {wrong}")
            if info.default is not None and value == info.default:
                continue
            changed[name] = value
            if name not in FLAGS and (name, value) not in SWITCHES:
                removed += [SWITCHES[name, not value]]
                notes.append(
                    f"no flag says `{name} = {value!r}`: it has to stand in the configuration file"
                )
        return ChangeSet(
            arguments=tuple(flags(changed)), removed_arguments=tuple(removed), notes=tuple(notes)
        )

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return nothing: code is not edited; what a copy needs stands in the overlay."""
        del survey, files, seat
        return ()

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> SiteLaunch:
        """Return how the copy is started; writes the overlay into a folder of its own.

        Raises:
            AdapterError: It cannot be written.
        """
        levels = {name: level for name, level in asked.values.items() if name in KNOBS}
        known = self.knobs(survey)
        anew = {
            name: level
            for name, level in levels.items()
            if known.get(name, KNOBS[name]).default != level
        }
        try:
            folder = own_folder(member, seat, _KIND)
            path = folder / _OVERLAY
            write_own(path, overlay(_config_path(member), str(folder), anew))
        except OSError as error:
            raise AdapterError(f"`{error.filename}` cannot be written: {error.strerror}") from error
        theirs = [each.address for each in survey.listeners]
        own = [seat.port(address) for address in theirs]
        # Each `--bind` of a command line is a further one.
        taken = (*_STATSD, *(_BIND if own != theirs else ()))
        words = with_values(member.command, lambda _: None, *taken)
        member = replace(member, command=tuple(words))
        command = [
            *started_with(member, seat, changes, own[0] if own else ""),
            *("--config", str(path), "--pid", f"{folder}/gunicorn.pid", "--error-logfile", "-"),
            *([] if own == theirs else [word for each in own for word in ("--bind", each)]),
        ]
        return SiteLaunch(
            command=command,
            environment={"PYTHONDONTWRITEBYTECODE": "1", **_without_statsd(member)},
            folder=member.folder or "/",
            user=member.user,
            insight=lambda process: GunicornInsight(process, folder, levels),
        )


def _config_path(member: Member) -> str:
    """Return the absolute path of its configuration file; empty where there is none."""
    folder = Path(member.folder or "/")
    words = (*shlex.split(_variables(member).get(_VARIABLE, "")), *member.command)
    named = option(words, "-c", "--config").removeprefix("file:") or (
        member.main if not member.main.startswith("python:") else ""
    )
    if named.startswith("python:"):
        raise AdapterError(
            f"the configuration of {member.name} is the module `{named}`, which only its "
            "interpreter can find",
            hint="name the file: `--config gunicorn.conf.py`",
        )
    if named:
        return os.path.normpath(folder / named)
    chdir = folder / option(words, "--chdir")
    usual = chdir / _USUAL
    return str(usual) if usual.is_file() else ""


def _variables(member: Member) -> dict[str, str]:
    """Return the variables that it has and that say something of its settings."""
    names = {_VARIABLE, "WEB_CONCURRENCY", "PORT"}
    return {name: text for name, text in readable_variables(member).items() if name in names}


def _without_statsd(member: Member) -> dict[str, str]:
    """Return its variable of arguments without statsd or `--daemon`, where it has any of that."""
    words = shlex.split(_variables(member).get(_VARIABLE, ""))
    left = [w for w in with_values(words, lambda _: None, *_STATSD) if w not in _TO_BACKGROUND]
    return {} if left == words else {_VARIABLE: shlex.join(left)}


def _reading(name: str, words: Sequence[str], assigned: Assigned | None) -> Reading:
    flag = FLAGS.get(name, "")
    if flag and (said := option(words, flag, *filter(None, [_SHORT.get(name)]))):
        return Reading(name=name, scope="", text=said, evidence="seen")
    for (switch, value), word in SWITCHES.items():
        if switch == name and word in words:
            return Reading(name=name, scope="", text=level_text(value), evidence="seen")
    if assigned is not None:
        return _assigned(name, assigned)
    default = _DEFAULTS.get(name, KNOBS[name].default)
    return Reading(name=name, scope="", text="" if default is None else level_text(default))


def _assigned(name: str, assigned: Assigned) -> Reading:
    found = assigned.value
    text = level_text(found) if isinstance(found, bool | int | float | str) else assigned.text
    return Reading(name=name, scope="", text=text, origin=assigned.origin)


def _listeners(
    words: Sequence[str],
    assigned: Mapping[str, Assigned],
    variables: Mapping[str, str],
    folder: str,
) -> tuple[Listener, ...]:
    said = options(words, *_BIND)
    where: object = said
    origin = None
    if not said and "bind" in assigned:
        where, origin = assigned["bind"].value, assigned["bind"].origin
    if not where:
        where = f"0.0.0.0:{variables['PORT']}" if "PORT" in variables else "127.0.0.1:8000"
    texts = where if isinstance(where, list) else str(where).split(",")
    is_tls = bool(option(words, "--certfile")) or "certfile" in assigned
    chdir = option(words, "--chdir") or str(assigned["chdir"].value if "chdir" in assigned else "")
    runs_in = str(PurePosixPath(folder or "/") / chdir)
    addresses = [
        listening_address(str(text).strip().replace("{port}", "8000"), runs_in) for text in texts
    ]
    return tuple(
        Listener(address=address, is_tls=is_tls, origin=origin) for address in addresses if address
    )


def _logs(
    words: Sequence[str], assigned: Mapping[str, Assigned], folder: str
) -> tuple[LogPlace, ...]:
    """Return the access log, where it is a file."""
    found = assigned.get("accesslog")
    name = option(words, "--access-logfile") or str(found.value or "" if found else "")
    if name in {"", "-"}:
        return ()
    return (LogPlace(path=str(PurePosixPath(folder or "/") / name)),)


def _folders(
    words: Sequence[str], assigned: Mapping[str, Assigned], folder: str
) -> tuple[str, ...]:
    """Return the folders of the files that it is told to write."""
    named = [option(words, "--access-logfile"), option(words, "--error-logfile", "--log-file")]
    named += [str(assigned[name].value or "") for name in _FILES if name in assigned]
    paths = [PurePosixPath(folder or "/") / name for name in named if name not in {"", "-"}]
    return tuple(dict.fromkeys(str(path.parent) for path in paths))


def _level(info: KnobInfo, text: str) -> Level | None:
    level: Level = text
    if info.kind == "integer":
        if not text.isdigit():
            return None
        level = int(text)
    elif info.kind == "boolean":
        if text not in {"true", "false"}:
            return None
        level = text == "true"
    elif not text:
        return None
    return level if not info.complaint(level) else None
