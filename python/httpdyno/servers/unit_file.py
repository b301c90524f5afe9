"""A systemd unit's own text and its drop-ins: how its service is started. Pure.

Only what stands in the text: specifiers that the text itself answers are filled in, and those that
are the same on every machine; variables of its environment are not. Their values are nobody's
business but a start's (`unit_variables`), and its command line's (`expanded`), which all may see.
"""

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath

_PREFIXES = "@-:+!|"
"""What may stand before a program of `ExecStart`."""
_WHOLE = re.compile(r"\$([A-Za-z_]\w*)")
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*)\}|\$\$")

_MADE = {
    "RuntimeDirectory": ("RUNTIME_DIRECTORY", "/run"),
    "StateDirectory": ("STATE_DIRECTORY", "/var/lib"),
    "CacheDirectory": ("CACHE_DIRECTORY", "/var/cache"),
    "LogsDirectory": ("LOGS_DIRECTORY", "/var/log"),
    "ConfigurationDirectory": ("CONFIGURATION_DIRECTORY", "/etc"),
}
"""Settings that name folders of a service → its variable that has them, and where they are."""
_LISTS = frozenset(
    (
        *_MADE,
        *("ExecStart", "Environment", "EnvironmentFile", "PassEnvironment", "UnsetEnvironment"),
        *("ListenStream", "Sockets"),
    )
)
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
    is_dynamic: bool = False
    """Its user is made for it when it starts, unless there is one of that name."""
    group: str = ""
    folder: str = ""
    environment_names: tuple[str, ...] = ()
    environment_files: tuple[str, ...] = ()
    """Without those that may be missing and are."""
    passed_names: tuple[str, ...] = ()
    """Variables that it has from its manager, where that has them."""
    unset_names: tuple[str, ...] = ()
    """Variables that it has not, whoever sets them."""
    folders: tuple[str, ...] = ()
    """Those that systemd makes for it, and gives to its user: `RuntimeDirectory` and the like."""
    sockets: tuple[str, ...] = ()
    """Where systemd listens for it, and hands it the sockets: `ListenStream` as it stands there."""
    socket_units: tuple[str, ...] = ()
    """The units that say so, where its own text names them."""
    limits: tuple[tuple[str, str], ...] = ()
    """Such as (`LimitNOFILE`, `65536`), as they stand there."""
    needs_daemon_reload: bool = False
    """Its files were changed since systemd read them."""
    main_pid: int = 0
    """0 where nobody says it."""


_OF_THE_SYSTEM = {
    "t": "/run",
    "S": "/var/lib",
    "C": "/var/cache",
    "L": "/var/log",
    "E": "/etc",
    "T": "/tmp",  # noqa: S108 - not written
    "V": "/var/tmp",  # noqa: S108
    "h": "/root",
    "s": "/bin/sh",
    "u": "root",
    "U": "0",
    "g": "root",
    "G": "0",
}
"""Specifiers of units of the system's own manager, which root runs."""
_TRUE = frozenset({"1", "yes", "y", "true", "t", "on"})
_LIMITS = ("LimitNOFILE", "LimitNPROC", "MemoryMax", "MemoryHigh", "CPUQuota", "TasksMax")


def unit_facts(name: str, texts: Sequence[tuple[str, str]]) -> UnitFacts:
    """Return what the files of a unit say together.

    Args:
        name: The unit's, with its suffix.
        texts: Path and content of the unit file, then of its drop-ins in their order.
    """
    settings = _settings(text for _, text in texts)
    commands = [_command(line) for line in settings.get("ExecStart", [])]
    return UnitFacts(
        name=name,
        files=tuple(path for path, _ in texts),
        command=tuple(_filled(word, name) for word in (commands[-1] if commands else ())),
        user=_filled(_last(settings, "User"), name),
        is_dynamic=_last(settings, "DynamicUser").lower() in _TRUE,
        group=_filled(_last(settings, "Group"), name),
        folder=_filled(_last(settings, "WorkingDirectory").lstrip("-"), name),
        environment_names=tuple(_variables(settings, name)),
        passed_names=tuple(w for line in settings.get("PassEnvironment", []) for w in line.split()),
        unset_names=tuple(
            word.partition("=")[0]
            for line in settings.get("UnsetEnvironment", [])
            for word in _words(line)
        ),
        environment_files=tuple(
            _filled(line, name) for line in settings.get("EnvironmentFile", [])
        ),
        folders=tuple(path for paths in _folders(settings, name).values() for path in paths),
        socket_units=tuple(
            _filled(word, name) for line in settings.get("Sockets", []) for word in line.split()
        ),
        limits=tuple((each, _last(settings, each)) for each in _LIMITS if _last(settings, each)),
    )


