"""Procfiles: a line for each kind of process, `web: COMMAND`. Pure."""

import re
import shlex
from collections.abc import Mapping

from httpdyno.errors import AdapterError

_LINE = re.compile(r"(?P<name>[A-Za-z0-9_-]+)\s*:\s*(?P<command>.+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
_VARIABLE = re.compile(
    r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<name>[A-Za-z_]\w*)(?::?-(?P<default>[^${}]*))?\})"
)
_PORT = "5000"
"""What `PORT` is where nobody says it. Source: foreman(1), OPTIONS, `--port`."""


def procfile_command(
    text: str, process: str, path: str, variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the command of a process, an argument each; a shell's where only that works it out.

    Numbers of variables are put into it. Other values may be secrets, which a study does not store.

    Args:
        text: The file's.
        process: Its name; empty: `web`, or the only one.
        path: Where it stands, for messages.
        variables: What is set where it is started.

    Raises:
        AdapterError: There is no such line, or it cannot be split into arguments.
    """
    lines = _commands(text)
    if not process and len(lines) == 1:
        [process] = lines
    command = lines.get(process or "web")
    if command is None:
        known = ", ".join(f"`{each}`" for each in lines) or "nothing"
        raise AdapterError(
            f"`{path}` has no process `{process or 'web'}`", hint=f"it has {known}; say {path}:NAME"
        )
    command = _VARIABLE.sub(lambda found: _filled(found, variables), command)
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AdapterError(f"`{path}` has a line that cannot be split: {command}") from error
    if words[:1] == ["exec"]:
        words = words[1:]
    # What a shell is needed for is left to a shell, as whoever runs Procfiles does.
    needs_shell = any(mark in command for mark in ("&&", "||", ";", "|", ">", "<", "`", "$"))
    if needs_shell or (words and _ASSIGNMENT.fullmatch(words[0])):
        return ("sh", "-c", command)
    return tuple(words)


def variables_in(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the variables that are left to a shell."""
    found = (_VARIABLE.finditer(word) for word in command)
    return tuple(dict.fromkeys(one["plain"] or one["name"] for each in found for one in each))


def _filled(found: re.Match[str], variables: Mapping[str, str]) -> str:
    name = found["plain"] or found["name"]
    usual = found["default"] or (_PORT if name == "PORT" else "")
    value = variables.get(name) or usual
    return value if value and (value == usual or value.isdecimal()) else found[0]


def _commands(text: str) -> dict[str, str]:
    lines = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {line["name"]: line["command"] for line in lines if line}
