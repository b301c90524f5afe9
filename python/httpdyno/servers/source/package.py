"""Which version a program's file is of, as those who installed it wrote down; it is not run."""

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

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
