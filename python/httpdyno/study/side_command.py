"""Commands beside a server, as a study file says them: before a start, and after it."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from httpdyno.model.side_command import SideCommand
from httpdyno.study.command import Wrong

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


def check_commands(key: str, commands: Sequence[str | SideCommand], wrong: Wrong) -> None:
    """Refuse commands that make no sense; a list of text is one command.

    Raises:
        StudyFileError: With the key.
    """
    for index, each in enumerate(commands):
        if isinstance(each, str):
            if not isinstance(commands[0], str):
                raise wrong(f"{key}[{index}]", each, "tables alone, or a list of text")
            continue
        if isinstance(commands[0], str) or not each.run or not each.run[0]:
            raise wrong(f"{key}[{index}].run", list(each.run), "a program first")
        if each.each == "run" and any(map(_OF_A_START.search, each.run)):
            expected = "`{shared}` alone where `each` is `run`"
            raise wrong(f"{key}[{index}].run", list(each.run), expected)


def check_site_commands(
    key: str, commands: Sequence[SideCommand], members: Sequence[str], wrong: Wrong
) -> None:
    """Refuse commands that cannot run in a site's copies.

    Raises:
        StudyFileError: With the key.
    """
    check_commands(key, commands, wrong)
    for index, each in enumerate(commands):
        name = f"{key}[{index}]"
        if any(map(NOT_OF_A_COPY.search, each.run)):
            raise wrong(f"{name}.run", list(each.run), OF_A_COPY)
        if each.member and each.member not in members:
            raise wrong(f"{name}.member", each.member, f"a member: {', '.join(members)}")
        if each.folder and not PurePosixPath(each.folder).is_absolute():
            raise wrong(f"{name}.folder", each.folder, "a whole path, from `/` on")
        if each.when == "up" and (each.each == "run" or key.endswith("finish")):
            raise wrong(f"{name}.when", each.when, "`before`: no member is up then")
