"""Which files an `Include` names, in the order that Apache reads them; on disk, or of a copy."""

import os
import posixpath
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Protocol

_WILD = re.compile(r"[*?\[]")


class Files(Protocol):
    """Where a configuration is read from."""

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; empty where it is none."""

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""

    def is_there(self, path: str) -> bool:
        """Whether there is anything."""

    def content(self, path: str) -> bytes:
        """Return a file's bytes.

        Raises:
            OSError: It is not there, or cannot be read.
        """


class Held:
    """Files that were read before."""

    def __init__(self, texts: Mapping[str, bytes]) -> None:
        self._texts = texts
        self._names: dict[str, set[str]] = {}
        for path in texts:
            below = path
            while below not in {"", "/"}:
                folder, name = posixpath.split(below)
                self._names.setdefault(folder, set()).add(name)
                below = folder

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; empty where it is none."""
        return list(self._names.get(posixpath.normpath(folder), ()))

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return posixpath.normpath(path) in self._names

    def is_there(self, path: str) -> bool:
        """Whether there is anything."""
        return path in self._texts or self.is_folder(path)

    def content(self, path: str) -> bytes:
        """Return a file's bytes."""
        if path not in self._texts:
            raise FileNotFoundError(path)
        return self._texts[path]


def is_pattern(path: str) -> bool:
    """Whether a path has a wildcard: then it may name nothing."""
    return bool(_WILD.search(path))


def included(path: str, files: Files) -> list[str]:
    """Return the files of an absolute path, which may be a folder or have wildcards.

    A folder stands for all files below it; names are in the order of their bytes; a leading dot is
    matched by a dot alone. What has no wildcard is returned whether it is there or not.
    """
    if not is_pattern(path):
        return _below(path, files)
    found = [""]
    *folders, last = [part for part in path.split("/") if part]
    for part in folders:
        hits = [hit for folder in found for hit in _matching(folder, part, files)]
        found = [hit for hit in hits if files.is_folder(hit)]
    hits = [hit for folder in found for hit in _matching(folder, last, files)]
    return [file for hit in hits for file in _below(hit, files)]


def _matching(folder: str, part: str, files: Files) -> list[str]:
    if not _WILD.search(part):
        return [f"{folder}/{part}"] if files.is_there(f"{folder}/{part}") else []
    names = [
        name
        for name in files.names(folder or "/")
        if fnmatchcase(name, part) and (part.startswith(".") or not name.startswith("."))
    ]
    return [f"{folder}/{name}" for name in sorted(names, key=os.fsencode)]


def _below(path: str, files: Files) -> list[str]:
    if not files.is_folder(path):
        return [path]
    bare = path.rstrip("/")
    names = sorted(files.names(path), key=os.fsencode)
    return [file for name in names for file in _below(f"{bare}/{name}", files)]
