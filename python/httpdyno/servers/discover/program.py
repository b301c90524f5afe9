"""Servers known by their program's name alone, and the version that its package has."""

import os
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import Member

KINDS = (
    *("nginx", "apache", "php-fpm", "gunicorn", "uvicorn", "puma", "node"),
    *("caddy", "haproxy"),
)
"""What is recognised here."""

_NAMES = {
    "nginx": "nginx",
    "apache2": "apache",
    "httpd": "apache",
    "caddy": "caddy",
    "haproxy": "haproxy",
    "node": "node",
    "nodejs": "node",
    "gunicorn": "gunicorn",
    "uvicorn": "uvicorn",
    "puma": "puma",
}
_PHP_FPM = re.compile(r"php-fpm[\d.]*")
_INTERPRETER = re.compile(r"python[\d.]*|pypy[\d.]*|ruby[\d.]*")
_FPM_TITLE = re.compile(r"php-fpm: master process \((?P<main>.+)\)")
_NGINX_TITLE = re.compile(r"nginx: master process (?P<command>.+)")
_PUMA_TITLE = re.compile(r"puma (?P<version>[\d.]+) \(")
_NO_SERVERS = frozenset({"npm", "npx", "pnpm", "yarn", "npm-cli.js", "npx-cli.js", "yarn.js"})
"""What a node runs that starts a server, and is none."""

_FILE_OPTIONS = {
    "nginx": ("-c",),
    "apache": ("-f",),
    "php-fpm": ("-y", "--fpm-config"),
    "gunicorn": ("-c", "--config"),
    "puma": ("-C", "--config"),
    "caddy": ("--config", "-config"),
    "haproxy": ("-f",),
}

_FILES = {
    "nginx.conf": "nginx",
    "apache2.conf": "apache",
    "httpd.conf": "apache",
    "php-fpm.conf": "php-fpm",
    "haproxy.cfg": "haproxy",
    "Caddyfile": "caddy",
    "gunicorn.conf.py": "gunicorn",
    "puma.rb": "puma",
}

USUAL_FILES = (
    *("/etc/nginx/nginx.conf", "/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf"),
    *("/etc/haproxy/haproxy.cfg", "/etc/caddy/Caddyfile"),
)
"""Where packages put the main files; php-fpm's is named by its version."""


def plain_member(program: str, arguments: Sequence[str], folder: str) -> Member | None:
    """Return the member that a process is the root or a worker of; None where it is none known.

    Args:
        program: The file that it runs; empty where nobody may know.
        arguments: With the program's own name first; some servers write a sentence there.
        folder: Where it runs.
    """
    title = arguments[0] if arguments else ""
    for kind, pattern in (("php-fpm", _FPM_TITLE), ("nginx", _NGINX_TITLE)):
        if found := pattern.match(title):
            return _titled(kind, program, found, folder)
    words = tuple(arguments)
    kind = _kind(program, words)
    if not kind or not words or _is_worker(title):
        return None
    main = _option(words, _FILE_OPTIONS.get(kind, ()))
    return Member(
        name=kind,
        kind=kind,
        main=str(PurePosixPath(folder or "/") / main) if main else "",
        command=words,
        program=program,
        folder=folder,
    )


def plain_file(path: str) -> Member | None:
    """Return the member whose main file has this well-known name."""
    kind = _FILES.get(_base(path), "")
    return Member(name=kind, kind=kind, main=path) if kind else None


def own_command(arguments: Sequence[str], folder: str, program: str = "") -> Member:
    """Return a member of which nothing is known but its command line."""
    first = arguments[0] if arguments else program
    return Member(
        name=_base(first) or "command",
        kind="command",
        command=tuple(arguments),
        program=program,
        folder=folder,
    )


def as_command(member: Member) -> Member:
    """Return a member of a kind that nobody knows how to copy, as the command that it is.

    Raises:
        AdapterError: Nobody knows how it was started: it wrote something else over that.
    """
    if not member.command or said_version(member.command):
        raise AdapterError(
            f"how {member.name} is started is not known",
            hint=f"say it: `httpdyno adopt -- {member.name} …`, or name its unit",
        )
    return structs.replace(member, kind="command", main="")


def said_version(arguments: Sequence[str]) -> str:
    """Return the version that a server writes into its title; empty where it writes none."""
    found = _PUMA_TITLE.match(arguments[0]) if arguments else None
    return found["version"] if found else ""


