"""Running php-fpm in a seat: its own test of itself, and the private copy."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import ChangeSet, Configuration, Edit, KnobInfo, Member, Notice, Survey
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.php_fpm import in_force
from httpdyno.servers.php_fpm.configuration import INCLUDE, pool_configuration
from httpdyno.servers.php_fpm.frame import (
    Frame,
    frame_text,
    make_folders,
    mapped_include,
    new_frame,
)
from httpdyno.servers.php_fpm.insight import Copied, OwnWords, PhpFpmInsight
from httpdyno.servers.php_fpm.installation import program_of
from httpdyno.servers.php_fpm.knob import KNOBS, is_same
from httpdyno.servers.php_fpm.survey import MAIN, PHP_INI, PREFIX, SCAN_FOLDER, place_in, pool_names
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import write_own
from httpdyno.servers.stack.adapter import Launch, MemberFiles, Said, Seat
from httpdyno.servers.staging import last_lines

_OPTIONS_OF_OURS = {"-y": 1, "--fpm-config": 1, "-D": 0, "--daemonize": 0, "-F": 0}
_OPTIONS_OF_OURS |= {"--nodaemonize": 0, "-g": 1, "--pid": 1}
"""Options of theirs that a copy has its own of → how many arguments follow."""
_LOADED = "Loaded Configuration File => "
_PARSED = "Additional .ini files parsed => "


def checked(member: Member, survey: Survey, seat: Seat) -> Survey | NotRunning:
    """Return the survey with what php-fpm itself says differently; NotRunning if it refuses.

    Raises:
        AdapterError: It cannot be run.
    """
    # Nobody has put their files into the seat yet: they are read where they are.
    start = _Start(member, survey, seat, lambda path: path)
    said = start.tested(start.framed())
    if said.exit_code:
        words = f"{said.output}\n{said.errors}".strip()
        return NotRunning(status="refused", detail=last_lines(words))
    sections = in_force.read_back(f"{said.output}\n{said.errors}")
    notices = [*survey.notices, *_different(survey, sections)]
    ini_files = start.ini_files()
    known = _ini_files_known(survey)
    readings = survey.readings
    if ini_files and not known <= ini_files:
        # A change of a file that PHP does not read would change nothing.
        words = f"PHP reads its settings from {', '.join(sorted(ini_files))}, and not from "
        notices.append(Notice(words=words + ", ".join(sorted(known - ini_files))))
        names = {name for name, knob in KNOBS.items() if knob.place == "ini"}
        readings = tuple(r for r in readings if r.name not in names)
    return replace(survey, readings=readings, notices=tuple(notices))


def private_edits(survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
    """Return the edits of `include` that lead it to the seat's files; in a cell none."""
    if seat.kind == "cell":
        return ()
    prefix = place_in(survey, PREFIX)
    pools = pool_configuration(files.texts, place_in(survey, MAIN), prefix=prefix)
    return tuple(
        Edit(
            file=setting.file,
            start=setting.entry.start,
            end=setting.entry.end,
            text=mapped_include(setting.entry.text, prefix, seat),
            purpose="private",
        )
        for setting in pools.settings
        if setting.entry.name == INCLUDE and setting.entry.index is None
    )


def launched(
    member: Member,
    survey: Survey,
    seat: Seat,
    asked: Configuration,
    given: tuple[ChangeSet, Mapping[str, KnobInfo]],
) -> Launch:
    """Return how a copy is started, with its own configuration written.

    Args:
        member: Which one.
        survey: What was found of it.
        seat: Where it sits.
        asked: What is asked of its knobs.
        given: What was changed for that, and all of its knobs.

    Raises:
        AdapterError: There is no such program, or no room.
    """
    changes, known = given
    start = _Start(member, survey, seat, seat.path)
    frame = start.framed()
    copied = Copied(
        survey=survey, seat=seat, frame=frame, asked=asked, known=known, user=member.user
    )

    def test() -> str:
        said = start.tested(frame)
        return f"{said.output}\n{said.errors}"

    def insight(process: ServerProcess) -> PhpFpmInsight:
        return PhpFpmInsight(process, copied, OwnWords(test=test, ini=start.ini))

    own = [*start.command(), "--nodaemonize"]
    own += ["--fpm-config", str(frame.configuration), *changes.arguments]
    return Launch(
        command=[word for word in own if word not in changes.removed_arguments],
        environment=start.environment(),
        folder=member.folder or "/",
        user=member.user,
        error_logs=(str(frame.error_log),),
        insight=insight,
    )


