"""Whom a member's copies and their probes run as: nobody more than those whose word they are.

A server that a user runs is run as that user. One that root starts is root's in a copy only where
its program, its main configuration and what its command line names are root's alone to write; where
one other user may write them, it is that user's, whoever adopts it.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import PurePosixPath

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.foreign_text import reason
from httpdyno.model import Member
from httpdyno.own_ids import is_root_of_the_machine
from httpdyno.runnable import PATH, account, user_name, whom, writers_of
from httpdyno.servers.site.environment import environment_sources
from httpdyno.writers import ANYBODY, held

_ENVVARS = "envvars"
"""What a shell reads beside Debian's main file of Apache, before each start."""
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def as_own_user(member: Member) -> Member:
    """Return the member as it may be run, with the user that its copies run as.

    Raises:
        NotOursError: Several users may write what would run as root.
        AdapterError: There is no such user, or what it runs may not be looked at.
    """
    beside = str(PurePosixPath(member.main).parent / _ENVVARS) if member.main else ""
    files = chain((member.main, beside), environment_sources(member))
    words = member.command or ((member.program,) if member.program else ())
    programs = (member.program, *words[:1]) if words else ()
    user = own_user(member.user, programs, words[1:], files=files, folder=member.folder)
    return replace(member, user=user)


def own_user(
    user: str,
    programs: Sequence[str],
    arguments: Sequence[str],
    *,
    files: Iterable[str] = (),
    folder: str = "",
) -> str:
    """Return the user that something is run as; empty is root.

    Args:
        user: Whom its service or process runs as, or the study names; empty is root.
        programs: What is run; a name alone is looked for where programs are.
        arguments: Those that are files are its word too, such as a script.
        files: Others that it reads before it is anybody else.
        folder: Where it runs, and finds modules.

    Raises:
        NotOursError: Several users may write what would run as root.
        AdapterError: There is no such user, or a file may not be looked at.
    """
    if not is_root_of_the_machine() or (user and account(user)[0]):
        return user
    writers: dict[int, str] = {}
    named = ""
    try:
        for name in filter(None, programs):
            path = _placed(name, folder) if "/" in name else shutil.which(name, path=PATH)
            named = named or path or name
            if path and os.path.exists(path):  # noqa: PTH110 - any text is asked
                writers = {**writers_of(path), **writers}
            elif path:
                writers = {**_writers(path), **writers}
        for path in filter(None, (*files, *_files_of(arguments, folder))):
            writers = {**_writers(path), **writers}
        if folder.startswith("/"):
            writers = {**_writers(folder), **writers}
    except OSError as error:
        raise AdapterError(
            f"whose word `{error.filename or named}` is cannot be seen: {reason(error)}"
        ) from error
    least = whom(named or next(iter(writers.values()), folder), writers)
    return user_name(least) if least else user


def _files_of(arguments: Sequence[str], folder: str) -> list[str]:
    """Return the files that arguments name, `server.js` or `--config=/etc/shop.toml`."""
    words = [word.partition("=")[2] if word.startswith("-") else word for word in arguments]
    paths = [_placed(word, folder) for word in words if word]
    return [path for path in paths if os.path.isfile(path)]  # noqa: PTH113 - any text is asked


def _placed(path: str, folder: str) -> str:
    return os.path.join(folder or "/", path)  # noqa: PTH118 - `..` stays as it is


def _writers(path: str) -> dict[int, str]:
    """Return who may write a file or a folder; of what is not there, who may put it there."""
    try:
        with held(path) as each:
            info = each.info
            # Where all may add files, they may add modules that are found there.
            is_open = stat.S_ISDIR(info.st_mode) and bool(info.st_mode & stat.S_IWOTH)
            return {**each.writers, **({ANYBODY: path} if is_open else {})}
    except OSError as error:
        if error.errno not in _NOT_THERE or path == "/":
            raise
    return _writers(os.path.dirname(path) or "/")  # noqa: PTH120 - `..` stays as it is
