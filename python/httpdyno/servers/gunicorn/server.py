"""gunicorn: a WSGI server that is installed with httpdyno, and its default.

What a study makes: the configuration file is its base file followed by an overlay, both Python. The
overlay also hooks `when_ready`, in which the running arbiter writes down the settings it really
has, and `post_worker_init`, in which each worker of the first generation says that it has loaded
the application: before all of them have, a server of four workers would be measured with fewer.

Settings of a study: `application` (`module:callable`, required) and `directory` (where it is in
the run folder; default is the run folder itself). With `python`, `config` or a `folder` it is the
person's own gunicorn instead: the interpreter of their virtual environment, in their folder, with
their configuration executed first.

What people run: a command line, and a configuration that is code. It is never edited and, to read
it, never executed. A copy executes it first, and then the overlay (`overlay.py`) and the flags at
the end of its command line, which gunicorn reads last.
"""

import importlib.util
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import (
    ChangeSet,
    Configuration,
    KnobInfo,
    Level,
    Listener,
    LogPlace,
    Member,
    Reading,
    ServerSpec,
    Survey,
    level_text,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.program import first_line
from httpdyno.servers.command.server import recognised, started_with
from httpdyno.servers.discover.program import python_version
from httpdyno.servers.gunicorn.config_text import Assigned, assignments
from httpdyno.servers.gunicorn.knob import FLAGS, KNOBS, SWITCHES, flags
from httpdyno.servers.gunicorn.overlay import GunicornInsight, hooks, overlay
from httpdyno.servers.option_words import listening_address, option, options, with_values
from httpdyno.servers.python_program import check_python, python_environment, python_of
from httpdyno.servers.render import Variables, inside, render_file, render_text, run_folder
from httpdyno.servers.run.folder import write_own
from httpdyno.servers.stack.adapter import Launch, MemberFiles, Seat, ServerAdapter
from httpdyno.servers.stack.environment import own_folder, readable_variables
from httpdyno.servers.stack.snapshot import TheirFiles

_KIND = "gunicorn"
_CONFIG = "gunicorn.conf.py"
"""Also what gunicorn reads of the folder that it runs in, without being told."""
_OVERLAY = "overlay.conf.py"
_TMP_DIR = "worker_tmp_dir"
_PROGRAM = (
    "import sys, gunicorn; "
    "print('gunicorn', gunicorn.__version__ + ', Python', sys.version.split()[0])"
)
_VARIABLE = "GUNICORN_CMD_ARGS"
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


class Gunicorn(ServerAdapter):
    """Adapter for gunicorn."""

    name = _KIND
    is_made = True

    def settings(self) -> frozenset[str]:
        """Return the names that it reads of a study's settings."""
        return frozenset({"application", "config", "directory", "python"})

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what is not installed and how to install it."""
        del spec
        if importlib.util.find_spec("gunicorn") is None:
            return (because("gunicorn.not_installed"),)
        return ()

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return gunicorn's version and the interpreter's; of a person's own where that is, too.

        Raises:
            AdapterError: It is not installed, or is not run: others may write it.
        """
        if spec is not None and study_folder is not None and _is_theirs(spec):
            python = python_of(spec, study_folder)
            said = _version_there(python)
            if not said:
                raise AdapterError(
                    f"gunicorn is not installed for `{python}`",
                    hint=f"Run `{python} -m pip install gunicorn`.",
                )
            return f"{said} ({python})"
        try:
            return f"gunicorn {installed_version('gunicorn')}, Python {sys.version.split()[0]}"
        except PackageNotFoundError as error:
            raise AdapterError(
                "gunicorn is not installed", hint="Run `pip install gunicorn`."
            ) from error

    def check(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> None:
        """Look for its application, or for a person's interpreter and configuration.

        Raises:
            AdapterError: One of them cannot be found.
        """
        if _is_theirs(spec):
            _check_theirs(spec, study_folder)
        else:
            _check_application(spec, study_folder, variables)

    def refused(self, spec: ServerSpec, configuration: Configuration) -> Reason | None:
        """Return that gevent is not installed where it is asked for."""
        is_gevent = configuration.values.get("worker_class") == "gevent"
        if is_gevent and not _is_theirs(spec) and importlib.util.find_spec("gevent") is None:
            return because("servers.needs_gevent")
        return None

    def made(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> Launch:
        """Return how it is started with the study's configuration, or over a person's own."""
        levels, folder = _levels(variables), Path(variables.run)
        if not _is_theirs(spec):
            return Launch(
                command=[sys.executable, "-m", "gunicorn", "-c", str(folder / _CONFIG)],
                files={_CONFIG: _config_text(spec, study_folder, variables, levels)},
                insight=lambda process: GunicornInsight(process, folder, levels),
            )
        return Launch(
            command=_their_command(spec, study_folder, variables, levels),
            files={_OVERLAY: overlay(_their_config(spec, study_folder), variables.run, levels)},
            folder=run_folder(spec, study_folder),
            environment=python_environment(python_of(spec, study_folder)),
            insight=lambda process: GunicornInsight(process, folder, levels),
            is_shown=True,
        )

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
            return MemberFiles()
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

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        """Return what can be set, with the values as found; no default where nobody knows."""
        if survey is None:
            return KNOBS
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
        notes: list[Reason] = []
        for name, value in values.items():
            info = known.get(name) or KNOBS.get(name)
            text = f"gunicorn: {name} = {level_text(value)}"
            if info is None:
                raise AdapterError(f"{text}: it has no such setting")
            try:
                info.check(value)
            except ValueError as error:
                raise AdapterError(f"{text}: expected {error}") from error
            if info.default is not None and value == info.default:
                continue
            changed[name] = value
            if name not in FLAGS and (name, value) not in SWITCHES:
                removed += [SWITCHES[name, not value]]
                notes.append(because("gunicorn.no_flag", name=name, value=repr(value)))
        return ChangeSet(
            arguments=tuple(flags(changed)), removed_arguments=tuple(removed), notes=tuple(notes)
        )

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> Launch:
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
        return Launch(
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
    usual = chdir / _CONFIG
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
    return level if info.takes(level) else None


def _is_theirs(spec: ServerSpec) -> bool:
    """Whether a study is about a person's own gunicorn, and not about the one of httpdyno."""
    return bool(spec.folder or {"python", "config"} & spec.settings.keys())


def _levels(variables: Variables) -> dict[str, Level]:
    """Return gunicorn's own settings of the configuration, as it understands them."""
    levels = {name: value for name, value in variables.knobs.items() if name in KNOBS}
    folders = {"disk": variables.run, "memory": variables.memory}
    if _TMP_DIR in levels:
        chosen = str(levels[_TMP_DIR])
        levels[_TMP_DIR] = folders.get(chosen, chosen)
    return levels


def _directory(spec: ServerSpec, variables: Variables) -> str:
    """Return where its application is, as the study says it."""
    directory = str(spec.settings.get("directory", "."))
    return render_text(directory, variables, source="settings.directory")


def _config_text(
    spec: ServerSpec, study_folder: Path, variables: Variables, levels: Mapping[str, Level]
) -> str:
    base = render_file(study_folder / spec.base, variables, name=spec.base) if spec.base else ""
    application = spec.settings.get("application")
    if not isinstance(application, str):
        raise AdapterError(
            "gunicorn needs to know the application",
            hint='Set `application = "module:callable"` in the study\'s server settings.',
        )
    settings: dict[str, object] = {
        "wsgi_app": application,
        "chdir": str(inside(_directory(spec, variables), variables)),
        "bind": [variables.address],
        "daemon": False,
        "pidfile": None,
        "errorlog": "-",
        "control_socket_disable": True,
        **levels,
    }
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    own = "\n".join(lines) + hooks(variables.run)
    return f"{base.rstrip()}\n\n# httpdyno's overlay\n{own}"


def _check_application(spec: ServerSpec, study_folder: Path, variables: Variables) -> None:
    """Look for the application's module in the study's files; nothing is imported.

    Raises:
        AdapterError: It is nowhere.
    """
    if spec.prepare or spec.before or "PYTHONPATH" in spec.environment:
        return  # it may come from there
    text = str(spec.settings.get("application", ""))
    module = text.partition(":")[0].partition(".")[0]
    if not module.isidentifier():
        raise AdapterError(f"the application `{text}` is not `module:callable`")
    directory = _directory(spec, variables)
    home = inside(directory, variables)
    wanted = {home / module, home / f"{module}.py"}
    for target in _written(spec, study_folder, variables):
        if target in wanted or wanted & set(target.parents):
            return
    if importlib.util.find_spec(module) is None:
        raise AdapterError(
            f"the application's module `{module}` is neither installed nor in `{directory}` of "
            "the run folder, where server.files and server.templates put it"
        )


def _written(spec: ServerSpec, study_folder: Path, variables: Variables) -> Iterator[PurePosixPath]:
    """Yield where each file of the study comes to lie."""
    for template in spec.templates:
        yield inside(template.to, variables)
    for entry in spec.files:
        source, target = study_folder / entry.source, inside(entry.to, variables)
        yield target
        yield target / source.name
        for path in source.rglob("*") if source.is_dir() else ():
            yield target / path.relative_to(source)


def _their_config(spec: ServerSpec, study_folder: Path) -> str:
    """Return the path of their configuration file; empty where there is none."""
    folder = (study_folder / spec.folder).resolve()
    named = str(spec.settings.get("config", "")).removeprefix("file:")
    if named:
        return str(folder / named)
    usual = folder / _CONFIG
    return str(usual) if spec.folder and usual.is_file() else ""


def _their_command(
    spec: ServerSpec, study_folder: Path, variables: Variables, levels: Mapping[str, Level]
) -> list[str]:
    """Return the command line: theirs would be the same, but for what is at its end."""
    application = spec.settings.get("application")
    directory = inside(_directory(spec, variables), variables)
    chdir = [] if spec.folder else ["--chdir", str(directory)]
    return [
        *(python_of(spec, study_folder), "-m", "gunicorn"),
        *("--config", f"{variables.run}/{_OVERLAY}"),
        *chdir,
        *("--bind", variables.address),
        *("--pid", f"{variables.run}/gunicorn.pid"),
        *("--error-logfile", "-"),
        *flags(levels),
        *([application] if isinstance(application, str) else []),
    ]


def _check_theirs(spec: ServerSpec, study_folder: Path) -> None:
    """Look for a person's interpreter and configuration.

    Raises:
        AdapterError: One is not there, or is not run: others may write it.
    """
    python = python_of(spec, study_folder)
    check_python(python)
    named = str(spec.settings.get("config", ""))
    if named.startswith("python:"):
        raise AdapterError(
            f"server.settings.config names the module `{named}`, which only its interpreter can "
            'find: name the file, as in `config = "gunicorn.conf.py"`'
        )
    config = _their_config(spec, study_folder)
    if config and not Path(config).is_file():
        raise AdapterError(f"server.settings.config names `{config}`, which is not there")
    if not _version_there(python):
        raise AdapterError(
            f"gunicorn is not installed for `{python}`: `{python} -m pip install gunicorn`"
        )
    if spec.base:
        raise AdapterError("server.base is for httpdyno's own gunicorn; theirs has `config`")


@lru_cache(maxsize=32)
def _version_there(python: str) -> str:
    return first_line([python, "-c", _PROGRAM], python_environment(python))