def _why(error: OSError | KeyError) -> str:
    return reason(error) if isinstance(error, OSError) else str(error.args[0])


@dataclass(frozen=True, slots=True)
class _Start:
    """How the program is run in a seat."""

    member: Member
    survey: Survey
    seat: Seat
    path: Callable[[str], str]
    """Where one of their files is."""

    def framed(self) -> Frame:
        """Write the configurations around theirs."""
        main = self.path(self.member.main)
        try:
            frame = new_frame(self.member, self.seat)
            make_folders(self.survey, self.seat)
            write_own(frame.configuration, frame_text(self.survey, self.seat, frame, main))
            text = frame_text(self.survey, self.seat, frame, main, is_test=True)
            write_own(frame.test_configuration, text)
        except (OSError, KeyError) as error:
            raise AdapterError(f"`{self.member.name}` cannot be copied: {_why(error)}") from error
        return frame

    def tested(self, frame: Frame) -> Said:
        """Let it test its configuration, and tell it."""
        return self._run("-tt", "--fpm-config", str(frame.test_configuration))

    def ini(self) -> str:
        """Let it print the ini values that it reads."""
        return self._run("-i").output

    def ini_files(self) -> frozenset[str]:
        """Return the ini files that the program says it reads; none where it says nothing."""
        output = self.ini()
        main = output.partition(_LOADED)[2].partition("\n")[0]
        others = output.partition(_PARSED)[2].partition("\n\n")[0].replace("\n", "").split(",")
        return frozenset(p.strip() for p in (main, *others) if p.strip().startswith("/"))

    def command(self) -> list[str]:
        """Return program and options, without those that a copy has its own of."""
        program = program_of(self.member)
        if not program:
            raise AdapterError(
                f"the program that reads `{self.member.main}` was not found",
                hint="Say it as `program` of this member in the study.",
            )
        kept: list[str] = []
        left = list(self.member.command[1:])
        while left:
            word = left.pop(0)
            option = word.partition("=")[0] if word.startswith("--") else word
            if option not in _OPTIONS_OF_OURS:
                kept.append(word)
            elif _OPTIONS_OF_OURS[option] and "=" not in word:
                left = left[1:]
        return [program, *kept, *self._apart()]

    def environment(self) -> dict[str, str]:
        """Return the variables that lead it to their ini files."""
        folder = place_in(self.survey, SCAN_FOLDER)
        is_elsewhere = folder and self.path(folder) != folder
        return {"PHP_INI_SCAN_DIR": self.path(folder)} if is_elsewhere else {}

    def _apart(self) -> list[str]:
        """Return options by which a copy that sees their files writes none of them."""
        php_ini = place_in(self.survey, PHP_INI)
        is_elsewhere = php_ini and self.path(php_ini) != php_ini
        words = ["-c", self.path(php_ini)] if is_elsewhere else []
        if self.seat.kind != "cell":
            words += ["-d", f"opcache.lockfile_path={self.seat.folder}"]
            words += ["-d", f"sys_temp_dir={self.seat.folder}"]
        return words

    def _run(self, *arguments: str) -> Said:
        return self.seat.run(
            [*self.command(), *arguments],
            environment={"PATH": os.defpath, **self.environment()},
            folder=self.member.folder or "/",
            user=self.member.user,
            timeout_s=self.member.ready_timeout_s,
        )


def _different(survey: Survey, sections: Mapping[str, Mapping[str, str]]) -> list[Notice]:
    found = []
    pools = pool_names(survey)
    for reading in survey.readings:
        knob = KNOBS.get(reading.name)
        if knob is None or knob.place == "ini":
            continue
        said = in_force.read_back_text(reading.name, sections, reading.scope or pools[0])
        if said and not is_same(reading.name, said, reading.text):
            words = f"php-fpm says `{reading.name}` {said}, where its files say {reading.text}"
            found.append(Notice(words=words, origin=reading.origin))
    return found


def _ini_files_known(survey: Survey) -> frozenset[str]:
    """Return `php.ini`, and the files in which knobs were found."""
    names = {name for name, knob in KNOBS.items() if knob.place == "ini"}
    found = {r.origin.file for r in survey.readings if r.name in names and r.origin}
    pool_files = {r.origin.file for r in survey.readings if r.name not in names and r.origin}
    php_ini = place_in(survey, PHP_INI)
    return frozenset({*(found - pool_files), *([php_ini] if php_ini else [])})