def _titled(kind: str, program: str, found: re.Match[str], folder: str) -> Member:
    parts = found.groupdict()
    words = tuple(parts.get("command", "").split())
    main = parts.get("main") or _option(words, _FILE_OPTIONS[kind])
    main = str(PurePosixPath(folder or "/") / main) if main else ""
    return Member(
        name=kind, kind=kind, main=main, command=words, program=program, folder=folder or "/"
    )


def _kind(program: str, words: tuple[str, ...]) -> str:
    for name in (_base(program), _base(words[0].split(":")[0].split(" ")[0]) if words else ""):
        if _PHP_FPM.fullmatch(name):
            return "php-fpm"
        if _INTERPRETER.fullmatch(name):
            return _interpreted(words)
        if _NAMES.get(name) == "node":
            return "" if {_base(word) for word in words[:2]} & _NO_SERVERS else "node"
        if name in _NAMES:
            return _NAMES[name]
    return ""


def _interpreted(words: tuple[str, ...]) -> str:
    """Return what an interpreter runs, by its script or module."""
    if said_version(words):
        return "puma"
    if words and (title := words[0].partition(":")[0]) in {"gunicorn", "uvicorn"}:
        return title
    for k, word in enumerate(words[1:], start=1):
        if word == "-m":
            return _NAMES.get(words[k + 1], "") if k + 1 < len(words) else ""
        if not word.startswith("-"):
            return _NAMES.get(_base(word), "")
    return ""


def _is_worker(title: str) -> bool:
    # `nginx: worker process`, `php-fpm: pool www`, `gunicorn: worker [shop]`, `puma: cluster …`;
    # PM2 is the parent of servers, and none itself.
    return bool(re.match(r"nginx: |php-fpm: |gunicorn: worker|puma: |PM2 v", title))


def _option(words: Sequence[str], names: Sequence[str]) -> str:
    """Return an option's value: `-c FILE`, `-cFILE`, `--config FILE` or `--config=FILE`."""
    for word, following in pairwise((*words[1:], "")):
        for name in names:
            if word == name:
                return following
            glued = f"{name}=" if name.startswith("--") else name
            if word.startswith(glued) and (len(name) == 2 or "=" in glued):  # noqa: PLR2004
                return word.removeprefix(glued)
    return ""


def _base(path: str) -> str:
    return PurePosixPath(path).name


DPKG = Path("/var/lib/dpkg")

_N_LETTERS = 3
"""Of a program's name; a package whose own name has them not is not looked into."""
_UPSTREAM = re.compile(r"(?:\d+:)?(?P<version>[^-+~\s]+)")


def package_version(program: str, dpkg: Path = DPKG) -> str:
    """Return the upstream version of the Debian package that a program is of; empty if none is."""
    if not program:
        return ""
    package = _package(program, dpkg)
    return _version(package, dpkg) if package else ""


def python_version(kind: str, arguments: Sequence[str], folder: str) -> str:
    """Return the version of a Python server in the virtual environment that it was started from.

    Args:
        kind: Also the name of its distribution.
        arguments: Its interpreter and script; the one next to `kind`'s package is the right one.
        folder: Where it runs.
    """
    for word in arguments[:2]:
        if "/" not in word:
            continue
        library = (PurePosixPath(folder or "/") / word).parent.parent / "lib"
        for found in sorted(Path(library).glob(f"python3*/*-packages/{kind}-*-info")):
            return found.name.removeprefix(f"{kind}-").rpartition(".")[0]
    return ""


def _package(program: str, dpkg: Path) -> str:
    # Installed as /usr/sbin or as /sbin: one is often a link to the other.
    names = {program, os.path.realpath(program), program.removeprefix("/usr")}
    lines = {f"{name}\n".encode() for name in names}
    letters = PurePosixPath(program).name[:_N_LETTERS]
    for listing in sorted(dpkg.glob(f"info/*{_escaped(letters)}*.list")):
        try:
            content = b"\n" + listing.read_bytes()
        except OSError:
            continue
        if any(b"\n" + line in content for line in lines):
            return listing.name.removesuffix(".list").partition(":")[0]
    return ""


def _escaped(letters: str) -> str:
    return re.sub(r"[*?\[\]]", "?", letters)


def _version(package: str, dpkg: Path) -> str:
    try:
        status = (dpkg / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    start = f"\n{status}".find(f"\nPackage: {package}\n")
    if start < 0:
        return ""
    stanza = status[start : status.find("\n\n", start)]
    found = re.search(rf"^Version: {_UPSTREAM.pattern}", stanza, flags=re.MULTILINE)
    return found["version"] if found else ""
