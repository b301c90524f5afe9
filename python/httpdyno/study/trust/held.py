"""A study's folder, read once: its digest, and a copy of the very bytes that were digested.

Whoever may write the study may change it after it was looked at. So what is run is the copy, which
is nobody else's. What the study names outside of its folder is not in it.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpdyno.errors import StudyFileError
from httpdyno.foreign_text import reason
from httpdyno.study.trust.owner import doubt_of
from httpdyno.units import format_bytes

_CHUNK_BYTES = 1 << 20
_MOST_ENTRIES = 20_000
_MOST_BYTES = 512 << 20
_MOST_TOML_BYTES = 1 << 20
_NOT_FOLLOWED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A study's folder as it was when it was read."""

    digest: str
    folder: Path
    """The copy."""
    outside: tuple[str, ...]
    """What it names outside of its folder and others may change, or by a path from its folder."""
    is_whole: bool
    """Whether the copy can be run: nothing is named by a path from the folder that leads out."""


def held(file: Path, home: Path) -> Held:
    """Copy a study's folder, and return what was copied.

    Args:
        file: The study file, by a path without links.
        home: Folder of such copies, this user's own.

    Raises:
        StudyFileError: It cannot be read, or is too large to be looked at.
    """
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="new-", dir=home))
    try:
        lines = _copied(file.parent, fresh)
        digest = hashlib.sha256("".join(lines).encode()).hexdigest()
        target = home / digest
        if not target.exists():
            with suppress(OSError):  # another process was faster
                fresh.rename(target)
        leading_out = tuple(_links_out(target, file.parent))
        named, names_out = _named_outside(target / file.name, file.parent)
    except OSError as error:
        raise StudyFileError(f"`{file.parent}` cannot be read: {reason(error)}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return Held(
        digest=digest,
        folder=target,
        outside=tuple(dict.fromkeys((*names_out, *leading_out, *named))),
        is_whole=not names_out and not leading_out,
    )


def changed_files(before: Path, after: Path) -> list[str]:
    """Return what differs between two copies, in words, sorted by name."""
    old, new = _digests(before), _digests(after)
    words = {name: "was changed" for name in old.keys() & new.keys() if old[name] != new[name]}
    words |= dict.fromkeys(new.keys() - old.keys(), "is new")
    words |= dict.fromkeys(old.keys() - new.keys(), "is gone")
    return [f"`{name}` {word}" for name, word in sorted(words.items())]


def _copied(folder: Path, into: Path) -> list[str]:
    """Copy all files of a folder; return a line of each entry, with its mode and what it holds."""
    lines: list[str] = []
    left = [_MOST_ENTRIES, _MOST_BYTES]
    for parent, folders, names, handle in os.fwalk(folder, onerror=_raised, follow_symlinks=False):
        here = Path(parent).relative_to(folder)
        folders.sort()
        for name in sorted([*folders, *names]):
            info = os.lstat(name, dir_fd=handle)
            left[0] -= 1
            target = into / here / name
            what = ""
            if stat.S_ISDIR(info.st_mode):
                target.mkdir(mode=0o700)
            elif stat.S_ISLNK(info.st_mode):
                what = os.readlink(name, dir_fd=handle)
                target.symlink_to(what)
            elif stat.S_ISREG(info.st_mode):
                what = _copied_file(name, handle, target, left)
            if left[0] < 0 or left[1] < 0:
                raise StudyFileError(
                    f"`{folder}` holds more than {_MOST_ENTRIES:,} files or "
                    f"{format_bytes(_MOST_BYTES)}, too much to look at before it is trusted",
                    hint="copy the study to a folder of your own, without what it does not need",
                )
            mode = stat.S_IFMT(info.st_mode) | info.st_mode & 0o777
            lines.append(f"{mode:o} {here / name!s}\0{what}\0".encode().hex() + "\n")
    return sorted(lines)


def _raised(error: OSError) -> None:
    raise error


def _copied_file(name: str, folder: int, target: Path, left: list[int]) -> str:
    """Copy a file and return its digest, of what was copied."""
    digest = hashlib.sha256()
    with os.fdopen(os.open(name, _NOT_FOLLOWED, dir_fd=folder), "rb") as source:
        info = os.fstat(source.fileno())
        if not stat.S_ISREG(info.st_mode):
            return "another"
        with target.open("xb") as copy:
            while left[1] >= 0 and (chunk := source.read(_CHUNK_BYTES)):
                left[1] -= len(chunk)
                digest.update(chunk)
                copy.write(chunk)
    # Readable by the servers of a run where it was by all; never set-user-ID.
    target.chmod(0o600 | info.st_mode & 0o755)
    return digest.hexdigest()


def _digests(folder: Path) -> dict[str, str]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            found[f"{path.relative_to(folder)}"] = os.readlink(path)  # noqa: PTH115 - as it stands
        elif path.is_file():
            with path.open("rb") as file:
                text = hashlib.file_digest(file, "sha256").hexdigest()
            found[f"{path.relative_to(folder)}"] = f"{path.stat().st_mode:o} {text}"
    return found


def _links_out(copy: Path, folder: Path) -> Iterator[str]:
    """Yield links that lead out of the folder: from there, or to where others may write."""
    for path in copy.rglob("*"):
        if not path.is_symlink():
            continue
        text = os.readlink(path)  # noqa: PTH115 - as it stands
        where = path.parent.relative_to(copy)
        target = Path(os.path.normpath(folder / where / text))
        is_out = not target.is_relative_to(folder)
        if is_out and (not text.startswith("/") or _is_doubted(target)):
            yield f"{where / path.name} → {text}"


def _named_outside(file: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Return which absolute paths a study file names that others may change, and which `../…`."""
    named, out = [], []
    for text in _texts(file):
        if text.startswith("/") and len(text) > 1:
            if _is_doubted(Path(text)) and not Path(text).is_relative_to(folder):
                named.append(text)
        elif text.split("/")[0] == "..":
            out.append(text)
    return named, out


def _is_doubted(path: Path) -> bool:
    try:
        real = path.resolve(strict=True)
        return bool(real.is_file() and doubt_of(real)) or bool(
            real.is_dir() and len(real.parts) > 2 and doubt_of(real)  # noqa: PLR2004 - as /tmp
        )
    except (OSError, ValueError, RuntimeError):
        return False


def _texts(file: Path) -> Iterator[str]:
    """Yield all texts of a study file; none of one that cannot be read, which is said later."""
    try:
        with file.open("rb") as source:
            raw = tomllib.loads(source.read(_MOST_TOML_BYTES).decode())
    except (OSError, ValueError, RecursionError):
        return
    left: list[Any] = [raw]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
