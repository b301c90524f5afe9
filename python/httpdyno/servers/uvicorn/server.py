"""uvicorn: an ASGI server, of httpdyno's own environment or of a person's.

Settings of a study: `application` (`module:name`, required), `python` (the interpreter of their
virtual environment) and `arguments` (their own flags, as on a command line). It runs in the run
folder, or in place in `folder`. Levels are flags at the end of the command line: of those given
twice, uvicorn takes the last.

uvicorn says nothing of itself. Its processes are counted, its backlog is asked of the kernel, loop
and parser are seen in what its processes have mapped, and the rest is read from its command line.
"""

import importlib.util
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import listening_sockets
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Effective,
    KnobInfo,
    Level,
    Listener,
    Member,
    Reading,
    ServerSpec,
    Survey,
    level_text,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.program import first_line
from httpdyno.servers.command.seen import process_texts
from httpdyno.servers.command.server import recognised, started_with
from httpdyno.servers.discover.program import python_version
from httpdyno.servers.network.address import LOOPBACK, network_of
from httpdyno.servers.network.listening import accepting
from httpdyno.servers.option_words import listening_address, option
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.python_program import check_python, python_environment, python_of
from httpdyno.servers.render import Variables, render_argument, run_folder
from httpdyno.servers.stack.adapter import Insight, Launch, MemberFiles, Seat, ServerAdapter
from httpdyno.servers.stack.environment import set_variables
from httpdyno.servers.staging import last_lines
from httpdyno.servers.uvicorn.knob import KNOBS, flags, of_variables, told

_KIND = "uvicorn"

_REFUSES = frozenset({1, 2, 3})
"""An exception, a flag that click does not take, and uvicorn's own STARTUP_FAILURE."""
_LIBRARIES = {"loop": ("uvloop", "asyncio"), "http": ("httptools", "h11")}
"""What it is where the library is mapped, and where it is not."""
_PROGRAM = (
    "import sys, uvicorn; "
    "print('uvicorn', uvicorn.__version__ + ', Python', sys.version.split()[0])"
)


