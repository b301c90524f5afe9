"""Where Apache is found on a machine: main files, roots, programs, what its command line says."""

import os
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from httpdyno.host.foreign_files import opened_regular
from httpdyno.model import Member

USUAL = (
    ("/etc/apache2/apache2.conf", "apache2.service"),
    ("/etc/httpd/conf/httpd.conf", "httpd.service"),
    ("/etc/apache2/httpd.conf", "apache2.service"),
    ("/usr/local/apache2/conf/httpd.conf", ""),
)
"""Main files of Debian, RHEL, Alpine and the project's own build, with their services."""
PROGRAMS = frozenset({"apache2", "httpd", "httpd2", "httpd-prefork", "httpd-worker", "httpd-event"})
_MAIN_NAMES = frozenset({"apache2.conf", "httpd.conf", "httpd2.conf"})
_WITH_VALUE = frozenset({"-f", "-d", "-C", "-c", "-D", "-e", "-E", "-k"})
_OUR_DEFINES = frozenset({"FOREGROUND", "NO_DETACH", "ONE_PROCESS", "DEBUG"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a command line of Apache says."""

    main: str = ""
    prefix: str = ""
    defines: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The options that a copy needs, too: `-D`, `-c` and `-C` with their values."""


def options(arguments: Sequence[str]) -> Options:
    """Return what arguments of Apache, without the program, say."""
    main = prefix = ""
    defines: list[str] = []
    kept: list[str] = []
    at = 0
    while at < len(arguments):
        option, value = arguments[at][:2], arguments[at][2:]
        at += 1
        if option in _WITH_VALUE and not value and at < len(arguments):
            value = arguments[at]
            at += 1
        if option == "-f":
            main = value
        elif option == "-d":
            prefix = value
        elif option == "-D" and value not in _OUR_DEFINES:
            defines.append(value)
        if option in {"-c", "-C"} or (option == "-D" and value not in _OUR_DEFINES):
            kept += [option, value]
    return Options(main=main, prefix=prefix, defines=tuple(defines), kept=tuple(kept))


def main_of(program: str, said: Options, folder: str) -> str:
    """Return the main file of a process: as it was told, else as packages compile it in."""
    if said.main:
        return posixpath.join(said.prefix or folder, said.main)
    if said.prefix:
        names = [f"{said.prefix}/apache2.conf", f"{said.prefix}/conf/httpd.conf"]
    else:
        names = [main for main, _ in USUAL]
    if PurePosixPath(program).name == "apache2":
        names = [name for name in names if name.endswith("apache2.conf")] or names
    return next((name for name in names if os.path.isfile(name)), names[0])  # noqa: PTH113


def server_root(main: str) -> str:
    """Return the folder that relative paths start from, as packages compile it in.

    A `ServerRoot` in the file itself comes before it.
    """
    folder = PurePosixPath(main).parent
    return str(folder.parent if folder.name == "conf" else folder)


def looks_like_main(path: str) -> bool:
    """Whether a file is a main configuration file of Apache, by its name or what it says."""
    file = Path(path)
    if file.name in _MAIN_NAMES:
        return True
    try:
        with opened_regular(file) as opened:
            start = opened.read(1 << 20).lower()
    except OSError:
        return False
    lines = [line.split(None, 1)[0] for line in start.splitlines() if line.strip()]
    marks = {b"loadmodule", b"serverroot", b"documentroot", b"<virtualhost", b"<directory"}
    is_theirs = b"listen" in lines and len(marks & set(lines)) > 0
    # nginx and PHP-FPM have a `listen`, too, but close a line by `;` or set it by `=`.
    return is_theirs and not any(line.rstrip().endswith(b";") for line in start.splitlines())


def members_here() -> tuple[Member, ...]:
    """Return a member for each usual main file that is there."""
    found = [(main, unit) for main, unit in USUAL if Path(main).is_file()]
    return tuple(Member(name="apache", kind="apache", main=main, unit=u) for main, u in found[:1])
