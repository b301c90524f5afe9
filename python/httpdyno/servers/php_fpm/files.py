"""Reading a member's files from disk: php-fpm's own, and the ini files of the PHP in it."""

import fnmatch
import os
import posixpath
import re
from collections.abc import Iterable

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import Member
from httpdyno.servers.link import is_kernels
from httpdyno.servers.php_fpm.configuration import (
    INCLUDE,
    PoolConfiguration,
    matching,
    pool_configuration,
)
from httpdyno.servers.php_fpm.ini import Entry, parsed
from httpdyno.servers.php_fpm.installation import ini_places, option_of, program_of
from httpdyno.servers.php_fpm.php_ini import IniConfiguration, ini_configuration
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.their_files import TheirFiles

_PREFIX = "/usr"
"""Compiled into the packages of Debian and RHEL; `-p` is another one."""
_DEEPEST = 5
_WILD = re.compile(r"[*?\[]")


def prefix_of(member: Member) -> str:
    """Return what relative paths of its configuration start from."""
    return member.prefix or option_of(member.command, "-p", "--prefix") or _PREFIX


def read_files(member: Member) -> MemberFiles:
    """Read the configuration and all that it includes.

    Raises:
        AdapterError: A file is not there, cannot be read or understood; says file and line.
    """
    read = TheirFiles(user=member.user)
    patterns: dict[str, None] = {}
    _read_included(member.main, prefix_of(member), read, patterns, 0)
    # Whoever wrote a file that it does not understand is told now.
    pool_configuration(read.texts, member.main, prefix=prefix_of(member))
    inis, folder = _ini_paths(member, read)
    for path in inis:
        _content(path, read)
    patterns |= {f"{folder}/*.ini": None} if folder else {}
    return MemberFiles(
        texts=read.texts, real=read.real, rights=read.rights, patterns=tuple(patterns)
    )


def pools_of(member: Member, files: MemberFiles) -> PoolConfiguration:
    """Return what php-fpm's own files say.

    Raises:
        AdapterError: A file is missing or not understood; says file and line.
    """
    return pool_configuration(files.texts, member.main, prefix=prefix_of(member))


def ini_of(member: Member, files: MemberFiles) -> IniConfiguration:
    """Return what the ini files say.

    Raises:
        AdapterError: A line is not understood; says file and line.
    """
    return ini_configuration(files.texts, *_ini_place(member, files.texts))


def _ini_place(member: Member, paths: Iterable[str]) -> tuple[str, str]:
    known = set(paths)
    folders = {posixpath.dirname(path) for path in known if path.endswith(".ini")}
    places = ini_places(member.main, program_of(member))
    if named := option_of(member.command, "-c", "--php-ini"):
        is_file = named in known or named.endswith(".ini")
        places = ((named if is_file else posixpath.join(named, "php.ini"), places[0][1]),)
    for php_ini, folder in places:
        if php_ini in known or folder in folders:
            return php_ini, folder
    return places[0]


def _read_included(
    file: str, prefix: str, read: TheirFiles, patterns: dict[str, None], depth: int
) -> None:
    if file in read.texts or depth > _DEEPEST:
        return
    for item in parsed(_content(file, read), file=file, by_line=True):
        if isinstance(item, Entry) and item.name == INCLUDE and item.index is None:
            pattern = posixpath.join(prefix, item.text)
            if _WILD.search(pattern):
                patterns[pattern] = None
            for found in _on_disk(pattern, read):
                _read_included(found, prefix, read, patterns, depth + 1)


def _on_disk(pattern: str, read: TheirFiles) -> list[str]:
    """Return the files that a pattern matches, as `matching` would among known paths."""
    *folders, last = (part for part in pattern.split("/") if part)
    found = [""]
    for part in folders:
        found = [path for path in _named(found, part, read) if read.is_folder(path)]
    paths = [path for path in _named(found, last, read) if _is_file(path)]
    return matching(pattern, dict.fromkeys(paths, b""))


def _named(folders: Iterable[str], part: str, read: TheirFiles) -> list[str]:
    if not _WILD.search(part):
        return [f"{folder}/{part}" for folder in folders]
    is_like = re.compile(fnmatch.translate(part)).match
    return [f"{f}/{name}" for f in folders for name in read.names(f or "/") if is_like(name)]


def _ini_paths(member: Member, read: TheirFiles) -> tuple[list[str], str]:
    """Return the ini files, and the folder of which all are read; empty where there is none."""
    found: list[str] = []
    places = ini_places(member.main, program_of(member))
    candidates = [p for php_ini, folder in places for p in (php_ini, *_in_folder(folder, read))]
    php_ini, folder = _ini_place(member, [p for p in candidates if _is_file(p)])
    if _is_file(php_ini):
        found.append(php_ini)
    return [*found, *_in_folder(folder, read)], folder


def _in_folder(folder: str, read: TheirFiles) -> list[str]:
    names = [name for name in read.names(folder) if name.endswith(".ini")]
    return sorted(path for name in names if _is_file(path := f"{folder}/{name}"))


def _is_file(path: str) -> bool:
    return os.path.isfile(path) and not is_kernels(path)  # noqa: PTH113 - of a text


def _content(file: str, read: TheirFiles) -> bytes:
    try:
        return read.content(file)
    except FileNotFoundError as error:
        raise AdapterError(f"`{file}` is not there") from error
    except OSError as error:
        raise AdapterError(
            f"`{file}` cannot be read: {reason(error)}",
            hint="Run it as a user who may read the server's configuration, such as with `sudo`.",
        ) from error
