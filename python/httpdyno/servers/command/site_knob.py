"""What can be set of any program from outside: options on its command line, known variables. Pure.

An option with a number is offered under its own name, where it stands after the first word that is
no option, or where the program is no interpreter: what comes before a script is the interpreter's.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, KnobInfo, Level, Reading, level_text

ARGUMENT = "argument"
"""Scope of a reading that says how an option is spelled."""
_OPTION = re.compile(r"--([A-Za-z][\w.-]*)(?:=(.*))?")
_NUMBER = re.compile(r"-?\d{1,15}")
_INTERPRETER = re.compile(
    r"node|nodejs|deno|bun|java|perl|php[\d.]*|python[\d.]*|pypy[\d.]*|ruby[\d.]*|sh|bash|dash|npm|npx"
)
_NEVER = frozenset({"port", "p", "bind", "listen", "pid", "uid", "gid", "fd"})
"""Where it listens, and who it is: that is no question of speed."""

VARIABLES = {
    info.name: info
    for info in (
        KnobInfo(
            name="UV_THREADPOOL_SIZE",
            summary="threads of node for files, names and cryptography",
            kind="integer",
            default=4,
            minimum=1,
            maximum=1024,
            source="nodejs.org/api/cli.html#uv_threadpool_sizesize",
            scale="log",
            cost="restart",
            evidence="seen",
        ),
        KnobInfo(
            name="MALLOC_ARENA_MAX",
            summary="most arenas of glibc's allocator; 0 is its own choice",
            kind="integer",
            default=0,
            minimum=0,
            maximum=1024,
            source="man7.org/linux/man-pages/man3/mallopt.3.html",
            scale="log",
            cost="restart",
            effect="memory",
            evidence="seen",
        ),
    )
}
"""Variables that a program itself need not know of."""
_NODE_ALONE = frozenset({"UV_THREADPOOL_SIZE"})
_UNSET_AT_0 = frozenset({"MALLOC_ARENA_MAX"})


def readings_of(command: Sequence[str], *, is_node: bool) -> tuple[Reading, ...]:
    """Return what a command line says of settings with numbers, and the known variables."""
    found = [
        Reading(name=name, scope="", text=level_text(info.default or 0))
        for name, info in VARIABLES.items()
        if is_node or name not in _NODE_ALONE
    ]
    words = _own_words(command)
    for word, following in pairwise((*words, "")):
        option = _OPTION.fullmatch(word)
        if option is None or option[1] in _NEVER:
            continue
        value = option[2] if option[2] is not None else following
        if _NUMBER.fullmatch(value):
            spelled = word if option[2] is not None else f"{word} {value}"
            found = [each for each in found if each.name != option[1]]
            found.append(Reading(name=option[1], scope="", text=value, evidence="seen"))
            found.append(Reading(name=option[1], scope=ARGUMENT, text=spelled))
    return tuple(found)


def knobs_of(readings: Sequence[Reading]) -> dict[str, KnobInfo]:
    """Return what can be set, with the values as found."""
    found: dict[str, KnobInfo] = {}
    for reading in readings:
        if reading.scope:
            continue
        found[reading.name] = VARIABLES.get(reading.name) or KnobInfo(
            name=reading.name,
            summary=f"the program's own option --{reading.name}",
            kind="integer",
            default=int(reading.text),
            source="its command line",
            cost="restart",
            evidence="seen",
        )
    return found


def changes_of(readings: Sequence[Reading], values: Mapping[str, Level]) -> ChangeSet:
    """Return the arguments and variables that put values in force.

    Raises:
        AdapterError: There is no such setting.
    """
    known = knobs_of(readings)
    spelled = {each.name: each.text for each in readings if each.scope == ARGUMENT}
    arguments: list[str] = []
    removed: list[str] = []
    environment: dict[str, str] = {}
    for name, value in values.items():
        if name not in known:
            raise AdapterError(
                f"`{name}` is nothing that can be set from outside",
                hint=f"what can: {', '.join(sorted(known))}",
            )
        if value == known[name].default:
            continue
        text = level_text(value)
        if name in VARIABLES:
            environment[name] = text
        elif "=" in spelled[name]:
            removed.append(spelled[name])
            arguments.append(f"--{name}={text}")
        else:
            # Nearly every program takes the last of two; whether this one did, it has to say.
            arguments += [f"--{name}", text]
    return ChangeSet(
        arguments=tuple(arguments), removed_arguments=tuple(removed), environment=environment
    )


def _own_words(command: Sequence[str]) -> tuple[str, ...]:
    """Return the words after the program; after the script where the program is an interpreter."""
    if not command or not _INTERPRETER.fullmatch(PurePosixPath(command[0]).name):
        return tuple(command[1:])
    for at, word in enumerate(command[1:], start=1):
        if not word.startswith("-"):
            return tuple(command[at + 1 :])
    return ()
