"""What kind of file system a folder lies on, as a process sees it."""

import posixpath
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_ESCAPED = re.compile(r"\\([0-7]{3})")
_PLACE, _BEFORE_TYPE = 4, " - "


def filesystems(folders: Iterable[str], pid: int | None = None) -> Mapping[str, str]:
    """Return folder → type, such as `tmpfs` or `nfs4`; those of which it is not known are left out.

    Args:
        folders: Absolute paths; what of one is not there yet lies where its parent does.
        pid: The process that sees them; None: as this one does.
    """
    text = ""
    with suppress(OSError):
        place = Path("/proc", "self" if pid is None else str(pid), "mountinfo")
        text = place.read_text(encoding="utf-8", errors="surrogateescape")
    mounts = parsed_mounts(text)
    found = {folder: filesystem(folder, mounts) for folder in folders}
    return {folder: kind for folder, kind in found.items() if kind}


def parsed_mounts(text: str) -> tuple[tuple[str, str], ...]:
    """Return place and type of each line of `mountinfo`, in their order."""
    found = []
    for line in text.splitlines():
        head, _, tail = line.partition(_BEFORE_TYPE)
        words, kinds = head.split(), tail.split()
        if len(words) > _PLACE and kinds:
            path = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), words[_PLACE])
            found.append((path, kinds[0]))
    return tuple(found)


def filesystem(folder: str, mounts: Iterable[tuple[str, str]]) -> str:
    """Return the type of the deepest mount that a folder lies in, of several there the last."""
    path = posixpath.normpath(folder)
    best, kind = -1, ""
    for place, each in mounts:
        is_in = place in ("/", path) or path.startswith(f"{place}/")
        if is_in and len(place) >= best:
            best, kind = len(place), each
    return kind
