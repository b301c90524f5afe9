"""Any command as a server: a program that listens where it is told to.

`[server] command` is a list of arguments. Where it is to listen, the run folder and the levels of
knobs stand in it as `{port}`, `{address}`, `{run}`, `{memory}` and `{knob.NAME}`, or in double
braces as in templates; variables of `[server.environment]` take the same. Knobs may have any name.
They reach the program by an argument, a variable or a template, and are read back from the
application's own `effective_path`, or seen in the arguments and variables of the processes that
listen.

The program runs in the run folder, or, with `folder`, where it lies, and nothing is copied.

Of a program that people run nothing is known of its configuration: what can be set are options on
the command line and variables. In a cell a program listens where it always does, a port that stands
in its code too.
"""

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import (
    ChangeSet,
    Configuration,
    KnobInfo,
    Level,
    Listener,
    Member,
    ServerSpec,
    Survey,
)
from httpdyno.reason import Reason
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.knob import (
    NODE,
    changes_of,
    knobs_of,
    named_variables,
    readings_of,
)
from httpdyno.servers.command.program import (
    found_program,
    in_foreground,
    interpreter,
    lacking,
    parts_of,
    version_of,
)
from httpdyno.servers.command.seen import CopyInsight, MadeInsight, Where, reaches
from httpdyno.servers.discover.program import package_version, plain_member
from httpdyno.servers.option_words import (
    is_tls_address,
    listening_address,
    option,
    with_address,
    with_values,
)
from httpdyno.servers.render import (
    Variables,
    render_argument,
    rendered_environment,
    rendered_templates,
    run_folder,
)
from httpdyno.servers.stack.adapter import Launch, MemberFiles, Seat, ServerAdapter
from httpdyno.servers.stack.environment import set_variables
from httpdyno.servers.staging import clean_environment

_ANY = "any command"
_PROGRAMS = "programs"
"""The setting that names those that the command itself runs, separated by spaces."""
PORT = "8080"
"""What `{port}` is in a cell, where all ports are free."""
_WHERE = ("--listen", "--bind", "--address", "-b")
_PORTS = ("--port", "-p")
_HOST = "--host"
_LITERAL = r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-fA-F:]+\]|localhost)"
_IP = re.compile(_LITERAL)
_AT_PORT = re.compile(rf"{_LITERAL}:\{{port\}}")


