"""Whom a member's copies and their probes run as: nobody more than those whose word they are.

A server that a user runs is run as that user. One that root starts is root's in a copy only where
its program, its main configuration and what its command line names are root's alone to write; where
one other user may write them, it is that user's, whoever adopts it.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import PurePosixPath

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import names_in, opened_regular
from httpdyno.host.foreign_text import reason
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.host.runnable import PATH, account, user_name, whom, writers_at, writers_of
from httpdyno.model import Member
from httpdyno.servers.stack.environment import environment_sources, readable_variables

_ENVVARS = "envvars"
"""What a shell reads beside Debian's main file of Apache, before each start."""
_SEPARATORS = re.compile("[:,]")
"""Between folders, as in `--pythonpath=/srv/a,/srv/b`."""
_LEADS_THERE = re.compile(r"--(?!.*(?:te?mp|cache|log|upload))|-[CIdp]|-cp|-classpath")
"""Options that may name a folder in which programs are found, unlike `--worker-tmp-dir`."""
_SCRIPT = re.compile(r"\.(?:pyc?|[cm]?[jt]s|rb|ru|pl|psgi|php|lua|jar)$")
_RUN_IN_FOLDER = frozenset({"__main__.py", "index.js", "package.json"})
"""Whoever is given a folder with one of these instead of a script runs that."""


def as_own_user(member: Member) -> Member:
    """Return the member as it may be run, with the user that its copies run as.

    Raises:
        NotOursError: Several users may write what would run as root.
        AdapterError: There is no such user, or what it runs may not be looked at.
    """
    files = [member.main]
    if member.main:
        folder = PurePosixPath(member.main).parent
        files += [str(folder / _ENVVARS), str(folder)]  # relative includes are found there
    sources = chain(files, environment_sources(member))
    words = member.command or ((member.program,) if member.program else ())
    programs = (member.program, *words[:1]) if words else ()
    user = own_user(
        member.user,
        programs,
        words[1:],
        files=sources,
        folder=member.folder,
        found_by=readable_variables(member).get("PATH", PATH),
    )
    return replace(member, user=user)


def own_user(  # noqa: PLR0913 - what a start is made of
    user: str,
    programs: Sequence[str],
    arguments: Sequence[str],
    *,
    files: Iterable[str] = (),
    folder: str = "",
    found_by: str = PATH,
) -> str:
    """Return the user that something is run as; empty is root.

    Args:
        user: Whom its service or process runs as, or the study names; empty is root.
        programs: What is run; a name alone is looked for where programs are.
        arguments: Those that are files are its word too, such as a script.
        files: Others that it reads before it is anybody else, and folders in which it finds them.
        folder: Where it runs, and finds modules.
        found_by: The folders in which its programs are looked for.

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
            path = _placed(name, folder) if "/" in name else shutil.which(name, path=found_by)
            named = named or path or name
            if path and os.path.exists(path):  # noqa: PTH110 - any text is asked
                writers = {**writers_of(path), **writers}
            elif path:
                writers = {**writers_at(path), **writers}
        for path in filter(None, (*files, *_named(arguments, folder))):
            writers = {**writers_at(path), **writers}
        if folder.startswith("/"):
            writers = {**writers_at(folder), **writers}
    except OSError as error:
        raise AdapterError(
            f"whose word `{error.filename or named}` is cannot be seen: {reason(error)}"
        ) from error
    least = whom(named or next(iter(writers.values()), folder), writers)
    return user_name(least) if least else user


def _named(arguments: Sequence[str], folder: str) -> Iterator[str]:
    """Yield the files that arguments name, and the folders in which more is found.

    As `server.js` with its folder, `--config=/etc/shop.py`, `-c/etc/shop.py`, `--chdir /srv/shop`.
    """
    option = ""
    for word in arguments:
        is_option = word.startswith("-")
        name, _, value = word.partition("=")
        option = name if is_option else option
        values = [value, "" if word.startswith("--") else word[2:]] if is_option else [word]
        for each in dict.fromkeys(e for v in values for e in (v, *_SEPARATORS.split(v)) if e):
            path = _placed(each, folder)
            if os.path.isfile(path):  # noqa: PTH113 - any text is asked
                yield path
                if not is_option and _is_script(path):
                    yield os.path.dirname(os.path.realpath(path))  # noqa: PTH120
            elif os.path.isdir(path) and (  # noqa: PTH112
                _LEADS_THERE.match(option) or not _RUN_IN_FOLDER.isdisjoint(names_in(path))
            ):
                yield path
        option = option if is_option else ""


def _is_script(path: str) -> bool:
    """Whether a file is a script, which looks for others where it stands."""
    if _SCRIPT.search(path):
        return True
    with suppress(OSError), opened_regular(path) as file:
        return file.read(2) == b"#!"
    return False


def _placed(path: str, folder: str) -> str:
    return os.path.join(folder or "/", path)  # noqa: PTH118 - `..` stays as it is
