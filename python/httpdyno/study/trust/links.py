"""Where the links of a study's folder lead: in it, to what everybody may read, or elsewhere.

In a copy they are of whoever copied, and so followed with his rights. So none is made there that
reaches what the study's owner could not have read.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from httpdyno.study.trust.owner import doubt_of

_MOST_LINKS = 40
"""As the kernel follows: path_resolution(7)."""

_KERNELS = {"dev", "proc", "sys"}
"""Folders of files that say more to root than to others, whatever their mode."""

Names = tuple[str, ...]
"""A path below the study's folder."""


def leads_to(links: Mapping[Names, str], folder: PurePosixPath, at: Names, text: str) -> Names:
    """Return where a path leads below the folder, its links followed.

    Args:
        links: All links below the folder, by where they are.
        folder: The folder's own path, without links.
        at: Where a relative path begins.
        text: The path; an absolute one may lead into the folder.

    Raises:
        ValueError: It leads out of the folder, at its end or on its way; or in a circle.
    """
    found, n_links = [*at], 0
    left = [*reversed(_parts(folder, found, text))]
    while left:
        part = left.pop()
        if part == "..":
            if not found:
                raise ValueError(text)
            found.pop()
            continue
        found.append(part)
        if (link := links.get(tuple(found))) is not None:
            n_links += 1
            if n_links > _MOST_LINKS:
                raise ValueError(text)
            found.pop()
            left += reversed(_parts(folder, found, link))
    return tuple(found)


def written_link(links: Mapping[Names, str], folder: PurePosixPath, names: Names) -> str:
    """Return what a link says in a copy of the folder; empty where it is left out."""
    text = links[names]
    try:
        inside = leads_to(links, folder, (), "/".join(names))
    except ValueError:
        return _everybodys(Path(folder, *names[:-1], text), folder)
    if not text.startswith("/"):
        return text
    return os.path.relpath("/".join(inside) or ".", "/".join(names[:-1]) or ".")


def _parts(folder: PurePosixPath, found: list[str], text: str) -> list[str]:
    """Return the names of a path; of an absolute one those below the folder, where it begins anew.

    Raises:
        ValueError: It does not lead there.
    """
    parts = [each for each in text.split("/") if each not in {"", "."}]
    if not text.startswith("/"):
        return parts
    own = [*folder.parts[1:]]
    if parts[: len(own)] != own:
        raise ValueError(text)
    found.clear()
    return parts[len(own) :]


def _everybodys(path: Path, folder: PurePosixPath) -> str:
    """Return the path without links of a file that everybody may read and nobody else may change.

    Such as the interpreter that an environment of Python has a link to. Empty if it is another.
    """
    try:
        real = path.resolve(strict=True)
        is_open = all(each.lstat().st_mode & stat.S_IXOTH for each in real.parents)
        mode = real.lstat().st_mode
        is_read = is_open and stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)
        is_kept = is_read and real.parts[1] not in _KERNELS and not real.is_relative_to(folder)
        is_kept = is_kept and not doubt_of(real)
    except (OSError, ValueError, RuntimeError):
        return ""
    return str(real) if is_kept else ""
