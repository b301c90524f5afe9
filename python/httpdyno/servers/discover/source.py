"""How a person names a server: a kind, a file, a unit, a process, an address, a command. Pure."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from httpdyno.errors import UsageError
from httpdyno.reason import because

FORMS = because("discover.forms")
"""All that a source can be, for messages."""

ALIASES = {"apache2": "apache", "httpd": "apache", "fpm": "php-fpm", "nodejs": "node"}
"""What people also call a kind."""

_MAX_PORT = 65535
_RUN = "run:"
_PHP_FPM = re.compile(r"php-?[\d.]*-?fpm-?[\d.]*")
_UNIT = re.compile(r"[\w:.\\@-]+")
_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]*|\*):(?P<port>\d+)")


@dataclass(frozen=True, slots=True)
class KindSource:
    """Whatever of a kind runs or is configured here."""

    kind: str


@dataclass(frozen=True, slots=True)
class UnitSource:
    """A systemd unit."""

    unit: str
    """With its suffix."""


@dataclass(frozen=True, slots=True)
class GroupSource:
    """What runs in a control group and in those below it."""

    path: str
    """As /proc/PID/cgroup has it, from the root of its hierarchy on."""


@dataclass(frozen=True, slots=True)
class ProcessSource:
    """A process, or the server that it belongs to."""

    pid: int


@dataclass(frozen=True, slots=True)
class AddressSource:
    """Whoever listens at an address."""

    host: str
    """Without brackets; empty: any. The whole path for a unix socket."""
    port: int
    """0 for a unix socket."""

    def __str__(self) -> str:
        if not self.port:
            return f"unix:{self.host}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class CommandSource:
    """A command that starts a server."""

    command: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, slots=True)
class FileSource:
    """A configuration file, or a program of one's own."""

    path: Path
    otherwise: CommandSource | None = None
    """What a word with blanks means where no file is called so."""


@dataclass(frozen=True, slots=True)
class ProcfileSource:
    """A line of a Procfile."""

    path: Path
    process: str
    """Empty: `web`, or the only one."""


Source = (
    KindSource
    | FileSource
    | UnitSource
    | GroupSource
    | ProcessSource
    | AddressSource
    | CommandSource
    | ProcfileSource
)


def parse_source(words: Sequence[str], folder: Path) -> Source:
    """Return what the words of a source mean; several words are a command.

    Args:
        words: As they stand on the command line, without the `--`.
        folder: What relative paths start from.

    Raises:
        UsageError: They mean nothing; says what they could be.
    """
    if len(words) > 1:
        return CommandSource(tuple(words), folder)
    word = words[0] if words else ""
    for prefix, parse in _PREFIXES.items():
        if word.startswith(prefix):
            return parse(word.removeprefix(prefix))
    return _without_prefix(word, folder)


def _without_prefix(word: str, folder: Path) -> Source:
    if address := _ADDRESS.fullmatch(word):
        return _address(word, address["host"].strip("[]"), int(address["port"]))
    name, _, process = PurePosixPath(word).name.partition(":")
    if name.startswith("Procfile"):
        return ProcfileSource(folder / word.removesuffix(f":{process}"), process)
    if len(word.split()) > 1:
        return FileSource(folder / word, _command(word, folder))
    if not word or word.isdigit() or "://" in word:
        raise _meaningless(word)
    if "/" in word or word.startswith("."):
        return FileSource(folder / word)
    if word.endswith((".service", ".socket")):
        return _unit(word)
    return KindSource(canonical_kind(word))


def _command(word: str, folder: Path) -> CommandSource | None:
    try:
        return CommandSource(tuple(shlex.split(word)), folder)
    except ValueError:  # a quote is not closed
        return None


def canonical_kind(word: str) -> str:
    """Return the kind that people call so: `php-fpm` for `php8.2-fpm`."""
    if _PHP_FPM.fullmatch(word):
        return "php-fpm"
    return ALIASES.get(word, word)


def _meaningless(word: str) -> UsageError:
    if word.isdigit():
        way_out = because("discover.a_number", number=word)
    elif "://" in word:
        way_out = because("discover.a_url")
    else:
        way_out = because("discover.expected", forms=FORMS)
    return UsageError(f"`{word}` names no server of this machine", hints=[way_out])


def _unit(name: str) -> UnitSource:
    if not _UNIT.fullmatch(name):
        raise UsageError(f"`unit:{name}` is no unit's name", hint="such as `unit:shop.service`")
    suffix = PurePosixPath(name).suffix
    is_whole = suffix in {".service", ".socket", ".scope", ".slice", ".target", ".timer"}
    return UnitSource(name if is_whole else f"{name}.service")


def _group(path: str) -> GroupSource:
    parts = path.strip("/").split("/")
    if not path.startswith("/") or parts == [""] or {"", ".", ".."} & {*parts}:
        raise UsageError(
            f"`cgroup:{path}` is no control group that a server has",
            hint="such as `cgroup:/system.slice/shop.service`, as /proc/PID/cgroup has it",
        )
    return GroupSource(f"/{'/'.join(parts)}")


def _process(text: str) -> ProcessSource:
    # More digits than any kernel gives a process would not fit into a path either.
    if not re.fullmatch(r"[0-9]{1,10}", text) or not int(text):
        raise UsageError(f"`pid:{text}` is no process id", hint="such as `pid:1234`")
    return ProcessSource(int(text))


def _socket(path: str) -> AddressSource:
    if not path.startswith(("/", "@")):
        raise UsageError(f"`unix:{path}` is no socket's path", hint="such as `unix:/run/shop.sock`")
    return AddressSource(path, 0)


def _address(word: str, host: str, port: int) -> AddressSource:
    if not 0 < port <= _MAX_PORT:
        raise UsageError(f"`{word}` has a port that cannot be", hint="ports are 1 to 65535")
    wildcards = {"*", "0.0.0.0", "::"}  # noqa: S104 - compared, not listened at
    return AddressSource("" if host in wildcards else host, port)


_PREFIXES: dict[str, Callable[[str], Source]] = {
    "unit:": _unit,
    "cgroup:": _group,
    "pid:": _process,
    "unix:": _socket,
}


def run_named(words: Sequence[str]) -> str | None:
    """Return the id of the stored run that is named as `run:ID`; None where a server is."""
    first = words[0] if len(words) == 1 else ""
    return first.removeprefix(_RUN) if first.startswith(_RUN) else None
