"""Site adapter for php-fpm: the pools behind a web server, and the PHP in them.

`change_set` and `survey` without a seat read files alone. In a seat the server's own test says
whether it takes them.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import read_regular
from httpdyno.model import ChangeSet, Configuration, Edit, KnobInfo, Level, Member, Survey
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.php_fpm.change import change_set
from httpdyno.servers.php_fpm.configuration import read_files
from httpdyno.servers.php_fpm.copy import checked, launched, private_edits
from httpdyno.servers.php_fpm.installation import (
    is_program,
    main_of_arguments,
    mains,
    unit_of,
)
from httpdyno.servers.php_fpm.knob import KNOBS, level_of
from httpdyno.servers.php_fpm.survey import pool_names, scope_of, survey_of_files
from httpdyno.servers.stack.adapter import Launch, MemberFiles, Seat, ServerAdapter

KIND = "php-fpm"
_LARGEST_BYTES = 16 << 20
_LOOKS_SO = re.compile(rb"^\s*\[global\]\s*$|^\s*pm\.max_children\s*=", re.MULTILINE)


class PhpFpm(ServerAdapter):
    """Adapter for php-fpm, as people run it."""

    name = KIND

    def usual(self) -> tuple[Member, ...]:
        """Return what the distribution's packages have configured here, newest version last."""
        return tuple(self._member(main) for main in mains())

    def at(self, path: str) -> Member | None:
        """Return the member whose main configuration file this is; None if not of its kind."""
        try:
            content = read_regular(path, limit_bytes=_LARGEST_BYTES)
        except OSError:
            return None
        return self._member(path) if _LOOKS_SO.search(content) else None

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of."""
        if not is_program(program):
            return None
        main = main_of_arguments(arguments)
        if main is None:
            # Without any argument it runs with what is compiled in: that of its package.
            found = [known for known in self.usual() if known.main]
            main = found[0].main if len(found) == 1 else None
        if main is None:
            return None
        path = str(Path(folder, main))
        return replace(self._member(path), program=program)

    def read(self, member: Member) -> MemberFiles:
        """Read the configuration and all that it includes; executes nothing.

        Raises:
            AdapterError: A file is not there, cannot be read or understood; says file and line.
        """
        return read_files(member)

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what is in force: what the files say, and in a seat whether php-fpm takes them."""
        survey = survey_of_files(member, files)
        return survey if seat is None else checked(member, survey, seat)

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        """Return what can be set here, `NAME` or `NAME@POOL` → what it is; defaults as found."""
        if survey is None:
            return {}
        found: dict[str, KnobInfo] = {}
        scopes = dict.fromkeys(["", *(scope_of(p, pool_names(survey)) for p in pool_names(survey))])
        for name, knob in KNOBS.items():
            for scope in scopes:
                reading = survey.reading(name, scope)
                level = level_of(knob.info, reading.text) if reading else None
                if level is not None:
                    scoped = f"{name}@{scope}" if scope else name
                    found[scoped] = replace(knob.info, name=scoped, default=level)
        return found

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return the smallest change of their files that puts these values in force. Pure.

        Raises:
            AdapterError: A value cannot be set here, or contradicts another; says the rule.
        """
        return change_set(survey, files, values)

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return the edits that let it run in the seat: in a cell none.

        What else a copy needs stands in a configuration around theirs, which `launch` writes.
        """
        return private_edits(survey, files, seat)

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> Launch:
        """Return how the copy is started; writes its own configuration into the seat's folder.

        Raises:
            AdapterError: There is no such program, or no room.
        """
        return launched(member, survey, seat, asked, (changes, self.knobs(survey)))

    def _member(self, main: str) -> Member:
        member = Member(name="php", kind=KIND, main=main, unit=unit_of(main))
        try:
            survey = survey_of_files(member, read_files(member))
        except AdapterError:
            # What is wrong with it is said when it is read.
            return member
        return replace(member, serves=tuple(listener.address for listener in survey.listeners))
