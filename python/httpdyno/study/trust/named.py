"""What a study file names outside of its folder, and others may change: no copy holds that.

Of all texts those parts count that can be paths. Not what a run only writes or connects to: what
it writes is a copy's own.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from httpdyno.study.trust.links import Names, leads_to
from httpdyno.study.trust.owner import doubt_of_named

_MOST_TOML_BYTES = 1 << 20
_BETWEEN = re.compile(r"[\s:=;,'\"`()<>|&]+")
"""As in `--config=/srv/a.py`, `/opt/a:/opt/b`, `sh -c 'exec /srv/a'`."""
_OPTION = re.compile(r"^(@|-[A-Za-z])(?=\.{0,2}/)")
"""As in `-I/srv/lib`, `-f../a`, `@/srv/body`."""
_NOT_READ = {
    *(("title",), ("about",), ("book_figure",)),
    *((table, key) for table in ("knobs", "candidates") for key in ("title", "why")),
    *(("site", key) for key in ("writes", "doors", "listener", "caveats")),
    ("site", "members", "serves"),
    *(
        ("workload", table, key)
        for table in ("first", "requests")
        for key in ("path", "headers", "form", "objects")
    ),
}
"""Prose; folders that a copy writes in, on its own; addresses that it connects to or serves; what
is asked of a server."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Named:
    """What a study file names that a copy of its folder does not hold."""

    doubted: tuple[str, ...]
    """Absolute paths that others may change, or put something at."""
    live: tuple[str, ...]
    """Paths by which a run of the copy would read the folder itself, or what is beside the copy."""


def named_outside(file: Path, folder: PurePosixPath, links: Mapping[Names, str]) -> Named:
    """Return what a study file names outside of its copy.

    Args:
        file: The copy of the study file.
        folder: The folder that was copied, by a path without links.
        links: Of the copy, those that lead to somewhere in it.
    """
    doubted, live = [], []
    for path in dict.fromkeys(_paths(file)):
        if path.startswith("/"):
            real, doubt = doubt_of_named(Path(path))
            if real.is_relative_to(folder):
                live.append(path)
            elif doubt:
                doubted.append(path)
        elif not _is_inside(links, folder, path):
            live.append(path)
    return Named(doubted=tuple(doubted), live=tuple(live))


def _is_inside(links: Mapping[Names, str], folder: PurePosixPath, path: str) -> bool:
    try:
        leads_to(links, folder, (), path)
    except ValueError:
        return False
    return True


def _paths(file: Path) -> Iterator[str]:
    for text in _texts(file):
        for part in dict.fromkeys((text, *map(_without_option, _BETWEEN.split(text)))):
            if "\0" not in part and (".." in part if part[:1] != "/" else part.strip("/")):
                yield part


def _without_option(word: str) -> str:
    return _OPTION.sub("", word)


def _texts(file: Path) -> Iterator[str]:
    """Yield all texts of a study file; none of one that cannot be read, which is said later.

    Whatever `study.file` reads must be read here.
    """
    try:
        with file.open("rb") as source:
            raw = tomllib.loads(source.read(_MOST_TOML_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return
    left: list[tuple[Names, Any]] = [((), raw)]
    while left:
        keys, value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            below = (((*keys, key), each) for key, each in value.items())
            left += [(names, each) for names, each in below if names not in _NOT_READ]
        elif isinstance(value, list):
            left += [(keys, each) for each in value]
