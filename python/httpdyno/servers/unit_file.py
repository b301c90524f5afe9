"""A systemd unit's own text and its drop-ins: how its service is started. Pure.

Only what stands in the text: specifiers that the text itself answers are filled in, variables of
its environment are not. Their values are nobody's business but a start's (`unit_variables`).
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

_PREFIXES = "@-:+!"
"""What may stand before a program of `ExecStart`."""

_LISTS = frozenset({"ExecStart", "Environment", "EnvironmentFile", "PassEnvironment"})
"""Settings that add up until an empty one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitFacts:
    """How a service is started, and what bounds it."""

    name: str
    files: tuple[str, ...] = ()
    """The unit file and its drop-ins, in the order that they are read."""
    command: tuple[str, ...] = ()
    """Of its last `ExecStart`; variables as they stand there."""
    user: str = ""
    group: str = ""
    folder: str = ""
    environment_names: tuple[str, ...] = ()
    environment_files: tuple[str, ...] = ()
    """Without those that may be missing and are."""
    limits: tuple[tuple[str, str], ...] = ()
    """Such as (`LimitNOFILE`, `65536`), as they stand there."""
    has_reload: bool = False
    needs_daemon_reload: bool = False
    """Its files were changed since systemd read them."""
    main_pid: int = 0
    """0 where nobody says it."""


_LIMITS = ("LimitNOFILE", "LimitNPROC", "MemoryMax", "MemoryHigh", "CPUQuota", "TasksMax")


def unit_facts(name: str, texts: Sequence[tuple[str, str]]) -> UnitFacts:
    """Return what the files of a unit say together.

    Args:
        name: The unit's, with its suffix.
        texts: Path and content of the unit file, then of its drop-ins in their order.
    """
    settings = _settings(text for _, text in texts)
    commands = [_command(line) for line in settings.get("ExecStart", [])]
    names = [*_variables(settings, name)]
    names += [word for line in settings.get("PassEnvironment", []) for word in line.split()]
    return UnitFacts(
        name=name,
        files=tuple(path for path, _ in texts),
        command=tuple(_filled(word, name) for word in (commands[-1] if commands else ())),
        user=_filled(_last(settings, "User"), name),
        group=_filled(_last(settings, "Group"), name),
        folder=_filled(_last(settings, "WorkingDirectory").lstrip("-"), name),
        environment_names=tuple(dict.fromkeys(names)),
        environment_files=tuple(
            _filled(line, name) for line in settings.get("EnvironmentFile", [])
        ),
        limits=tuple((each, _last(settings, each)) for each in _LIMITS if _last(settings, each)),
        has_reload=bool(_last(settings, "ExecReload"))
        or _last(settings, "Type") == "notify-reload",
    )


def unit_variables(name: str, texts: Iterable[str]) -> dict[str, str]:
    """Return the variables that a unit's own text gives its service, with their values.

    Args:
        name: The unit's, with its suffix.
        texts: The unit file, then its drop-ins in their order.
    """
    return _variables(_settings(texts), name)


def _variables(settings: Mapping[str, list[str]], name: str) -> dict[str, str]:
    words = (word for line in settings.get("Environment", []) for word in _words(line))
    pairs = (word.partition("=") for word in words if "=" in word)
    return {variable: _filled(value, name) for variable, _, value in pairs}


def environment_file(text: str) -> dict[str, str]:
    """Return the variables of an environment file, as systemd reads it."""
    found = {}
    for line in text.splitlines():
        name, separator, value = line.strip().partition("=")
        if separator and name and not name.startswith(("#", ";")):
            found[name.strip()] = _unquoted(value.strip())
    return found


def _unquoted(value: str) -> str:
    try:
        return "".join(shlex.split(value)) if value[:1] in "'\"" else value
    except ValueError:
        return value


def drop_in_folders(name: str) -> tuple[str, ...]:
    """Return the names of the folders with drop-ins for a unit, the most general one first."""
    stem, suffix = _stem_and_suffix(name)
    prefix, at, _ = stem.partition("@")
    folders = [f"{suffix.removeprefix('.')}.d"]
    # `foo-bar.service` also has those of `foo-.service`.
    pieces = prefix.split("-")
    folders += [f"{'-'.join(pieces[:k])}-{suffix}.d" for k in range(1, len(pieces))]
    if at:
        folders.append(f"{prefix}@{suffix}.d")
    return (*folders, f"{name}.d")


def template_of(name: str) -> str:
    """Return the file that an instance is made from: `shop@.service`; empty if it is none."""
    stem, suffix = _stem_and_suffix(name)
    prefix, at, instance = stem.partition("@")
    return f"{prefix}@{suffix}" if at and instance else ""


def _stem_and_suffix(name: str) -> tuple[str, str]:
    suffix = PurePosixPath(name).suffix
    return name.removesuffix(suffix), suffix


def _settings(texts: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        section = ""
        for line in _lines(text):
            if line.startswith("["):
                section = line
            elif section == "[Service]" and "=" in line:
                name, _, value = (part.strip() for part in line.partition("="))
                kept = found.get(name, []) if name in _LISTS and value else []
                found[name] = [*kept, value] if value else []
    return found


def _lines(text: str) -> Iterable[str]:
    """Yield whole lines: continued ones put together, comments left out also between those."""
    whole = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(("#", ";")) or (not stripped and not whole):
            continue
        if stripped.endswith("\\"):
            whole += f"{stripped[:-1]} "
            continue
        yield whole + stripped
        whole = ""
    if whole:
        yield whole


def _last(settings: dict[str, list[str]], name: str) -> str:
    values = settings.get(name, [])
    return values[-1] if values else ""


def _command(line: str) -> tuple[str, ...]:
    words = _words(line)
    if not words:
        return ()
    first = words[0].lstrip(_PREFIXES)
    has_own_name = "@" in words[0][: len(words[0]) - len(first)]
    # After `@` the second word is what the program is told to be called.
    rest = words[2:] if has_own_name else words[1:]
    with suppress(ValueError):
        rest = rest[: rest.index(";")]  # a second command of the same line
    return (first, *rest)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # a quote that is never closed
        return line.split()


def _filled(text: str, name: str) -> str:
    """Return a text with the specifiers that the unit's own name answers."""
    if "%" not in text:
        return text
    stem, _ = _stem_and_suffix(name)
    prefix, _, instance = stem.partition("@")
    values = {"n": name, "N": stem, "p": prefix, "i": instance, "I": instance, "%": "%"}
    values["j"] = prefix.rpartition("-")[2]
    return re.sub("%(.)", lambda found: values.get(found[1], found[0]), text)
