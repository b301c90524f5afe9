"""Site adapter for uvicorn: all it is told is its command line and a few variables."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    KnobInfo,
    Level,
    Listener,
    Member,
    Reading,
    Survey,
    level_text,
)
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.site import recognised, started_with
from httpdyno.servers.discover.program import python_version
from httpdyno.servers.option_words import listening_address, option
from httpdyno.servers.site.adapter import MemberFiles, Seat, SiteLaunch
from httpdyno.servers.site.environment import set_variables
from httpdyno.servers.uvicorn.in_force import UvicornInsight
from httpdyno.servers.uvicorn.knob import KNOBS, flags, of_variables, told

_KIND = "uvicorn"


class UvicornSite:
    """Site adapter for uvicorn."""

    @property
    def kind(self) -> str:
        """Its name in `[[site.members]]`."""
        return _KIND

    def usual(self) -> tuple[Member, ...]:
        """Return nothing: no package runs it."""
        return ()

    def at(self, path: str) -> Member | None:
        """Return nothing: it has no configuration file."""
        del path
        return None

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
        return MemberFiles(texts={})

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
                status="refused",
                detail=f"its socket is file descriptor {handle}, which nobody hands a copy; give "
                "it an address in its place, `--port 8000` or `--uds /run/app.sock`",
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

    def knobs(self, survey: Survey) -> Mapping[str, KnobInfo]:
        """Return what can be set, with the values as found."""
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
            if info is None or info.complaint(value):
                wrong = info.complaint(value) if info else "it has no such setting"
                raise AdapterError(f"uvicorn: {name} = {level_text(value)}: {wrong}")
            if value != info.default:
                changed[name] = value
            if value == 0 and info.default != 0 and name.startswith("limit_"):
                raise AdapterError(
                    f"uvicorn: no flag takes {name} back to none",
                    hint=f"try large levels of {name} instead",
                )
        return ChangeSet(arguments=tuple(flags(changed)))

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return nothing: code is not edited."""
        del survey, files, seat
        return ()

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> SiteLaunch:
        """Return how the copy is started: as theirs, in its folder."""
        theirs = survey.listeners[0].address
        address = seat.port(theirs)
        command = started_with(member, seat, changes, address)
        if address != theirs:
            host, _, port = address.rpartition(":")
            is_socket = host == "unix"
            command += ["--uds", port] if is_socket else ["--host", host, "--port", port]
        return SiteLaunch(
            command=command,
            environment={"PYTHONDONTWRITEBYTECODE": "1"},
            folder=member.folder or "/",
            user=member.user,
            insight=lambda process: UvicornInsight(
                process, address, asked.values, f"/proc/{process.pid}/ns/net"
            ),
        )


def _level(info: KnobInfo, text: str) -> Level | None:
    level: Level = text
    if info.kind == "integer":
        if not text.isdigit():
            return None
        level = int(text)
    elif info.kind == "boolean":
        level = text == "true"
    return level if not info.complaint(level) else None
