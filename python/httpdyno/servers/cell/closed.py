"""Folders that a configuration includes files of by wildcards: what is added later is not seen.

The names in such a folder are those of the moment at which the files were read. So it is made anew
for each copy, from these files and from what matches no pattern.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate

_MAGIC = re.compile(r"[*?\[]")
_ALL = "*"
_DEEPEST = 16

Closed = dict[str, Callable[[str], bool]]
"""Folder, without links on the way → whether one of its names is shown."""


def closed_folders(patterns: Iterable[str], files: Iterable[str]) -> Closed:
    """Return the folders that keep their names.

    Args:
        patterns: Absolute; one that ends in `/` stands for all below it.
        files: What they were found to include, as it is opened.
    """
    known = set(files)
    above = {each for path in known for each in _folders(path)}
    parts: dict[str, dict[str, set[str]]] = {}
    for pattern in patterns:
        for folder, part in _wild(pattern, above):
            parts.setdefault(os.path.realpath(folder), {}).setdefault(folder, set()).add(part)
    return {
        real: _keeper(opened, known | above)
        for real, opened in parts.items()
        if os.path.isdir(real)  # noqa: PTH112 - of a text
    }


def _keeper(opened: dict[str, set[str]], known: set[str]) -> Callable[[str], bool]:
    """Return whether a name is shown: it is known, or no pattern has it, by any way to it."""
    likes = [
        (folder.rstrip("/"), [re.compile(translate(part.replace("[^", "[!"))) for part in parts])
        for folder, parts in opened.items()
    ]

    def is_kept(name: str) -> bool:
        return all(
            f"{folder}/{name}" in known or not any(like.match(name) for like in each)
            for folder, each in likes
        )

    return is_kept


def _wild(pattern: str, above: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each folder in which names are matched, and by what."""
    if pattern.endswith("/"):
        yield from _all_below(pattern.rstrip("/") or "/", above, _DEEPEST)
        return
    found = [""]
    parts = pattern.split("/")[1:]
    for n, part in enumerate(parts):
        if not _MAGIC.search(part):
            found = [f"{path}/{part}" for path in found]
            continue
        for path in found:
            yield path or "/", part
        like = re.compile(translate(part.replace("[^", "[!"))).match
        inner = [
            each
            for each in sorted(above)
            if os.path.dirname(each) in {path or "/" for path in found}  # noqa: PTH120
            and like(os.path.basename(each))  # noqa: PTH119
        ]
        if n == len(parts) - 1:
            for each in inner:
                yield from _all_below(each, above, _DEEPEST)
        found = inner


def _all_below(folder: str, above: set[str], depth: int) -> Iterator[tuple[str, str]]:
    """Yield a folder that is included as a whole, and those in it that something was read of."""
    yield folder, _ALL
    if depth:
        for each in sorted(above):
            if os.path.dirname(each) == folder and each != folder:  # noqa: PTH120
                yield from _all_below(each, above, depth - 1)


def _folders(path: str) -> Iterator[str]:
    while (path := os.path.dirname(path)) not in {"", "/"}:  # noqa: PTH120
        yield path
