"""Where distributions put php-fpm, its configuration and the ini files of the PHP in it.

What is compiled into the program is not asked here, since reading executes nothing: the folders
are those that Debian, RHEL, Alpine, the packages of Remi Collet and the images of Docker have.
"""

import os
import re
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

from httpdyno.host.foreign_files import is_there, read_regular
from httpdyno.model import Member

MAINS = (
    "/etc/php/*/fpm/php-fpm.conf",
    "/etc/php-fpm.conf",
    "/etc/php[0-9]*/php-fpm.conf",
    "/etc/opt/remi/php*/php-fpm.conf",
    "/usr/local/etc/php-fpm.conf",
)
_LARGEST_BYTES = 128 << 20
"""Of a program: php-fpm is some 15 MiB."""
_PROGRAM_FOLDERS = "/usr/sbin:/usr/local/sbin:/usr/bin:/sbin"
_VERSION = re.compile(rb"X-Powered-By: PHP/(\d+\.\d+\.\d+)")
_TITLE = re.compile(r"php-fpm: master process \((.+)\)\s*")
_NAME = re.compile(r"php-?fpm-?\d*(\.\d+)?")


def mains() -> tuple[str, ...]:
    """Return the main configuration files that are in the usual places."""
    return tuple(
        str(path)
        for pattern in MAINS
        for path in sorted(Path("/").glob(pattern.removeprefix("/")))
        if is_there(path)
    )


def ini_places(main: str, program: str) -> tuple[tuple[str, str], ...]:
    """Return where `php.ini` and the folder of further ini files may be, the likeliest first.

    The place is compiled into the program, wherever its main configuration file may be.
    """
    found = [_by_program(program), _by_main(main)]
    return tuple(dict.fromkeys(place for place in found if place))


def _by_program(program: str) -> tuple[str, str] | None:
    path = os.path.realpath(program)
    if debian := re.search(r"/php-fpm(\d+\.\d+)$", path):
        folder = f"/etc/php/{debian[1]}/fpm"
        return f"{folder}/php.ini", f"{folder}/conf.d"
    if remi := re.match(r"/opt/remi/(php\d+)/", path):
        return f"/etc/opt/remi/{remi[1]}/php.ini", f"/etc/opt/remi/{remi[1]}/php.d"
    if alpine := re.search(r"/php-fpm(\d+)$", path):
        return f"/etc/php{alpine[1]}/php.ini", f"/etc/php{alpine[1]}/conf.d"
    if path.startswith("/usr/local/"):
        return "/usr/local/etc/php/php.ini", "/usr/local/etc/php/conf.d"
    return None


def _by_main(main: str) -> tuple[str, str]:
    folder = str(PurePosixPath(main).parent)
    if folder == "/etc" or folder.startswith("/etc/opt/remi/"):
        return f"{folder}/php.ini", f"{folder}/php.d"
    if folder == "/usr/local/etc":
        return f"{folder}/php/php.ini", f"{folder}/php/conf.d"
    return f"{folder}/php.ini", f"{folder}/conf.d"


def program_of(member: Member) -> str:
    """Return the program that a member runs; empty where none is found."""
    if member.program:
        return member.program
    if member.command:
        return shutil.which(member.command[0], path=_PROGRAM_FOLDERS) or member.command[0]
    for name in _program_names(member.main):
        found = shutil.which(name, path=_PROGRAM_FOLDERS)
        if found:
            return found
    # Debian's have their version in their name: the newest.
    versioned = [p for p in Path("/usr/sbin").glob("php-fpm[0-9]*") if version_numbers(p.name)[0]]
    return str(max(versioned, key=lambda path: version_numbers(path.name))) if versioned else ""


def _program_names(main: str) -> tuple[str, ...]:
    if debian := re.match(r"/etc/php/(\d+\.\d+)/fpm/", main):
        return (f"php-fpm{debian[1]}",)
    if remi := re.match(r"/etc/opt/remi/(php\d+)/", main):
        return (str(PurePosixPath("/opt/remi", remi[1], "root", "usr/sbin/php-fpm")),)
    if alpine := re.match(r"/etc/php(\d+)/", main):
        return (f"php-fpm{alpine[1]}", "php-fpm")
    return ("php-fpm",)


def unit_of(main: str) -> str:
    """Return the systemd unit of the package that a main configuration file is of; else empty."""
    debian = re.match(r"/etc/php/(\d+\.\d+)/fpm/", main)
    remi = re.match(r"/etc/opt/remi/(php\d+)/", main)
    if debian:
        return f"php{debian[1]}-fpm.service"
    if remi:
        return f"{remi[1]}-php-fpm.service"
    return "php-fpm.service" if main == "/etc/php-fpm.conf" else ""


@lru_cache(maxsize=8)
def version_in(program: str) -> str:
    """Return PHP's version as it stands in the program's file, such as `8.2.29`; else empty."""
    try:
        match = _VERSION.search(read_regular(program, limit_bytes=_LARGEST_BYTES))
    except OSError:
        return ""
    return match[1].decode() if match else ""


def version_numbers(line: str) -> tuple[int, int]:
    """Return major and minor version of a version line; zeros where it has none."""
    match = re.search(r"(\d+)\.(\d+)", line)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def is_program(path: str) -> bool:
    """Whether a program's name is one that php-fpm has."""
    return bool(_NAME.fullmatch(PurePosixPath(path).name))


def main_of_arguments(arguments: Sequence[str]) -> str | None:
    """Return the main configuration file of a master process; None where it names none.

    A running master has written its title over its arguments.
    """
    for argument in arguments:
        if title := _TITLE.fullmatch(argument):
            return title[1]
    return option_of(arguments, "-y", "--fpm-config")


def option_of(arguments: Sequence[str], short: str, long: str) -> str | None:
    """Return the value of an option of a command line; None where it is not there."""
    for position, argument in enumerate(arguments):
        if argument in {short, long} and position + 1 < len(arguments):
            return arguments[position + 1]
        for beginning in (f"{long}=", short):
            if argument.startswith(beginning) and len(argument) > len(beginning):
                return argument.removeprefix(beginning)
    return None
