"""The adapter for nginx, with the command lines of its masters and its copies."""

import dataclasses
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import read_regular
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    KnobInfo,
    Level,
    Member,
    Reading,
    Survey,
)
from httpdyno.servers.adapter import NotRunning, own_words
from httpdyno.servers.nginx import catalogue, change
from httpdyno.servers.nginx.conf import (
    Build,
    Conf,
    build_of,
    build_of_program,
    build_of_running,
    conf_of,
    files_of,
    is_file,
    program_of,
    unreadable,
)
from httpdyno.servers.nginx.endpoint import tls_files
from httpdyno.servers.nginx.insight import NginxInsight, Started
from httpdyno.servers.nginx.survey import survey_of
from httpdyno.servers.nginx.text import Directive, parsed
from httpdyno.servers.nginx.wall import cell_edits, rewrite
from httpdyno.servers.stack.adapter import Launch, MemberFiles, Seat, ServerAdapter
from httpdyno.servers.staging import last_lines

KIND = "nginx"
_PROGRAMS = frozenset({"nginx", "openresty", "angie", "freenginx"})
_TITLE = re.compile("nginx: master process")
_OTHER_TITLE = re.compile(r"nginx: (?:worker|cache|privileged|isolated)")
_OWN_DIRECTIVES = frozenset({"daemon", "master_process", "pid"})
"""Of `-g`: what a copy decides for itself."""


def member_of(main: str, *, program: str = "", prefix: str = "", folder: str = "") -> Member:
    """Return the member of a main file."""
    return Member(name=KIND, kind=KIND, main=main, program=program, prefix=prefix, folder=folder)


def member_of_process(program: str, arguments: Sequence[str], folder: str) -> Member | None:
    """Return the member that a master runs; None for anything else, also for a worker.

    nginx writes its title over its arguments, so they may be one text: `nginx: master process
    /usr/sbin/nginx -c /etc/nginx/nginx.conf`.
    """
    if posixpath.basename(program.removesuffix(" (deleted)")) not in _PROGRAMS:
        return None
    line = " ".join(arguments).strip("\0 ")
    if _OTHER_TITLE.match(line):
        return None
    line = line[title.end() :] if (title := _TITLE.match(line)) else line
    program = program.removesuffix(" (deleted)")
    prefix = _option(line, "p")
    if prefix:
        prefix = posixpath.normpath(posixpath.join(folder, prefix))
    try:
        build = build_of_running(program, prefix)
    except AdapterError:
        return None
    if build is None:
        return None
    main = build.full(_option(line, "c") or build.options.get("--conf-path", "conf/nginx.conf"))
    return member_of(posixpath.normpath(main), program=program, prefix=prefix)


def of_command(command: Sequence[str]) -> tuple[Directive, ...]:
    """Return the directives that `-g` gives on a command line, but those that a copy decides."""
    words = list(command)
    given = [
        words[i + 1] if word == "-g" else word[2:]
        for i, word in enumerate(words)
        if word.startswith("-g") and (word != "-g" or i + 1 < len(words))
    ]
    found = [each for text in given for each in parsed(text.encode(), "-g")]
    return tuple(each for each in found if each.name not in _OWN_DIRECTIVES)


def _option(line: str, letter: str) -> str:
    match = re.search(rf"(?:^|\s)-{letter}\s*(\S+)", line)
    return match[1] if match else ""


_USUAL = ("/etc/nginx/nginx.conf", "/usr/local/nginx/conf/nginx.conf")
_USUAL_OPENRESTY = "/usr/local/openresty/nginx/conf/nginx.conf"
_OF_A_MAIN_FILE = frozenset({"events", "http", "stream", "mail"})
_LARGEST_BYTES = 16 << 20
_SAYS_WHERE = (1, 19, 5)
"""The first version with `-e`."""
_MASTER = "master"
"""The reading that says whether their master is root, as packages start it, or somebody else."""
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}