def socket_streams(name: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Return where a socket unit listens, as servers are told: `0.0.0.0:80`, `unix:/run/shop`."""
    said = _settings(texts, "[Socket]").get("ListenStream", [])
    return tuple(_stream(_filled(line, name)) for line in said)


def socket_service(name: str, texts: Iterable[str]) -> str:
    """Return the service that a socket unit starts."""
    said = _last(_settings(texts, "[Socket]"), "Service")
    return _filled(said, name) or f"{_stem_and_suffix(name)[0]}.service"


def _stream(text: str) -> str:
    if text.startswith(("/", "@")):
        return f"unix:{text}"
    # Alone a port is one of IPv6, which takes those of IPv4 too (systemd.socket(5)).
    return f"[::]:{text}" if text.isdigit() else text


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
    made = {variable: ":".join(paths) for variable, paths in _folders(settings, name).items()}
    return made | {variable: _filled(value, name) for variable, _, value in pairs}


def _folders(settings: Mapping[str, list[str]], name: str) -> dict[str, tuple[str, ...]]:
    """Return variable → the folders that it names, which systemd makes.

    Source: systemd.exec(5), RuntimeDirectory.
    """
    found = {}
    for setting, (variable, top) in _MADE.items():
        words = (word for line in settings.get(setting, []) for word in _words(line))
        # Behind a colon is a link that leads there.
        names = [_filled(word, name).partition(":")[0] for word in words]
        parts = [PurePosixPath(each).parts for each in names]
        paths = [f"{top}/{'/'.join(e)}" for e in parts if e and ".." not in e and e[0] != "/"]
        if paths:
            found[variable] = tuple(paths)
    return found


def expanded(command: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return a command line with its variables as systemd puts them in.

    `$NAME` as a word of its own becomes the words of its value, `${NAME}` its value; what nobody
    sets is empty. Source: systemd.service(5), Command Lines.
    """
    words: list[str] = list(command[:1])
    for word in command[1:]:
        if whole := _WHOLE.fullmatch(word):
            words += _words(variables.get(whole[1], ""))
        else:
            words.append(
                _BRACED.sub(lambda use: variables.get(use[1], "") if use[1] else "$", word)
            )
    return tuple(words)


def environment_file(text: str) -> dict[str, str]:
    """Return the variables of an environment file, as systemd reads it."""
    found = {}
    for line in _lines(text, joint=""):
        name, separator, value = line.partition("=")
        if separator and name:
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


def _settings(texts: Iterable[str], of: str = "[Service]") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        section = ""
        for line in _lines(text):
            if line.startswith("["):
                section = line
            elif section == of and "=" in line:
                name, _, value = (part.strip() for part in line.partition("="))
                kept = found.get(name, []) if name in _LISTS and value else []
                found[name] = [*kept, value] if value else []
    return found


def _lines(text: str, joint: str = " ") -> Iterable[str]:
    """Yield whole lines: continued ones put together, comments left out also between those."""
    whole = ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith(("#", ";")) or (not stripped and not whole):
            continue
        if stripped.endswith("\\"):
            whole += f"{stripped[:-1]}{joint}"
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
    """Return a text with the specifiers that the unit's own name answers, or its being a system's.

    Source: systemd.unit(5), Specifiers.
    """
    if "%" not in text:
        return text
    stem, _ = _stem_and_suffix(name)
    prefix, _, instance = stem.partition("@")
    last = prefix.rpartition("-")[2]
    values = {
        **_OF_THE_SYSTEM,
        "n": name,
        "N": stem,
        "p": prefix,
        "i": instance,
        "j": last,
        "%": "%",
        "P": _unescaped(prefix),
        "I": _unescaped(instance),
        "J": _unescaped(last),
        "f": "/" + _unescaped(instance or prefix).lstrip("/"),
        "H": os.uname().nodename,
        "l": os.uname().nodename.partition(".")[0],
        "v": os.uname().release,
    }
    return re.sub("%(.)", lambda found: values.get(found[1], found[0]), text)


def _unescaped(text: str) -> str:
    """Return a part of a unit's name as what it was made of: `a-b` for `a/b`."""
    text = text.replace("-", "/")
    return re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
