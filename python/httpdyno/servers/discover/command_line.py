"""What a command line runs in the end: wrappers, Procfiles, sockets that others open. Pure.

- Wrappers only start another program: `env A=1 gunicorn …`, `nice -n 5 …`, `sh -c 'exec …'`, and
  Apache's control script.
- Procfiles have a line for each kind of process, `web: COMMAND`.
- Of servers whose sockets systemd or a supervisor opens: nobody hands a copy a socket, so it is
  told on its command line to open the same ones.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.option_words import option, with_values

_WITH_VALUE: dict[str, frozenset[str]] = {
    "env": frozenset({"-u", "--unset", "-C", "--chdir"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "ionice": frozenset({"-c", "-n", "--class", "--classdata"}),
    "chrt": frozenset({"-T", "-P", "-D"}),
    "taskset": frozenset(),
    "numactl": frozenset({"-m", "-N", "-C", "-i", "-p"}),
    "nohup": frozenset(),
    "setsid": frozenset(),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "time": frozenset({"-o", "-f"}),
    "exec": frozenset({"-a"}),
}
"""Wrappers, and those of their options whose value is a word of its own."""
_WORDS_BEFORE = {"chrt": 1, "taskset": 1}
"""How many words of theirs stand before the command."""
_SHELLS = frozenset({"sh", "dash", "bash", "ash", "ksh", "zsh"})
_SHELL_OPTION = re.compile(r"-[a-z]*c")
_ASSIGNS = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_OF_SHELLS = re.compile(r"[;&|<>`$()*?\[\]{}~\n\\]")
"""What only a shell can work out."""
_CONTROL = re.compile(r"(?:apachectl|apache2ctl)(?:-(?P<instance>[\w.-]+))?")
_ACTIONS = frozenset({"-k", "start", "startssl", "restart", "graceful", "stop", "graceful-stop"})
_MOST = 8
"""Wrappers in each other."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wrapped:
    """A command line without what it is wrapped in."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the wrappers set."""


def unwrapped(command: Sequence[str], variables: Mapping[str, str]) -> Wrapped:
    """Return what a command line runs in the end; itself where it is wrapped in nothing.

    Args:
        command: Program and arguments.
        variables: Those of its service, which a control script looks at.
    """
    words, environment = list(command), dict[str, str]()
    for _ in range(_MOST):
        inner = _once(words, environment)
        if not inner:
            break
        words = inner
    return Wrapped(
        command=_of_control(words, {**variables, **environment}), environment=environment
    )


def _once(words: Sequence[str], environment: dict[str, str]) -> list[str]:
    """Return the command without its outermost wrapper; empty where there is none."""
    name = PurePosixPath(words[0]).name if words else ""
    if name in _SHELLS:
        return _of_shell(words[1:], environment)
    if name not in _WITH_VALUE:
        return []
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--":
            break
        if option in _WITH_VALUE[name] and rest:
            rest.pop(0)
    rest = rest[_WORDS_BEFORE.get(name, 0) :]
    return _assigned(rest, environment) if name == "env" else rest


def _of_shell(words: Sequence[str], environment: dict[str, str]) -> list[str]:
    """Return the one command that a shell is told to run; empty where it works something out."""
    if len(words) != 2 or not _SHELL_OPTION.fullmatch(words[0]) or _OF_SHELLS.search(words[1]):  # noqa: PLR2004 - option and text
        return []
    with suppress(ValueError):
        return _assigned(shlex.split(words[1]), environment)
    return []


def _assigned(words: Sequence[str], environment: dict[str, str]) -> list[str]:
    rest = list(words)
    while rest and (found := _ASSIGNS.fullmatch(rest[0])):
        environment[found[1]] = found[2]
        rest.pop(0)
    return rest


def _of_control(words: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return what Apache's control script starts, in place of the script."""
    found = _CONTROL.fullmatch(PurePosixPath(words[0]).name) if words else None
    if found is None:
        return tuple(words)
    kept = [word for word in words[1:] if word not in _ACTIONS]
    folder = str(PurePosixPath(words[0]).parent) if "/" in words[0] else "/usr/sbin"
    if os.path.isfile(f"{folder}/httpd"):  # noqa: PTH113
        return (f"{folder}/httpd", *kept)
    instance = f"-{found['instance']}" if found["instance"] else ""
    root = variables.get("APACHE_CONFDIR") or f"/etc/apache2{instance}"
    return (f"{folder}/apache2", "-d", root, *kept)


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


_GUNICORN = ("-b", "--bind")
_UVICORN = ("--fd", "--uds", "--host", "--port")


def is_handed(member: Member) -> bool:
    """Whether its command says that its socket is one that somebody else has opened."""
    return member.kind == "uvicorn" and bool(option(member.command, "--fd"))


def activated(member: Member, addresses: Sequence[str]) -> Member | None:
    """Return a member that opens by itself what systemd opens for it; None: nobody knows how.

    Args:
        member: As its unit starts it.
        addresses: Of the sockets, `ip:port` or `unix:/path`.
    """
    if member.kind == "gunicorn":
        words = with_values(member.command, lambda _: None, *_GUNICORN)
        words += [word for each in addresses for word in ("--bind", each)]
        return structs.replace(member, command=tuple(words))
    if member.kind == "uvicorn" and len(addresses) == 1:
        words = with_values(member.command, lambda _: None, *_UVICORN)
        host, _, port = addresses[0].rpartition(":")
        path = addresses[0].removeprefix("unix:")
        is_tcp = path == addresses[0]
        words += ["--host", host.strip("[]"), "--port", port] if is_tcp else ["--uds", path]
        return structs.replace(member, command=tuple(words))
    return None