class Nginx(ServerAdapter):
    """Adapter for nginx, as people run it."""

    name = KIND

    def usual(self) -> tuple[Member, ...]:
        """Return what the distribution's packages have configured here; empty when nothing is."""
        found = (path for path in (*_USUAL, _USUAL_OPENRESTY) if Path(path).exists())
        return tuple(member_of(path) for path in found)[:1]

    def at(self, path: str) -> Member | None:
        """Return the member whose main configuration file this is; None if not of its kind."""
        try:
            text = read_regular(Path(path), limit_bytes=_LARGEST_BYTES)
            names = {directive.name for directive in parsed(text, path)}
        except (OSError, AdapterError):
            return None
        is_main = bool(names & _OF_A_MAIN_FILE)
        return member_of(posixpath.abspath(path)) if is_main else None

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of."""
        return member_of_process(program, arguments, folder)

    def read(self, member: Member) -> MemberFiles:
        """Read the configuration and all that it includes; executes nothing.

        Raises:
            AdapterError: A file is not there, cannot be read or understood; says file and line.
        """
        files = files_of(member.main, user=member.user)
        conf = conf_of(files.texts, build_of("", (), prefix=member.prefix))
        return dataclasses.replace(files, unreadable=unreadable(conf), tls=tls_files(conf))

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what is in force, as the files say; in a cell nginx's own test comes first.

        The test is left out in a wall: there only rewritten files can be tested.

        Raises:
            AdapterError: The program cannot say its version, or the files are not understood.
        """
        program = program_of(member.program)
        if seat is not None and seat.kind == "cell":
            refused = _refused(program, member, seat)
            if refused is not None:
                return refused
        is_root = _is_root(member)
        build = build_of_program(program, member.prefix, member.user)
        survey = survey_of(conf_of(files.texts, build, is_root=is_root))
        master = Reading(name=_MASTER, scope="", text="root" if is_root else "other")
        return replace(
            survey,
            readings=(*survey.readings, master),
            unreadable=tuple(dict.fromkeys((*files.unreadable, *survey.unreadable))),
        )

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        """Return what can be set here, `NAME` or `NAME@SCOPE` → what it is; defaults as found."""
        return {} if survey is None else catalogue.knobs(survey)

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return the smallest change of their files that puts these values in force. Pure.

        Raises:
            AdapterError: A value cannot be set here, or contradicts another; says the rule.
        """
        return change.change_set(_conf(survey, files), survey, values)

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return the edits that let it run in a cell; of root mostly none.

        Elsewhere all is rewritten, and only when it is launched: what is rewritten may be the very
        words that a knob changed.
        """
        if seat.kind != "cell":
            return ()
        return cell_edits(_conf(survey, files), is_root=seat.is_root)

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> Launch:
        """Return how the copy is started, in the foreground.

        In a seat that is no cell, the files that lie there are rewritten first.

        Raises:
            AdapterError: They cannot be, or the copy would listen where theirs does.
        """
        del changes
        if seat.kind != "cell":
            rewrite(member.main, survey, _build(survey), seat, is_root=_had_root(survey))
        program, build, main = program_of(member.program), _build(survey), seat.path(member.main)
        daemon = survey.reading("daemon")
        given = ["daemon off;"] if daemon is None else []
        # Before it has read its files, it writes where that is compiled in.
        says = build.version >= _SAYS_WHERE and seat.kind != "cell"
        # What their service gives by `-g` is in force too.
        given += [
            " ".join((each.name, *(f'"{text}"' for text in each.texts))) + ";"
            for each in of_command(member.command)
        ]
        error_log = survey.reading("error_log")
        log = error_log.text.split(" ")[0] if error_log is not None else ""
        user = "" if member.user in {"", "root"} or not seat.is_root else member.user
        known = {each.address for each in survey.listeners} | {b.to for b in survey.backends}

        def moved(scope: str) -> str:
            return seat.port(scope) if scope in known else scope

        found = self.knobs(survey)
        changed = {n for n, v in asked.values.items() if n not in found or found[n].default != v}
        started = Started(
            program=program,
            main=main,
            build=build,
            asked=asked.values,
            changed=frozenset(changed),
            moved=moved,
        )
        return Launch(
            command=[
                *(program, "-c", main),
                *(("-p", member.prefix) if member.prefix else ()),
                *(("-e", "stderr") if says else ()),
                *(("-g", " ".join(given)) if given else ()),
            ],
            environment=_ENVIRONMENT,
            folder=member.folder or "/",
            user=user,
            error_logs=(seat.path(build.full(log)),) if is_file(log) else (),
            insight=lambda process: NginxInsight(process, started),
        )


def _conf(survey: Survey, files: MemberFiles) -> Conf:
    return conf_of(files.texts, _build(survey), is_root=_had_root(survey))


def _had_root(survey: Survey) -> bool:
    master = survey.reading(_MASTER)
    return master is None or master.text == "root"


def _build(survey: Survey) -> Build:
    return build_of(survey.version, survey.modules)


def _is_root(member: Member) -> bool:
    """Whether their own master is root: a service is, and what is configured in `/etc`."""
    if member.user not in {"", "root"}:
        return False
    return os.geteuid() == 0 or bool(member.unit) or member.main.startswith("/etc/")


def _refused(program: str, member: Member, seat: Seat) -> NotRunning | None:
    """Let nginx test its files in the seat; None where it takes them."""
    prefix = ("-p", member.prefix) if member.prefix else ()
    command = [program, "-t", "-q", "-c", seat.path(member.main), *prefix]
    said = seat.run(
        command,
        environment=_ENVIRONMENT,
        user=member.user,
        timeout_s=member.ready_timeout_s,
    )
    if said.exit_code == 0:
        return None
    lines = f"{said.output}\n{said.errors}".splitlines(keepends=True)
    # What it warns of it would have started with.
    why = "".join(line for line in lines if "[warn]" not in line)
    return NotRunning(status="refused", detail=own_words(last_lines(why)))
