"""Reading a member's files from disk: php-fpm's own, and the ini files of the PHP in it."""

import os
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.php_fpm.configuration import (
    INCLUDE,
    PoolConfiguration,
    matching,
    pool_configuration,
)
from httpdyno.servers.php_fpm.ini import Entry, parsed
from httpdyno.servers.php_fpm.installation import ini_places, option_of, program_of
from httpdyno.servers.php_fpm.php_ini import IniConfiguration, ini_configuration
from httpdyno.servers.site.adapter import MemberFiles

_PREFIX = "/usr"
"""Compiled into the packages of Debian and RHEL; `-p` is another one."""
_MAGIC = re.compile(r"[*?\[]")
_DEEPEST = 5


def prefix_of(member: Member) -> str:
    """Return what relative paths of its configuration start from."""
    return member.prefix or option_of(member.command, "-p", "--prefix") or _PREFIX


def read_files(member: Member) -> MemberFiles:
    """Read the configuration and all that it includes.

    Raises:
        AdapterError: A file is not there, cannot be read or understood; says file and line.
    """
    texts: dict[str, bytes] = {}
    patterns: dict[str, None] = {}
    _read_included(member.main, prefix_of(member), texts, patterns, 0)
    # Whoever wrote a file that it does not understand is told now.
    pool_configuration(texts, member.main, prefix=prefix_of(member))
    inis, folder = _ini_paths(member)
    for path in inis:
        texts[path] = _content(path)
    patterns |= {f"{folder}/*.ini": None} if folder else {}
    real = {path: os.path.realpath(path) for path in texts}
    return MemberFiles(
        texts=texts,
        real={p: r for p, r in real.items() if p != r},
        patterns=tuple(patterns),
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
    file: str, prefix: str, texts: dict[str, bytes], patterns: dict[str, None], depth: int
) -> None:
    if file in texts or depth > _DEEPEST:
        return
    texts[file] = _content(file)
    for item in parsed(texts[file], file=file, by_line=True):
        if isinstance(item, Entry) and item.name == INCLUDE and item.index is None:
            pattern = posixpath.join(prefix, item.text)
            if _MAGIC.search(pattern):
                patterns[pattern] = None
            for found in _on_disk(pattern):
                _read_included(found, prefix, texts, patterns, depth + 1)


def _on_disk(pattern: str) -> list[str]:
    """Return the files that a pattern matches, as `matching` would among known paths."""
    found = {str(path): b"" for path in Path("/").glob(pattern.lstrip("/")) if path.is_file()}
    return matching(pattern, found)


def _ini_paths(member: Member) -> tuple[list[str], str]:
    """Return the ini files, and the folder of which all are read; empty where there is none."""
    found: list[str] = []
    places = ini_places(member.main, program_of(member))
    candidates = [p for php_ini, folder in places for p in (php_ini, *_in_folder(folder))]
    php_ini, folder = _ini_place(member, [p for p in candidates if Path(p).is_file()])
    if Path(php_ini).is_file():
        found.append(php_ini)
    return [*found, *_in_folder(folder)], folder


def _in_folder(folder: str) -> list[str]:
    return sorted(str(path) for path in Path(folder).glob("*.ini") if path.is_file())


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except FileNotFoundError as error:
        raise AdapterError(f"`{file}` is not there") from error
    except OSError as error:
        raise AdapterError(
            f"`{file}` cannot be read: {error.strerror}",
            hint="Run it as a user who may read the server's configuration, such as with `sudo`.",
        ) from error
