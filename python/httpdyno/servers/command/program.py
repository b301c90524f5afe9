"""Which program a command runs, what it says of its version, and how it stays in the foreground."""

import mmap
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.host.runnable import NotOursError, said_by
from httpdyno.reason import Reason, because
from httpdyno.servers.command.knob import GLIBC, GO, NODE, PHP

_HEAD_BYTES = 256
_TELLS = {
    r"node|nodejs|deno|bun|ruby|pypy3?|python\d?(?:\.\d+)?": "--version",
    r"php(?:-fpm|-cgi)?[\d.]*": "--version",
    r"gunicorn|uvicorn|postgres": "--version",
    r"perl": '-e print "perl $^V\\n"',
    r"java": "-version",
    r"caddy": "version",
    r"haproxy|nginx|httpd|apache2|squid": "-v",
}
"""Programs that are known to print their version and end, and by which argument. Others would
perhaps just start."""
_PACKAGES = {
    r"nginx": "nginx",
    r"squid": "squid",
    r"postgres": "postgresql",
    r"php-fpm[\d.]*": "php-fpm",
    r"htcacheclean": "apache2-utils",
}
"""Debian's packages of the programs that bundled studies run."""
_GO, _LIBC, _JEMALLOC = b"\xff Go buildinf:", b"libc.so.6", b"libjemalloc"
"""What stands in programs: Go's mark (debug/buildinfo), and the names of libraries with malloc."""
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(\S+))?")


def lacking(name: str) -> Reason:
    """Return that there is no such program, with Debian's package where that is known."""
    package = next((each for form, each in _PACKAGES.items() if re.fullmatch(form, name)), "")
    return because(
        "command.no_program_of_package" if package else "command.no_program",
        name=name,
        package=package,
    )


def found_program(name: str, folder: Path | None, path: str) -> Path | None:
    """Return the file that a command of this name runs; None if there is none.

    Args:
        name: The first word of the command.
        folder: Where it runs; None: nobody knows yet.
        path: Folders in which programs are, as `PATH` has them.
    """
    if "/" in name:
        if not name.startswith("/") and folder is None:
            return None
        program = (folder or Path("/")) / name
        return program if program.is_file() and os.access(program, os.X_OK) else None
    found = shutil.which(name, path=path)
    return Path(found) if found else None


def interpreter(program: Path, path: str) -> Path:
    """Return what runs a script, by its first line; a program that is none runs itself."""
    try:
        with opened_regular(program) as file:
            head = _SHEBANG.match(file.read(_HEAD_BYTES))
    except OSError:
        return program
    if head is None:
        return program
    name = os.fsdecode(head[2] if head[2] and head[1].endswith(b"/env") else head[1])
    return found_program(name, None, path) or program


def parts_of(program: Path, command: Sequence[str]) -> frozenset[str]:
    """Return what is in a program that hears variables: `NODE`, `GO`, `PHP`, `GLIBC`.

    Of one that cannot be read nothing is known but by its name; glibc is in most.
    """
    named = {NODE} if program.name in {"node", "nodejs"} else set()
    if re.fullmatch(r"php[\d.]*", program.name) and "-S" in command:
        named.add(PHP)
    try:
        with (
            opened_regular(program) as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            is_go = content.find(_GO) >= 0
            is_plain = is_go or content.find(_LIBC) < 0 or content.find(_JEMALLOC) >= 0
    except (OSError, ValueError):
        return frozenset({*named, GLIBC})
    return frozenset({*named, *([GO] if is_go else []), *([] if is_plain else [GLIBC])})


def version_of(program: Path, environment: Mapping[str, str]) -> str:
    """Return the program's own version line and its path; the path alone where it tells none."""
    argument = next(
        (tells for names, tells in _TELLS.items() if re.fullmatch(names, program.name)), None
    )
    try:
        line = _version_line(program, argument, environment) if argument else ""
    except NotOursError as error:
        return f"{program} ({error})"
    return f"{line} ({program})" if line else str(program)


def first_line(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the first line that a command says which ends in order; empty where there is none.

    Raises:
        NotOursError: It is the word of somebody who has fewer rights.
    """
    try:
        said = said_by(command, environment=environment)
    except NotOursError:
        raise
    except AdapterError:
        return ""
    lines = f"{said.output}\n{said.errors}".strip().splitlines()
    return lines[0] if lines and said.exit_code == 0 else ""


def _version_line(program: Path, argument: str, environment: Mapping[str, str]) -> str:
    flag, _, rest = argument.partition(" ")
    line = first_line([str(program), flag, *filter(None, [rest])], environment)
    # Node says no more than `v20.1.0`.
    return f"{program.name} {line}" if re.match(r"v?\d", line) else line


@dataclass(frozen=True, kw_only=True, slots=True)
class _Way:
    """What of a command line is left out, and what is put in."""

    switches: frozenset[str] = frozenset()
    with_value: frozenset[str] = frozenset()
    """Options that name the file to log to, and send it into the background by that."""
    added: tuple[str, ...] = ()


_CAPITAL = _Way(switches=frozenset({"-D", "--daemon", "--daemonize"}))
_SMALL = _Way(switches=frozenset({"-d", "--daemon", "--daemonize"}))
_WAYS = {
    **dict.fromkeys(("gunicorn", "unicorn", "rackup", "plackup", "starman", "haproxy"), _CAPITAL),
    **dict.fromkeys(("puma", "thin", "rails", "passenger", "memcached"), _SMALL),
    "uwsgi": _Way(with_value=frozenset({"-d", "--daemonize", "--daemonize2"})),
    "lighttpd": _Way(added=("-D",)),
    "hypnotoad": _Way(added=("-f",)),
    "varnishd": _Way(added=("-F",)),
    "spawn-fcgi": _Way(added=("-n",)),
}
"""By the program's name, as its own manual has it."""
_STARTED_BY = 4
"""Words of a command line among which the program may stand, behind its interpreter."""


def in_foreground(command: Sequence[str]) -> list[str]:
    """Return a command line by which its program stays in the foreground, where that is known."""
    names = [PurePosixPath(word).name for word in command[:_STARTED_BY]]
    if "caddy" in names[:1] and "start" in names:
        return ["run" if word == "start" else word for word in command]
    at, way = next(((k, _WAYS[n]) for k, n in enumerate(names) if n in _WAYS), (0, _Way()))
    words = list(command[: at + 1])
    rest = iter(command[at + 1 :])
    for word in rest:
        if word in way.with_value:
            next(rest, None)
        elif word not in way.switches and word.partition("=")[0] not in way.with_value:
            words.append(word)
    new = [word for word in way.added if word not in words]
    return [*words[: at + 1], *new, *words[at + 1 :]]