class Uvicorn(ServerAdapter):
    """Adapter for uvicorn."""

    name = _KIND
    is_made = True

    def settings(self) -> frozenset[str]:
        """Return the names that it reads of a study's settings."""
        return frozenset({"application", "arguments", "python"})

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what is not installed and how to install it."""
        if "python" not in spec.settings and importlib.util.find_spec("uvicorn") is None:
            return (because("uvicorn.not_installed"),)
        return ()

    def check(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> None:
        """Look for the interpreter, and for uvicorn in it.

        Raises:
            AdapterError: One is not there, or is not run: others may write it.
        """
        del variables
        if spec.base:
            raise AdapterError("server.base does nothing: uvicorn has no configuration file")
        python = python_of(spec, study_folder)
        check_python(python)
        if not _version_there(python):
            raise AdapterError(
                f"uvicorn is not installed for `{python}`: `{python} -m pip install uvicorn`"
            )

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return uvicorn's version and the interpreter's, and where that is.

        Raises:
            AdapterError: It is not installed there, or is not run: others may write it.
        """
        python = python_of(spec or ServerSpec(adapter=_KIND), study_folder or Path())
        said = _version_there(python)
        if not said:
            raise AdapterError(
                f"uvicorn is not installed for `{python}`",
                hint=f"Run `{python} -m pip install uvicorn`.",
            )
        return f"{said} ({python})"

    def made(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> Launch:
        """Return how it is started: all that it is told is its command line."""
        levels = variables.knobs
        return Launch(
            command=_command(spec, study_folder, variables),
            folder=run_folder(spec, study_folder),
            environment=python_environment(python_of(spec, study_folder)),
            insight=lambda process: UvicornInsight(process, variables.address, levels),
            is_shown=True,
        )

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of."""
        return recognised(_KIND, program, arguments, folder)

    def read(self, member: Member) -> MemberFiles:
        """Return no files: there are none.

        Raises:
            AdapterError: There is no command.
        """
        if not member.command:
            raise AdapterError(
                f"nothing is known of how {member.name} is started",
                hint='give its command: `command = [".venv/bin/uvicorn", "shop:app"]`',
            )
        return MemberFiles()

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what its command line says, and what it does where that says nothing."""
        del files, seat
        words = member.command
        variables = set_variables(member)
        said = told(words, variables)
        readings = tuple(Reading(name=name, scope="", text=text) for name, text in said.items())
        socket, host, port = (
            option(words, f"--{name}") or of_variables(name, variables) or usual
            for name, usual in (("uds", ""), ("host", "127.0.0.1"), ("port", "8000"))
        )
        if handle := option(words, "--fd"):
            return NotRunning(
                status="refused", detail=because("servers.handed_descriptor", handle=handle)
            )
        host = f"[{host}]" if ":" in host else host
        where = f"{host}:{port.replace('{port}', '8000')}"
        if socket:
            where = f"unix:{socket}"
        address = listening_address(where, member.folder or "/") or where
        version = python_version(_KIND, words, member.folder)
        return Survey(
            version=f"uvicorn {version}".strip(),
            readings=readings,
            listeners=(Listener(address=address, is_tls=bool(option(words, "--ssl-certfile"))),),
        )

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        """Return what can be set, with the values as found."""
        if survey is None:
            return KNOBS
        return {
            reading.name: replace(KNOBS[reading.name], default=level)
            for reading in survey.readings
            if (level := _level(KNOBS[reading.name], reading.text)) is not None
        }

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return the flags that put values in force: of those given twice it takes the last.

        Raises:
            AdapterError: There is no such setting, or a limit cannot be taken away.
        """
        del files
        known = self.knobs(survey)
        changed: dict[str, Level] = {}
        for name, value in values.items():
            info = known.get(name)
            text = f"uvicorn: {name} = {level_text(value)}"
            if info is None:
                raise AdapterError(f"{text}: it has no such setting")
            try:
                info.check(value)
            except ValueError as error:
                raise AdapterError(f"{text}: expected {error}") from error
            if value != info.default:
                changed[name] = value
            if value == 0 and info.default != 0 and name.startswith("limit_"):
                raise AdapterError(
                    f"uvicorn: no flag takes {name} back to none",
                    hint=f"try large levels of {name} instead",
                )
        return ChangeSet(arguments=tuple(flags(changed)))

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> Launch:
        """Return how the copy is started: as theirs, in its folder."""
        theirs = survey.listeners[0].address
        address = seat.port(theirs)
        command = started_with(member, seat, changes, address)
        if address != theirs:
            host, _, port = address.rpartition(":")
            is_socket = host == "unix"
            command += ["--uds", port] if is_socket else ["--host", host, "--port", port]
        return Launch(
            command=command,
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
            folder=member.folder or "/",
            user=member.user,
            insight=lambda process: UvicornInsight(process, address, asked.values),
        )


class UvicornInsight(Insight):
    """What is seen of uvicorn from outside."""

    def __init__(self, process: ServerProcess, address: str, levels: Mapping[str, Level]) -> None:
        self._process = process
        self._address = address
        self._levels = {name: level for name, level in levels.items() if name in KNOBS}

    def words(self) -> str:
        """Return the end of its log."""
        return last_lines(self._process.last_words())

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited by itself, with a code of its own."""
        return exit_code in _REFUSES and "Error" in words

    def lacking(self) -> Reason | None:
        """Return how many of its workers do not accept connections yet."""
        said = self._told().get("workers")
        wanted = int(said) if said and said.isdigit() else 1
        accept = len(self._workers())
        return None if accept >= wanted else because("servers.workers_up", n=accept, of=wanted)

    def effective(self) -> Effective | NotRunning:
        """Return what is seen, compared with what was asked."""
        workers, values = self._workers(), self._told()
        values["workers"] = str(len(workers))
        if sockets := [
            s
            for s in listening_sockets(network_of(self._process.pid))
            if s.address == self._address
        ]:
            values["backlog"] = str(sockets[0].backlog)
        asked = {name: level_text(level) for name, level in self._levels.items()}
        for name, (library, without) in _LIBRARIES.items():
            is_mapped = bool(workers) and all(_has_mapped(each, f"/{library}/") for each in workers)
            values[name] = library if is_mapped else without
            # What it chooses by itself is what was asked for; and an application may well use a
            # library that the server does not.
            if asked.get(name) == "auto" or (asked.get(name) == without and is_mapped):
                asked[name] = values[name]
        return Effective(values=values, asked=asked, sources=(because("uvicorn.source"),))

    def _told(self) -> dict[str, str]:
        root = process_texts(self._process.pid)
        return told(root.arguments, root.environment) if root else {}

    def _workers(self) -> list[int]:
        """Return the processes that accept connections."""
        return [each.pid for each in self._process.members() if accepting(each.pid)]


def _has_mapped(pid: int, part: str) -> bool:
    try:
        return part in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _command(spec: ServerSpec, study_folder: Path, variables: Variables) -> list[str]:
    application = spec.settings.get("application")
    if not isinstance(application, str):
        raise AdapterError(
            "uvicorn needs to know the application",
            hint='Set `application = "module:name"` in the study\'s server settings.',
        )
    own = shlex.split(str(spec.settings.get("arguments", "")))
    return [
        *(python_of(spec, study_folder), "-m", "uvicorn", application),
        *(render_argument(part, variables, source="settings.arguments") for part in own),
        *("--host", LOOPBACK, "--port", variables.port),
        *flags(variables.knobs),
    ]


def _version_there(python: str) -> str:
    return first_line([python, "-c", _PROGRAM], python_environment(python))


def _level(info: KnobInfo, text: str) -> Level | None:
    level: Level = text
    if info.kind == "integer":
        if not text.isdigit():
            return None
        level = int(text)
    elif info.kind == "boolean":
        level = text == "true"
    return level if info.takes(level) else None
