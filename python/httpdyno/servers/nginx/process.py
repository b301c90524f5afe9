"""nginx's command lines: from that of a running master to a member, and that of a private copy."""

import posixpath
import re
from collections.abc import Sequence

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.nginx.build import build_of_running
from httpdyno.servers.nginx.tree import Directive, parsed

KIND = "nginx"
_PROGRAMS = frozenset({"nginx", "openresty", "angie", "freenginx"})
_TITLE = "nginx: master process"
_OTHER_TITLE = re.compile(r"nginx: (?:worker|cache|privileged|isolated)")
_OWN_DIRECTIVES = frozenset({"daemon", "master_process", "pid"})
"""Of `-g`: what a copy decides for itself."""


def member_of(main: str, *, program: str = "", prefix: str = "", folder: str = "") -> Member:
    """Return the member of a main file."""
    return Member(name=KIND, kind=KIND, main=main, program=program, prefix=prefix, folder=folder)


def member_of_process(program: str, arguments: Sequence[str], folder: str) -> Member | None:
    """Return the member that a master runs; None for anything else, also for a worker.

    nginx writes its title over its arguments, so they may be one text: `nginx: master process
    /usr/sbin/nginx -c /etc/nginx/nginx.conf`.
    """
    if posixpath.basename(program.removesuffix(" (deleted)")) not in _PROGRAMS:
        return None
    line = " ".join(arguments).strip("\0 ")
    if _OTHER_TITLE.match(line):
        return None
    line = line.removeprefix(_TITLE)
    program = program.removesuffix(" (deleted)")
    prefix = _option(line, "p")
    if prefix:
        prefix = posixpath.normpath(posixpath.join(folder, prefix))
    try:
        build = build_of_running(program, prefix)
    except AdapterError:
        return None
    if build is None:
        return None
    main = build.full(_option(line, "c") or build.options.get("--conf-path", "conf/nginx.conf"))
    return member_of(posixpath.normpath(main), program=program, prefix=prefix)


def of_command(command: Sequence[str]) -> tuple[Directive, ...]:
    """Return the directives that `-g` gives on a command line, but those that a copy decides."""
    words = list(command)
    given = [
        words[i + 1] if word == "-g" else word[2:]
        for i, word in enumerate(words)
        if word.startswith("-g") and (word != "-g" or i + 1 < len(words))
    ]
    found = [each for text in given for each in parsed(text.encode(), "-g")]
    return tuple(each for each in found if each.name not in _OWN_DIRECTIVES)


def _option(line: str, letter: str) -> str:
    match = re.search(rf"(?:^|\s)-{letter}\s*(\S+)", line)
    return match[1] if match else ""
