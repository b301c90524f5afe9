"""A study's folder, read once: its digest, and a copy of the very bytes that were digested.

Whoever may write the study may change it after it was looked at. So what is run is the copy, which
is nobody else's. What the study names outside of its folder is not in it, and no link that leads
out of it: it would be followed with the rights of whoever copied.
"""

import hashlib
import os
import shutil
import stat
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from httpdyno.errors import StudyFileError
from httpdyno.host.foreign_files import held as held_path
from httpdyno.host.foreign_text import reason
from httpdyno.reason import Reason, because
from httpdyno.study.trust.links import Names, written_link
from httpdyno.study.trust.named import named_outside
from httpdyno.units import format_bytes

_CHUNK_BYTES = 1 << 20
_MOST_ENTRIES = 20_000
_MOST_BYTES = 512 << 20
_NOT_COPIED = {".git"}
_NOT_FOLLOWED = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A study's folder as it was when it was read."""

    digest: str
    folder: Path
    """The copy."""
    outside: tuple[str, ...]
    """What the study names that the copy does not hold, and others may change at any time."""
    is_whole: bool
    """Whether the copy can be run: no path that the study names leads from it to the original."""
    left_out: tuple[str | Reason, ...]
    """What is not in the copy: links that lead out of the folder, and what is no file."""
    is_new: bool
    """Whether nobody had this copy before."""


@dataclass(kw_only=True, slots=True)
class _Copying:
    """What was found in a folder on the way."""

    lines: list[str] = field(default_factory=list)
    """Of each entry, with its mode and what it holds."""
    links: dict[Names, str] = field(default_factory=dict)
    left_out: list[str | Reason] = field(default_factory=list)
    sizes: Counter[str] = field(default_factory=Counter)
    """Entries of each name in the folder itself."""
    left_bytes: int = _MOST_BYTES


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
    folder = PurePosixPath(file.parent)
    try:
        copying = _copied(file.parent, fresh)
        inside = _with_links(copying, folder, fresh)
        digest = hashlib.sha256("".join(sorted(copying.lines)).encode()).hexdigest()
        target = home / digest
        if is_new := not target.exists():
            try:
                fresh.rename(target)
            except OSError:  # another process was faster
                is_new = False
        named = named_outside(target / file.name, folder, inside)
    except OSError as error:
        raise StudyFileError(f"`{file.parent}` cannot be read: {reason(error)}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return Held(
        digest=digest,
        folder=target,
        outside=(*named.live, *named.doubted),
        is_whole=not named.live,
        left_out=tuple(copying.left_out),
        is_new=is_new,
    )


def changed_files(before: Path, after: Path) -> list[Reason]:
    """Return what differs between two copies, sorted by name."""
    old, new = _digests(before), _digests(after)
    changes = {
        name: because("study.file_changed", name=name)
        for name in old.keys() & new.keys()
        if old[name] != new[name]
    }
    changes |= {n: because("study.file_is_new", name=n) for n in new.keys() - old.keys()}
    changes |= {n: because("study.file_is_gone", name=n) for n in old.keys() - new.keys()}
    return [change for _, change in sorted(changes.items(), key=lambda item: item[0])]


def _copied(folder: Path, into: Path) -> _Copying:
    """Copy all regular files of a folder."""
    copying = _Copying()
    with held_path(folder, follow=False) as top:
        walk = os.fwalk(".", onerror=_raised, follow_symlinks=False, dir_fd=top.handle)
        for parent, folders, names, handle in walk:
            here = Path(parent)
            # No run reads how it came to be, which may be more than the rest.
            folders[:] = sorted(set(folders) - _NOT_COPIED)
            for name in sorted({*folders, *names} - _NOT_COPIED):
                _copy_entry(copying, here / name, handle, into)
                _require_not_too_much(copying, folder)
    return copying


def _copy_entry(copying: _Copying, at: Path, parent: int, into: Path) -> None:
    info = os.lstat(at.name, dir_fd=parent)
    what = ""
    if stat.S_ISDIR(info.st_mode):
        (into / at).mkdir(mode=0o700)
    elif stat.S_ISLNK(info.st_mode):
        copying.links[at.parts] = os.readlink(at.name, dir_fd=parent)
    elif stat.S_ISREG(info.st_mode):
        what = _copied_file(at.name, parent, into / at, copying)
    else:
        copying.left_out.append(because("study.is_no_file", path=str(at)))
    copying.sizes[at.parts[0]] += 1
    mode = stat.S_IFMT(info.st_mode) | info.st_mode & 0o777
    copying.lines.append(_line(mode, at, what))


def _require_not_too_much(copying: _Copying, folder: Path) -> None:
    if copying.sizes.total() <= _MOST_ENTRIES and copying.left_bytes >= 0:
        return
    ((most, n_entries),) = copying.sizes.most_common(1)
    raise StudyFileError(
        f"`{folder}` holds more than {_MOST_ENTRIES:,} files or {format_bytes(_MOST_BYTES)}, "
        "too much to look at before it is trusted"
        + f"; `{most}` alone holds {n_entries:,} files and more"
        * (n_entries > 1),
        hint="put the study file into a folder of its own, with only what it needs",
    )


def _with_links(copying: _Copying, folder: PurePosixPath, copy: Path) -> dict[Names, str]:
    """Make those links in a copy that may be followed there; return those that lead into it."""
    inside = {}
    for names, text in sorted(copying.links.items()):
        written = written_link(copying.links, folder, names)
        at = Path(*names)
        if not written:
            copying.left_out.append(f"`{at}` → {text}")
        else:
            (copy / at).symlink_to(written)
        if written and not written.startswith("/"):
            inside[names] = written
        copying.lines.append(_line(stat.S_IFLNK, at, f"{text}\0{written}"))
    return inside


def _line(mode: int, at: Path, what: str) -> str:
    return os.fsencode(f"{mode:o} {at}\0{what}\0").hex() + "\n"


def _raised(error: OSError) -> None:
    raise error


def _copied_file(name: str, folder: int, target: Path, copying: _Copying) -> str:
    """Copy a file and return its digest, of what was copied."""
    digest = hashlib.sha256()
    with os.fdopen(os.open(name, _NOT_FOLLOWED, dir_fd=folder), "rb") as source:
        info = os.fstat(source.fileno())
        if not stat.S_ISREG(info.st_mode):
            return "another"
        with target.open("xb") as copy:
            while copying.left_bytes >= 0 and (chunk := source.read(_CHUNK_BYTES)):
                copying.left_bytes -= len(chunk)
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
