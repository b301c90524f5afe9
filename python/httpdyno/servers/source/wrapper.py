"""Programs that only start another one: what a command line runs in the end. Pure but for files.

`env A=1 gunicorn …`, `nice -n 5 …`, `sh -c 'exec …'`, and Apache's control script.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath

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
