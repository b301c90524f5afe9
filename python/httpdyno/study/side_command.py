"""Commands beside a server, as a study file says them: before a start, and after it."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from httpdyno.model.study import SideCommand
from httpdyno.study.command import Wrong
from httpdyno.study.target_table import SideCommandTable, SiteCommandTable

Duration = Callable[[str, str], float]

_OF_A_START = re.compile(
    r"(?<!\$)\{(?:(?:port|address|run|memory|server_user)\}|knob\.)"
    r"|\{[{%][^}]*\b(?:knob|port|address|run|memory|server_user)\b"
)
"""Placeholders that only a start has."""
NOT_OF_A_COPY = re.compile(
    r"(?<!\$)\{(?:(?:port|address|memory|server_user)\}|setting\.)"
    r"|\{[{%][^}]*\b(?:setting|port|address|memory|server_user)\b"
)
"""Placeholders of a server that the study makes: a copy listens where theirs does."""
OF_A_COPY = "a text without `{port}` and the like: a copy has `{run}`, and ports as yours"


def side_commands(
    key: str, tables: Sequence[str | SideCommandTable], duration: Duration, wrong: Wrong
) -> tuple[SideCommand, ...]:
    """Return the commands of a list of tables; none where it is one command, as a list of text.

    Raises:
        StudyFileError: Something in them makes no sense.
    """
    found = []
    for index, table in enumerate(tables):
        if isinstance(table, str):
            if not isinstance(tables[0], str):
                raise wrong(f"{key}[{index}]", table, "tables alone, or a list of text")
            continue
        if isinstance(tables[0], str) or not table.run or not table.run[0]:
            raise wrong(f"{key}[{index}].run", list(table.run), "a program first")
        timeout_s = duration(f"{key}[{index}].timeout", table.timeout)
        if table.each == "run" and any(map(_OF_A_START.search, table.run)):
            raise wrong(
                f"{key}[{index}].run", list(table.run), "`{shared}` alone where `each` is `run`"
            )
        found.append(SideCommand(run=table.run, timeout_s=timeout_s, each=table.each))
    return tuple(found)


def site_commands(
    key: str,
    tables: Sequence[SiteCommandTable],
    members: Sequence[str],
    duration: Duration,
    wrong: Wrong,
) -> tuple[SideCommand, ...]:
    """Return the commands that run in a site's copies.

    Raises:
        StudyFileError: Something in them makes no sense.
    """
    found = []
    plain = side_commands(key, tables, duration, wrong)
    for index, (table, command) in enumerate(zip(tables, plain, strict=True)):
        name = f"{key}[{index}]"
        if any(map(NOT_OF_A_COPY.search, table.run)):
            raise wrong(f"{name}.run", list(table.run), OF_A_COPY)
        if table.member and table.member not in members:
            raise wrong(f"{name}.member", table.member, f"a member: {', '.join(members)}")
        if table.folder and not PurePosixPath(table.folder).is_absolute():
            raise wrong(f"{name}.folder", table.folder, "a whole path, from `/` on")
        if table.when == "up" and (table.each == "run" or key.endswith("finish")):
            raise wrong(f"{name}.when", table.when, "`before`: no member is up then")
        found.append(
            SideCommand(
                run=command.run,
                timeout_s=command.timeout_s,
                each=command.each,
                when=table.when,
                member=table.member,
                folder=table.folder,
                user=table.user,
            )
        )
    return tuple(found)
