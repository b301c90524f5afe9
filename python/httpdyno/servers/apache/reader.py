"""Reading a member's configuration from disk: its files, and what of them nobody may read."""

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import Member
from httpdyno.servers.apache.directive import Directive
from httpdyno.servers.apache.include import Files, Held
from httpdyno.servers.apache.lines import words
from httpdyno.servers.apache.overrides import files_below_roots
from httpdyno.servers.apache.tls import tls_files
from httpdyno.servers.apache.variables import (
    envvars_file,
    own_variables,
    written_variables,
)
from httpdyno.servers.apache.walk import Walked, walked
from httpdyno.servers.apache.where import options, server_root
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.their_files import TheirFiles

_LARGEST_BYTES = 4 << 20
CERTIFICATES = frozenset(
    {
        "sslcertificatefile",
        "sslcertificatekeyfile",
        "sslcertificatechainfile",
        "sslcacertificatefile",
        "sslproxymachinecertificatefile",
        *("sslcadnrequestfile", "sslproxycacertificatefile", "sslproxymachinecertificatechainfile"),
        "sslsessionticketkeyfile",
    }
)
"""Directives that name what only root may read, often; Apache does not start without."""
_PAGES = {"documentroot": 0, "alias": 1}
"""Directives that name a folder of pages, and which of their words does."""


def read_files(member: Member) -> MemberFiles:
    """Read the main file, all that it includes, Debian's `envvars` and the `.htaccess` files.

    Raises:
        AdapterError: A file is not there or cannot be read; says file and line.
    """
    read, main = TheirFiles(user=member.user), member.main
    if not main:
        raise AdapterError("its main file is not known", hint="Name that instead: `/etc/…conf`.")
    envvars = envvars_file(member)
    if os.path.isfile(envvars):  # noqa: PTH113 - of a text
        _read(read, envvars)
    walk = walk_of(member, {**read.texts}, read)
    unreadable = dict.fromkeys(_unreadable(walk.directives, walk.server_root))
    looked = files_below_roots(walk.directives, walk.server_root)
    unreadable |= dict.fromkeys(looked.unseen)
    for file in looked.files:
        try:
            read.content(file, limit_bytes=_LARGEST_BYTES)
        except (OSError, AdapterError):
            unreadable[file] = None
    return MemberFiles(
        # The main file first.
        texts={main: read.texts[main], **read.texts},
        real=read.real,
        rights=read.rights,
        unreadable=tuple(unreadable),
        tls=tls_files(walk.directives, walk.server_root),
        patterns=tuple(dict.fromkeys(walk.patterns)),
        served=tuple(dict.fromkeys(_served(walk))),
    )


def walk_of(member: Member, texts: dict[str, bytes], files: Files | None = None) -> Walked:
    """Take a member's configuration apart as text; from what was read, or from disk.

    Raises:
        AdapterError: As `read_files`.
    """
    said = options(member.command[1:])
    envvars = texts.get(envvars_file(member), b"").decode("utf-8", errors="replace")
    return walked(
        member.main,
        files or Held(texts),
        server_root=member.prefix or said.prefix or server_root(member.main),
        variables={**own_variables(member), **written_variables(envvars, member)},
        defines=said.defines,
    )


def _served(walk: Walked) -> Iterator[str]:
    for each in walk.directives:
        given = words(each.arguments)
        if (name := each.name.lower()) in _PAGES and len(given) > _PAGES[name]:
            yield posixpath.join(walk.server_root, given[_PAGES[name]])


def _read(read: TheirFiles, path: str) -> None:
    try:
        read.content(path, limit_bytes=_LARGEST_BYTES)
    except OSError as error:
        raise AdapterError(
            f"`{path}` cannot be read: {reason(error)}", hint="Run it again with `sudo`."
        ) from error


def _unreadable(directives: list[Directive], root: str) -> list[str]:
    named = [
        posixpath.join(root, given[0])
        for d in directives
        if d.name.lower() in CERTIFICATES and (given := words(d.arguments))
    ]
    return [path for path in named if not _is_absent(path) and not os.access(path, os.R_OK)]


def _is_absent(path: str) -> bool:
    try:
        Path(path).stat()
    except PermissionError:
        return False
    except (OSError, ValueError):  # the latter of a name that no file can have
        return True
    return False