class Command(ServerAdapter):
    """Adapter for any command. Of what people run, a process of no known kind is one."""

    name = "command"
    is_made = True

    def settings(self) -> frozenset[str]:
        """Return what it reads of a study's settings; others are for the study's own templates."""
        return frozenset({_PROGRAMS})

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return which programs are not there, where that can be known without the study."""
        return tuple(
            lacking(name)
            for name in (_program_name(spec), *_programs(spec))
            if name
            and (name[:1] == "/" or "/" not in name)
            and found_program(name, None, _path(spec)) is None
        )

    def check(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> None:
        """Look for the program, and for where it is told to listen.

        Raises:
            AdapterError: One of them is nowhere.
        """
        command = command_line(spec, variables)
        if spec.base:
            raise AdapterError("server.base does nothing: a command has files and templates")
        name, folder = _program_name(spec), run_folder(spec, study_folder)
        if name and folder and found_program(name, Path(folder), _path(spec)) is None:
            raise AdapterError(f"`{name}` is no program in `{folder}`")
        templates = rendered_templates(spec, study_folder, variables)
        given = (*command, *rendered_environment(spec, variables).values(), *templates.values())
        if not any(variables.port in text for text in given):
            raise AdapterError(
                "neither the command nor the environment nor a template says where to listen: "
                "use `{port}` or `{address}`"
            )

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return what the program says of its version, and its path.

        Of a command that is a shell's, the programs that it runs say theirs.

        Raises:
            AdapterError: One is not there.
        """
        if spec is None:
            return _ANY
        folder = run_folder(spec, study_folder) if study_folder else ""
        names = _programs(spec) or tuple(filter(None, [_program_name(spec)]))
        return ", ".join(_version(spec, name, folder) for name in names) or _ANY

    def made(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> Launch:
        """Return how it is started: as the study says."""
        return Launch(
            command=command_line(spec, variables),
            folder=run_folder(spec, study_folder),
            insight=lambda process: MadeInsight(process, variables, reaches(spec, variables)),
            is_shown=True,
        )

    def read(self, member: Member) -> MemberFiles:
        """Return no files: it runs from its own folder, which a copy only reads.

        Raises:
            AdapterError: There is no command.
        """
        if not member.command:
            raise AdapterError(
                f"nothing is known of how {member.name} is started",
                hint='give its command: `command = ["node", "server.js"]`',
            )
        return MemberFiles()

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what its command line says."""
        del files, seat
        parts = parts_of(interpreter(_program(member), clean_environment()["PATH"]), member.command)
        parts |= {NODE} if self.name == NODE else set()
        where = option(member.command, *_WHERE)
        address = listening_address(where.replace("{port}", PORT), member.folder or "/")
        port = option(member.command, *_PORTS).replace("{port}", PORT)
        if not address and any("{port}" in word or "{address}" in word for word in member.command):
            port = PORT
        if not address and port.isdigit():
            host = option(member.command, _HOST)
            address = listening_address(f"{host if _IP.fullmatch(host) else '127.0.0.1'}:{port}")
        return Survey(
            version=_found_version(member),
            readings=readings_of(member.command, parts=parts, set_already=set_variables(member)),
            listeners=(Listener(address=address, is_tls=is_tls_address(where)),) if address else (),
        )

    def with_variables(self, member: Member, survey: Survey, names: Collection[str]) -> Survey:
        """Return the survey with these variables told, so that `env.NAME` are knobs.

        Raises:
            AdapterError: One cannot be set from outside, or its value cannot be read.
        """
        return structs.replace(
            survey, readings=(*survey.readings, *named_variables(member, survey, names))
        )

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        """Return the options with numbers that it was started with, and known variables.

        Of a study's own nothing: it names its knobs as it likes.
        """
        return {} if survey is None else knobs_of(survey.readings)

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return arguments and variables. Pure.

        Raises:
            AdapterError: There is no such option or variable.
        """
        del files
        return changes_of(survey.readings, values)

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> Launch:
        """Return how the copy is started: as theirs, in its folder."""
        theirs = next((each.address for each in survey.listeners), "")
        where = seat.port(theirs) if theirs else ""
        own = list(member.command)
        is_told = any("{port}" in word or "{address}" in word for word in own)
        if where != theirs:
            is_told = is_told or _moved(own, where) != own
            own = [_AT_PORT.sub("{address}", word) for word in own]
        command = started_with(structs.replace(member, command=tuple(own)), seat, changes, where)
        return Launch(
            command=command if where == theirs else _moved(command, where),
            environment=dict(changes.environment),
            folder=member.folder or "/",
            user=member.user,
            insight=lambda process: CopyInsight(
                process, asked, Where(kind=seat.kind, address=where, is_told=is_told)
            ),
        )


class Node(Command):
    """Adapter for programs that node runs, as people have them."""

    name = NODE
    is_made = False

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of."""
        return recognised(self.name, program, arguments, folder)


def command_line(spec: ServerSpec, variables: Variables) -> list[str]:
    """Return the command, rendered.

    Raises:
        AdapterError: There is none, or it cannot be rendered.
    """
    if not spec.command:
        raise AdapterError(
            "a server that is a command needs one",
            hint='Set `command = ["node", "server.js", "--port", "{port}"]` in [server].',
        )
    return [render_argument(part, variables, source="command") for part in spec.command]


def _program_name(spec: ServerSpec) -> str:
    """Return the program of the command; empty where it depends on the start."""
    name = spec.command[0] if spec.command else ""
    return "" if "{" in name else name


def _programs(spec: ServerSpec) -> tuple[str, ...]:
    """Return the programs that the command runs, as the study names them."""
    return tuple(str(spec.settings.get(_PROGRAMS, "")).split())


def _version(spec: ServerSpec, name: str, folder: str) -> str:
    program = found_program(name, Path(folder) if folder else None, _path(spec))
    if program is not None:
        return version_of(interpreter(program, _path(spec)), clean_environment())
    if "/" in name and not folder:
        return name  # it comes with the study's files
    raise AdapterError(
        f"`{name}` is not a program that is installed here",
        hint="Install it, or give its whole path in `command`.",
    )


def _path(spec: ServerSpec) -> str:
    return spec.environment.get("PATH", clean_environment()["PATH"])


def _moved(words: Sequence[str], address: str) -> list[str]:
    """Return a command line with its own address and port given way to the copy's."""
    host, _, port = address.rpartition(":")

    def where(old: str) -> str:
        if _IP.fullmatch(old):
            return host
        return port if old.isdigit() else with_address(old, address) if _is_address(old) else old

    moved = with_values(words, where, *_WHERE)
    moved = with_values(moved, lambda old: port if old.isdigit() else old, *_PORTS)
    return with_values(moved, lambda old: host if _IP.fullmatch(old) else old, _HOST)


def _is_address(text: str) -> bool:
    return bool(listening_address(text))


def recognised(kind: str, program: str, arguments: Sequence[str], folder: str) -> Member | None:
    """Return the member of that kind which a process is the root of; None where it is not."""
    member = plain_member(program, arguments, folder)
    return member if member is not None and member.kind == kind else None


def started_with(member: Member, seat: Seat, changes: ChangeSet, address: str) -> list[str]:
    """Return a member's command line as the changes make it, with its placeholders filled in."""
    removed = set(changes.removed_arguments)
    words = [word for word in in_foreground(member.command) if word not in removed]
    filled = {
        "{port}": address.rpartition(":")[2] or PORT,
        "{address}": address or f"127.0.0.1:{PORT}",
        "{run}": str(seat.folder),
        "{memory}": str(seat.memory_folder),
    }
    for placeholder, text in filled.items():
        words = [word.replace(placeholder, text) for word in words]
    return [*words, *changes.arguments]


def _found_version(member: Member) -> str:
    program = interpreter(_program(member), clean_environment()["PATH"])
    version = package_version(str(program))
    return f"{program.name} {version} ({program})" if version else str(program)


def _program(member: Member) -> Path:
    """Return the file that the command runs."""
    first = member.command[0] if member.command else member.program
    if "/" in first:
        return Path(member.folder or "/") / first
    return Path(member.program or shutil.which(first) or first)
