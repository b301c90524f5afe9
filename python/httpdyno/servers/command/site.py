"""Site adapters for programs of any kind, and for those of node.

Nothing is known of their configuration: what can be set are options on the command line and
variables. In a cell a program listens where it always does, a port that stands in its code too.
"""

import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    Effective,
    KnobInfo,
    Level,
    Listener,
    Member,
    Survey,
    level_text,
)
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.foreground import in_foreground
from httpdyno.servers.command.program import interpreter, parts_of
from httpdyno.servers.command.seen import SOURCE, process_texts
from httpdyno.servers.command.site_knob import NODE, VARIABLES, changes_of, knobs_of, readings_of
from httpdyno.servers.command.variable import named_variables
from httpdyno.servers.discover.program import package_version, plain_member
from httpdyno.servers.network.listening import Listening, listening
from httpdyno.servers.option_words import (
    is_tls_address,
    listening_address,
    option,
    with_address,
    with_values,
)
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.site.adapter import MemberFiles, Seat, SiteLaunch
from httpdyno.servers.site.environment import set_variables
from httpdyno.servers.site.knob_name import variable_of
from httpdyno.servers.staging import clean_environment, last_lines

PORT = "8080"
"""What `{port}` is in a cell, where all ports are free."""
WAY_OUT = "write `{port}` or `{address}` in the command, or have a cell: `--isolation cell`"
"""For a program that is told nowhere where to listen, outside of a cell."""
_CELL, _WALL = "cell", "wall"
_WHERE = ("--listen", "--bind", "--address", "-b")
_PORTS = ("--port", "-p")
_HOST = "--host"
_LITERAL = r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[\da-fA-F:]+\]|localhost)"
_IP = re.compile(_LITERAL)
_AT_PORT = re.compile(rf"{_LITERAL}:\{{port\}}")
_REFUSED = re.compile(r"EACCES|[Pp]ermission denied|[Ee]rrno 13\b|os error 13\b")
_NOT_RUN = frozenset({126, 127})


