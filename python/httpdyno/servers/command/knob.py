"""What can be set of any program from outside: options on its command line, known variables.

An option with a number is offered under its own name, where it stands after the first word that is
no option, or where the program is no interpreter: what comes before a script is the interpreter's.

Which variables a program looks at is not known from outside. So but for a few, a person names them:
`env.NAME`, with texts as levels, and empty where it is not set. Values of a service's variables are
nobody's to store, but for those that a person wants changed: their start stands in the study then,
beside the levels that were given.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import PurePosixPath

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import ChangeSet, KnobInfo, Level, Member, Reading, Survey, level_text
from httpdyno.model.rows import rows
from httpdyno.servers.stack.environment import own_variables
from httpdyno.servers.stack.names import variable_knob, variable_of
from httpdyno.servers.staging import INHERITED

ARGUMENT = "argument"
"""Scope of a reading that says how an option is spelled."""
VARIABLE = "variable"
"""Scope of a reading of a variable that a person named."""
_OPTION = re.compile(r"--([A-Za-z][\w.-]*)(?:=(.*))?")
_NUMBER = re.compile(r"-?\d{1,15}")
_WORD = re.compile(r"[a-z-]{0,16}")
"""What says how a program runs: `development`. Longer texts may be anything."""
_INTERPRETER = re.compile(
    r"node|nodejs|deno|bun|java|perl|php[\d.]*|python[\d.]*|pypy[\d.]*|ruby[\d.]*|sh|bash|dash|npm|npx"
)
_NEVER = frozenset({"port", "p", "bind", "listen", "pid", "uid", "gid", "fd"})
"""Where it listens, and who it is: that is no question of speed."""

NODE, GO, PHP, GLIBC = "node", "go", "php", "glibc"


class Variable(KnobInfo, frozen=True, kw_only=True):
    """A row of `settings.toml`."""

    heard_by: str
    """What must be in a program that hears it."""


VARIABLES = rows("httpdyno.servers.command", "settings.toml", Variable)
"""Variables that a program's own code need not know of."""
_ROWS = rows("httpdyno.servers.command", "found.toml", KnobInfo)
"""What an option and a variable are that nobody declared."""

_OF_COPIES = frozenset({*INHERITED, "HOME"})


def readings_of(
    command: Sequence[str],
    *,
    parts: Collection[str],
    set_already: Mapping[str, str | None] | None = None,
) -> tuple[Reading, ...]:
    """Return what a command line says of settings with numbers, and the known variables.

    Args:
        command: Program and arguments.
        parts: What is in the program that hears variables: `NODE`, `GO`, `PHP`, `GLIBC`.
        set_already: Variables of its service → their values, of which those of known variables
            alone are kept; None where one cannot be read.
    """
    # What the command itself sets, nothing from outside changes.
    known = {**(set_already or {}), **dict.fromkeys(set_by(command))}
    found = [
        Reading(name=name, scope="", text=text, evidence="read")
        for name, info in VARIABLES.items()
        if info.heard_by in parts
        if (text := known.get(name, "" if info.default is None else level_text(info.default)))
        is not None
        if _level(info, text) is not None
    ]
    words = _own_words(command)
    options = [] if _has_words_last(words) else _options(words, command)
    for name, value, spelled in options:
        found.append(Reading(name=name, scope=ARGUMENT, text=spelled))
        if name not in _NEVER:
            found.append(Reading(name=name, scope="", text=value, evidence="seen"))
    return tuple(found)


def set_by(command: Sequence[str]) -> tuple[str, ...]:
    """Return the variables that a command sets before it runs a program: `env NAME=… PROGRAM`."""
    if not command or PurePosixPath(command[0]).name != "env":
        return ()
    before = takewhile(lambda word: word.startswith("-") or "=" in word, command[1:])
    return tuple(word.partition("=")[0] for word in before if not word.startswith("-"))


