"""Procfiles: a line for each kind of process, `web: COMMAND`. Pure."""

import re
import shlex

from httpdyno.errors import AdapterError

_LINE = re.compile(r"(?P<name>[A-Za-z0-9_-]+)\s*:\s*(?P<command>.+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")


def procfile_command(text: str, process: str, path: str) -> tuple[str, ...]:
    """Return the command of a process, an argument each; variables stay as they stand there.

    Args:
        text: The file's.
        process: Its name; empty: `web`, or the only one.
        path: Where it stands, for messages.

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
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AdapterError(f"`{path}` has a line that cannot be split: {command}") from error
    if words[:1] == ["exec"]:
        words = words[1:]
    # What a shell is needed for is left to a shell, as whoever runs Procfiles does.
    needs_shell = any(mark in command for mark in ("&&", "||", ";", "|", ">", "<", "`", "$("))
    if needs_shell or (words and _ASSIGNMENT.fullmatch(words[0])):
        return ("sh", "-c", command)
    return tuple(words)


def _commands(text: str) -> dict[str, str]:
    lines = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return {line["name"]: line["command"] for line in lines if line}
