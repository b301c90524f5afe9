"""Adapter for Apache httpd: of a study's own, and of any module and layout that people run.

Settings of a study: `modules` (names separated by spaces, as in `perl dir mime`), `mpm` (prefork,
worker or event; it may be a knob instead) and `perl_modules` (Perl modules that its application
needs, to say which packages are missing).

The stop signal is TERM: idle children end within milliseconds of it, while the graceful WINCH
takes seconds. `apache2 -k stop` is never used: it reads a pid file, and pid files lie.
"""

import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from httpdyno.host.runnable import NotOursError
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    Effective,
    KnobInfo,
    Level,
    Member,
    ServerSpec,
    Survey,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.apache import in_force
from httpdyno.servers.apache.change import CELL, private_edits
from httpdyno.servers.apache.change import changes as changes_of
from httpdyno.servers.apache.copy import DUMP, SiteInsight, Started
from httpdyno.servers.apache.knob import KNOBS, MPM, reading_of
from httpdyno.servers.apache.made import (
    CONFIG,
    DOCUMENTS,
    ERROR_LOG,
    absent_perl_modules,
    asked_of_server,
    config_files,
    find_binary,
    found,
    installation,
    interpreters,
    missing_modules,
    multi_processing,
    server_user,
    wanted_modules,
)
from httpdyno.servers.apache.reading import (
    PROGRAMS,
    looks_like_main,
    main_of,
    members_here,
    options,
    read_files,
)
from httpdyno.servers.apache.survey import INFO, invocation, offered, survey_of
from httpdyno.servers.apache.text import words
from httpdyno.servers.log_file import log_text
from httpdyno.servers.network.address import network_of
from httpdyno.servers.network.probe import HttpStatusPage, StatusPage
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables
from httpdyno.servers.stack.adapter import Insight, Launch, MemberFiles, Seat, ServerAdapter
from httpdyno.servers.staging import last_lines

_KIND = "apache"
_DUMP = "dump.txt"
_DUMP_BYTES = 1 << 24
_KNOBS: Mapping[str, KnobInfo] = {**KNOBS, MPM.name: MPM}


class Apache(ServerAdapter):
    """Adapter for Apache httpd."""

    name = _KIND
    is_made = True

    def settings(self) -> frozenset[str]:
        """Return the names that it reads of a study's settings."""
        return frozenset({"modules", "mpm", "perl_modules"})

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what is not installed and how to install it."""
        perl = absent_perl_modules(str(spec.settings.get("perl_modules", "")).split())
        if find_binary() is None:
            return (because("apache.not_installed"), *perl)
        try:
            return (*missing_modules(installation(), wanted_modules(spec)), *perl)
        except NotOursError as error:
            return (because("apache.not_run", error=str(error)), *perl)

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return Apache's own version, and those of the interpreters that a study's loads.

        Raises:
            AdapterError: It is not installed.
        """
        installation = found()
        loaded = () if spec is None else interpreters(spec, study_folder or Path(), installation)
        return " ".join((installation.version, *loaded))

    def server_user(self) -> str:
        """Return the user that its children answer as."""
        return server_user()

    def made(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> Launch:
        """Return how it is started in the foreground, with its own files."""
        apache, run, levels = installation(), Path(variables.run), variables.knobs
        return Launch(
            command=[
                apache.binary,
                *("-d", str(run)),
                *("-f", str(run / CONFIG)),
                *("-D", "FOREGROUND"),
                # With this it prints its configuration while it reads it, and then serves: the
                # word of the very process that is measured, at no cost.
                *("-D", "DUMP_CONFIG"),
            ],
            error_logs=(str(run / ERROR_LOG),),
            output_to=run / _DUMP,
            files=config_files(spec, study_folder, variables, apache),
            folders=(DOCUMENTS,),
            answers_as=variables.server_user,
            insight=lambda process: _Insight(
                process, run, asked_of_server(levels), multi_processing(spec, levels)
            ),
        )

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

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        """Return what can be set here, `NAME` or `NAME@SCOPE` → what it is; defaults as found."""
        return _KNOBS if survey is None else offered(survey)

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
    ) -> Launch:
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
        return Launch(
            command=[*call.serving(), *_defaults(survey, seat)],
            environment=call.environment,
            user=member.user,
            error_logs=(error_log,) if error_log else (),
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


class _Insight(Insight):
    """What Apache's logs and dumps say."""

    def __init__(
        self, process: ServerProcess, run: Path, asked: Mapping[str, str], mpm: str
    ) -> None:
        self._mpm = mpm
        self._process = process
        self._run = run
        self._asked = asked

    def words(self) -> str:
        log = log_text(self._run / ERROR_LOG, from_end=True)
        lines = f"{self._process.last_words()}\n{log}".splitlines()
        return last_lines("\n".join(line for line in lines if not in_force.QUIET.search(line)))

    def refusal(self, exit_code: int | None, words: str) -> bool:
        return in_force.is_refusal(exit_code, words)

    def lacking(self) -> Reason | None:
        said = self._said()
        if MPM.name in self._asked and not in_force.running_mpm(said[1]):
            return because("servers.module_not_in_log")
        wanted = in_force.processes_at_start(self._mpm, *said)
        running = self._process.n_children()
        if running >= wanted:
            return None
        return because("servers.processes_up", n=running, of=wanted)

    def effective(self) -> Effective | NotRunning:
        return in_force.effective(*self._said(), self._asked, mpm=self._mpm)

    def status_pages(self) -> tuple[StatusPage, ...]:
        dump = self._said()[0]
        listens = [e.arguments for e in in_force.directives(dump) if e.name.lower() == "listen"]
        paths = dict.fromkeys(in_force.status_paths(dump))
        network = network_of(self._process.pid)
        return tuple(
            HttpStatusPage(address=listens[0], path=path, network=network)
            for path in paths
            if listens
        )

    def _said(self) -> tuple[str, str]:
        """Return its dump and its words."""
        dump = log_text(self._run / _DUMP, n_bytes=_DUMP_BYTES)
        log = log_text(self._run / ERROR_LOG)
        return dump, f"{self._process.first_words()}\n{log}"