def _options(words: Sequence[str], command: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the options with numbers that can be changed: name, value, spelling.

    What is changed is taken out, wherever it stands, and put at the end. So an option must be there
    once, and a value that stands apart from it must not be anything else's that is no option.
    """
    options = []
    for word, following in pairwise((*words, "")):
        option = _OPTION.fullmatch(word)
        if option is None or variable_of(option[1]):
            continue
        is_apart = option[2] is None
        value = following if is_apart else option[2]
        if _NUMBER.fullmatch(value):
            options.append((option[1], value, f"{word} {value}" if is_apart else word))
    apart = [value for _, value, spelled in options if " " in spelled]
    return [
        (name, value, spelled)
        for name, value, spelled in options
        if _count(command, f"--{name}") == 1
        and (" " not in spelled or command.count(value) == apart.count(value))
    ]


def _count(command: Sequence[str], flag: str) -> int:
    return sum(word.partition("=")[0] == flag for word in command)


def _has_words_last(words: Sequence[str]) -> bool:
    """Whether a word stands after an option and is not its value: one at the end may be lost.

    `serve --threads 4 shop` is such a one; many programs take no options after `shop`.
    """
    seen_option = False
    before = ""
    for word in words:
        is_option = word.startswith("-")
        is_value = before.startswith("-") and "=" not in before
        if not is_option and not is_value and seen_option:
            return True
        seen_option = seen_option or is_option
        before = "" if is_value else word
    return False


def knobs_of(readings: Sequence[Reading]) -> dict[str, KnobInfo]:
    """Return what can be set, with the values as found."""
    found: dict[str, KnobInfo] = {}
    for reading in readings:
        if reading.scope == VARIABLE:
            name = variable_knob(reading.name)
            found[name] = _found("variable", name, reading, reading.text)
        if reading.scope:
            continue
        if variable := VARIABLES.get(reading.name):
            level = _level(variable, reading.text)
            found[reading.name] = structs.replace(variable.bare(), default=level)
            continue
        found[reading.name] = _found("option", reading.name, reading, int(reading.text))
    return found


def _level(info: KnobInfo, text: str) -> Level | None:
    """Return a known variable's value; None where that is none of those that it may have."""
    if info.kind == "integer":
        level: Level | None = int(text) if _NUMBER.fullmatch(text) else None
    else:
        level = text if _WORD.fullmatch(text) else None
    return level if level is not None and info.takes(level) else None


def _found(kind: str, name: str, reading: Reading, start: Level) -> KnobInfo:
    row = _ROWS[kind]
    summary = row.summary.format(name=reading.name)
    return structs.replace(row, name=name, summary=summary, default=start)


def changes_of(readings: Sequence[Reading], values: Mapping[str, Level]) -> ChangeSet:
    """Return the arguments and variables that put values in force.

    Raises:
        AdapterError: There is no such setting.
    """
    known = knobs_of(readings)
    environment: dict[str, str] = {}
    changed: dict[str, str] = {}
    for name, value in values.items():
        if name not in known:
            raise AdapterError(
                f"`{name}` is nothing that can be set from outside",
                hint=f"what can: {', '.join(sorted(known))}",
            )
        if value != known[name].default:
            variable = name if name in VARIABLES else variable_of(name)
            (environment if variable else changed)[variable or name] = level_text(value)
    spelled = {each.name: each.text for each in readings if each.scope == ARGUMENT}
    removed, arguments = _moved(spelled, changed)
    return ChangeSet(arguments=arguments, removed_arguments=removed, environment=environment)


def _moved(
    spelled: Mapping[str, str], changed: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that go, and those that come at the end.

    Words go by what they are. So an option that shares its value with a changed one goes as well,
    and comes again as it was.
    """
    gone = {spelled[name].partition(" ")[2] for name in changed} - {""}
    removed: list[str] = []
    arguments: list[str] = []
    for name, text in spelled.items():
        flag, _, value = text.partition(" ")
        if name in changed and not value:
            removed.append(text)
            arguments.append(f"--{name}={changed[name]}")
        elif value in gone:
            removed += [flag, value]
            arguments += [flag, changed.get(name, value)]
    return tuple(dict.fromkeys(removed)), tuple(arguments)


def _own_words(command: Sequence[str]) -> tuple[str, ...]:
    """Return the words after the program; after the script where the program is an interpreter."""
    if not command or not _INTERPRETER.fullmatch(PurePosixPath(command[0]).name):
        return tuple(command[1:])
    for at, word in enumerate(command[1:], start=1):
        if not word.startswith("-"):
            return tuple(command[at + 1 :])
    return ()


def named_variables(member: Member, survey: Survey, names: Collection[str]) -> tuple[Reading, ...]:
    """Return a reading for each variable that was named.

    Raises:
        AdapterError: One is set elsewhere, or its value cannot be read.
    """
    for name in names:
        _check(member, survey, name)
    own = own_variables(member) if set(names) & set(member.environment_names) else {}
    return tuple(
        Reading(name=name, scope=VARIABLE, text=own.get(name, ""), evidence="seen")
        for name in dict.fromkeys(names)
    )


def _check(member: Member, survey: Survey, name: str) -> None:
    if name in VARIABLES and survey.reading(name) is not None:
        raise AdapterError(
            f"the variable `{name}` of {member.name} is a knob under its own name",
            hint=f"`--knob {member.name}:{name}=…`",
        )
    if name in _OF_COPIES:
        raise AdapterError(
            f"the variable `{name}` of {member.name} cannot be tried: copies get one of their own",
            hint="name a variable that the program alone looks at",
        )
    if name in set_by(member.command):
        raise AdapterError(
            f"the command of {member.name} sets `{name}` itself, whatever its environment has",
            hint=f"leave `{name}=…` out of the command, and give it as a level",
        )