class CommandSite:
    """Site adapter for any command."""

    kind_name = "command"

    @property
    def kind(self) -> str:
        """Its name in `[[site.members]]`."""
        return self.kind_name

    def usual(self) -> tuple[Member, ...]:
        """Return nothing: no package runs it."""
        return ()

    def at(self, path: str) -> Member | None:
        """Return nothing: it has no configuration file that is known."""
        del path
        return None

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return nothing: a process of no known kind is a command without being recognised."""
        del program, arguments, folder
        return None

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
        return MemberFiles(texts={})

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what its command line says."""
        del files, seat
        parts = parts_of(interpreter(_program(member), clean_environment()["PATH"]), member.command)
        parts |= {NODE} if self.kind == NODE else set()
        where = option(member.command, *_WHERE)
        address = listening_address(where.replace("{port}", PORT), member.folder or "/")
        port = option(member.command, *_PORTS).replace("{port}", PORT)
        if not address and any("{port}" in word or "{address}" in word for word in member.command):
            port = PORT
        if not address and port.isdigit():
            host = option(member.command, _HOST)
            address = listening_address(f"{host if _IP.fullmatch(host) else '127.0.0.1'}:{port}")
        return Survey(
            version=_version(member),
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

    def knobs(self, survey: Survey) -> Mapping[str, KnobInfo]:
        """Return the options with numbers that it was started with, and known variables."""
        return knobs_of(survey.readings)

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return arguments and variables. Pure.

        Raises:
            AdapterError: There is no such option or variable.
        """
        del files
        return changes_of(survey.readings, values)

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return nothing: code is not edited."""
        del survey, files, seat
        return ()

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> SiteLaunch:
        """Return how the copy is started: as theirs, in its folder."""
        theirs = next((each.address for each in survey.listeners), "")
        where = seat.port(theirs) if theirs else ""
        own = list(member.command)
        is_told = any("{port}" in word or "{address}" in word for word in own)
        if where != theirs:
            is_told = is_told or _moved(own, where) != own
            own = [_AT_PORT.sub("{address}", word) for word in own]
        command = started_with(structs.replace(member, command=tuple(own)), seat, changes, where)
        return SiteLaunch(
            command=command if where == theirs else _moved(command, where),
            environment=dict(changes.environment),
            folder=member.folder or "/",
            user=member.user,
            insight=lambda process: _Insight(
                process, asked, _Where(kind=seat.kind, address=where, is_told=is_told)
            ),
        )


class NodeSite(CommandSite):
    """Site adapter for programs that node runs."""

    kind_name = NODE

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of."""
        return recognised(self.kind, program, arguments, folder)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Where:
    """Where a copy is to listen."""

    kind: str
    """Of its seat."""
    address: str
    is_told: bool
    """Whether its command line says so; a port that stands in the code is said nowhere."""

    def complaint(self, words: str) -> str:
        """Return why a program does not listen that said this; empty where nobody can know."""
        is_refused = self.kind == _WALL and _REFUSED.search(words)
        if self.kind == _CELL or (self.is_told and not is_refused):
            return ""
        why = (
            "behind a wall the kernel refuses (EACCES) each port that the copy was not given"
            if self.kind == _WALL
            else "outside of a cell a copy listens only where its command line says"
        )
        return f"{why}, such as one that stands in the code: {WAY_OUT}"


class _Insight:
    """What is seen of a copy from outside."""

    def __init__(self, process: ServerProcess, asked: Configuration, where: _Where) -> None:
        self._process = process
        self._asked = asked
        self._where = where

    def words(self) -> str:
        words = last_lines(self._process.last_words())
        if self._listening() or self._process.exit_code in _NOT_RUN:
            return words
        return "\n".join(filter(None, [words, self._where.complaint(words)]))

    def refusal(self, exit_code: int | None, words: str) -> bool:
        return exit_code is not None and exit_code > 0 and exit_code not in _NOT_RUN and bool(words)

    def lacking(self) -> str:
        found = self._listening()
        if not found:
            return "it does not listen yet"
        if self._where.kind == _CELL or not self._where.address or _is_at(self._where, found):
            return ""
        there = ", ".join(sorted({each.address for each in found}))
        return f"it listens at {there}, and not at {self._where.address}, where its copy is asked"

    def effective(self) -> Effective | NotRunning:
        found = [process_texts(pid) for pid in sorted({e.pid for e in self._listening()})]
        processes = [each for each in found if each is not None]
        values: dict[str, str] = {}
        asked: dict[str, str] = {}
        for name, level in self._asked.values.items():
            if not processes:
                continue
            wanted = level_text(level)
            variable = name if name in VARIABLES else variable_of(name)
            if variable:
                usual = _usual(name)
                said = {each.environment.get(variable, usual) for each in processes}
            else:
                said = {option(each.arguments, f"--{name}") for each in processes}
            if variable or said == {wanted}:
                values[name] = wanted if said == {wanted} else ", ".join(sorted(said))
                asked[name] = wanted
        return Effective(values=values, asked=asked, source=SOURCE if asked else "")

    def _listening(self) -> list[Listening]:
        # Programs have unix sockets for purposes of their own, too.
        is_unix = self._where.address.startswith("unix:")
        return listening((each.pid for each in self._process.members()), with_unix=is_unix)


def _is_at(where: _Where, found: Sequence[Listening]) -> bool:
    """Whether one of the sockets is the one that was to be."""
    host, _, port = where.address.rpartition(":")
    hosts = {host, "0.0.0.0", "[::]"}  # noqa: S104 - compared, not listened at
    return any(each.address in {f"{one}:{port}" for one in hosts} for each in found)


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


def _usual(variable: str) -> str:
    """Return what a variable stands for where it is not set."""
    info = VARIABLES.get(variable)
    return "" if info is None or info.default is None else level_text(info.default)


def _version(member: Member) -> str:
    program = interpreter(_program(member), clean_environment()["PATH"])
    version = package_version(str(program))
    return f"{program.name} {version} ({program})" if version else str(program)


def _program(member: Member) -> Path:
    """Return the file that the command runs."""
    first = member.command[0] if member.command else member.program
    if "/" in first:
        return Path(member.folder or "/") / first
    return Path(member.program or shutil.which(first) or first)
