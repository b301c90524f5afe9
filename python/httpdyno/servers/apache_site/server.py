"""Site adapter for Apache httpd: any module that runs its processes, any distribution's layout."""

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    KnobInfo,
    Level,
    Member,
    Survey,
)
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache_site.change import changes as changes_of
from httpdyno.servers.apache_site.insight import DUMP, SiteInsight, Started
from httpdyno.servers.apache_site.invocation import INFO, invocation
from httpdyno.servers.apache_site.lines import words
from httpdyno.servers.apache_site.offer import offered
from httpdyno.servers.apache_site.private import CELL, private_edits
from httpdyno.servers.apache_site.reader import read_files
from httpdyno.servers.apache_site.setting import reading_of
from httpdyno.servers.apache_site.survey import survey_of
from httpdyno.servers.apache_site.where import (
    PROGRAMS,
    looks_like_main,
    main_of,
    members_here,
    options,
)
from httpdyno.servers.site.adapter import MemberFiles, Seat, SiteLaunch

_KIND = "apache"


class ApacheSite:
    """Apache httpd as people run it. Stateless."""

    @property
    def kind(self) -> str:
        """Its name in `[[site.members]]`."""
        return _KIND

    def usual(self) -> tuple[Member, ...]:
        """Return what the distribution's packages have configured here; empty when nothing is."""
        return members_here()

    def at(self, path: str) -> Member | None:
        """Return the member whose main configuration file this is; None if not of its kind."""
        return Member(name=_KIND, kind=_KIND, main=path) if looks_like_main(path) else None

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of.

        Args:
            program: Its file.
            arguments: As it was started, its own name first.
            folder: Where it runs.
        """
        if PurePosixPath(program).name not in PROGRAMS:
            return None
        said = options(arguments[1:])
        main = main_of(program, said, folder)
        return Member(
            name=_KIND,
            kind=_KIND,
            main=main,
            command=tuple(arguments),
            program=program,
            prefix=said.prefix,
        )

    def read(self, member: Member) -> MemberFiles:
        """Read the configuration and all that it includes; executes nothing.

        Raises:
            AdapterError: A file is not there, cannot be read or understood; says file and line.
        """
        return read_files(member)

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what is in force: of its own dump in a seat, else as its text says it."""
        return survey_of(member, files, seat)

    def knobs(self, survey: Survey) -> Mapping[str, KnobInfo]:
        """Return what can be set here, `NAME` or `NAME@SCOPE` → what it is; defaults as found."""
        return offered(survey)

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return the smallest change of their files that puts these values in force. Pure.

        Raises:
            AdapterError: A value cannot be set here, or contradicts another; says the rule.
        """
        return changes_of(survey, files, values)

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return the edits that let it run in the seat; in a cell of root none."""
        return private_edits(survey, files, seat)

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> SiteLaunch:
        """Return how the copy is started; makes the folders that its control script makes."""
        del changes
        info = survey.reading(INFO)
        call = invocation(member, seat, info=info.text if info is not None else None)
        folders = [seat.path(folder) for folder in survey.writes]
        if folders:
            # Debian's apachectl makes them at each start, since /run is empty after a boot. One
            # that cannot be made is the server's to complain of.
            seat.run(
                ["/bin/mkdir", "-p", "--", *folders], environment={"LANG": "C"}, user=member.user
            )
        dump = seat.folder / DUMP
        error_log = _error_log(survey, seat)
        started = Started(
            found=survey,
            known=offered(survey),
            asked=asked.values,
            seat=seat,
            dump=dump,
            error_log=error_log,
            user=member.user,
        )
        return SiteLaunch(
            command=[*call.serving(), *_defaults(survey, seat)],
            environment=call.environment,
            user=member.user,
            error_log=error_log,
            output_to=dump,
            insight=lambda process: SiteInsight(process, started),
        )


def _error_log(survey: Survey, seat: Seat) -> str:
    """Return the main server's error log as seen in the seat; empty where it is no file."""
    reading, root = reading_of(survey, "ErrorLog"), survey.reading("ServerRoot")
    path = (words(reading.text) or [""])[0] if reading is not None else "logs/error_log"
    if path.startswith(("|", "syslog")):
        return ""
    return seat.path(posixpath.join(root.text if root else "/", path))


def _defaults(survey: Survey, seat: Seat) -> tuple[str, ...]:
    """Return options for what is compiled in and would be shared with theirs, outside of a cell."""
    if seat.kind == CELL:
        return ()
    own: list[str] = []
    for name, file in (("DefaultRuntimeDir", ""), ("PidFile", "/httpd.pid")):
        if reading_of(survey, name) is None:
            own += ["-c", f"{name} {seat.folder}{file}"]
    return tuple(own)
