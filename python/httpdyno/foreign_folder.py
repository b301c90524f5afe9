"""A folder that others may write to, or to one above it: found by its path, and the same one later.

Who may write there can put a link in its place that leads to what only the reader may read, root
for one. So of the links that are on the way at first those are followed that an administrator or
this user made, and those of others that lead to folders of their own, whose files they could have
put where the link is. Later none is followed, and only the folder that was found is opened.

The paths of another process begin with `/proc/PID/root`, and their links lead within that: the
kernel would follow an absolute one from our own root.

Source: the rule is that of `CHASE_SAFE` (systemd, src/basic/chase.c, `unsafe_transition`) and of
`protected_symlinks` (Linux, Documentation/admin-guide/sysctl/fs.rst), for links in any folder.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_HOLD = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_ROOT = re.compile(r"/proc/\d+/root(?=/|$)")
_MOST_LINKS = 40
"""As the kernel follows: path_resolution(7)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignFolder:
    """A folder that was found."""

    root: str
    """What its path begins with: `/`, or what another process sees as that."""
    names: tuple[str, ...]
    """Of the folders from there to it, none of which was a link."""
    identity: tuple[int, int]
    """Its device and inode."""
    is_roots: bool = False
    """Whether nobody but root could put anything in it when it was found."""

    @classmethod
    def found(cls, path: Path | str) -> "ForeignFolder":
        """Return the folder at a path.

        Raises:
            OSError: There is none, or a link on the way is not to be followed.
        """
        whole = os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - `..` stays as it is
        mounts = _ROOT.match(whole)
        root = mounts[0] if mounts else "/"
        try:
            names = _led(root, whole.removeprefix(root).split("/"))
            with _held(root, names) as handle:
                return cls(
                    root=root,
                    names=names,
                    identity=_identity(handle),
                    is_roots=_is_roots(os.fstat(handle)),
                )
        except ValueError as error:  # a NUL
            raise OSError(errno.EINVAL, "no folder can have such a name", repr(whole)) from error

    @contextmanager
    def held(self) -> Iterator[int]:
        """Give a descriptor of it, by which nothing but the way from it can be opened.

        Raises:
            OSError: It is not there any more: there is nothing, a link on the way, or another one.
        """
        with _held(self.root, self.names) as handle:
            if _identity(handle) != self.identity:
                raise OSError(errno.ESTALE, "another folder took its place", "/".join(self.names))
            yield handle

    def opened(self, name: str) -> BinaryIO:
        """Open a regular file in it for reading, never through a link and never waiting.

        Raises:
            OSError: As `held`; or the file cannot be opened, or is none.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with self.held() as folder:
            handle = os.open(name, flags, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", name)
        return os.fdopen(handle, "rb")


def _led(root: str, parts: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the folders that a path leads through once its links are followed."""
    trusted = {0, os.geteuid(), Path("/").stat().st_uid}
    names: tuple[str, ...] = ()
    rest: list[str | int] = [*reversed(parts)]
    n_links = 0
    while rest:
        part = rest.pop()
        if isinstance(part, int):  # here a link of that user's leads to
            if _owner(root, names) != part:
                raise PermissionError(errno.EPERM, "another user's link", "/".join(names))
        elif part == "..":
            names = names[:-1]
        elif part not in {"", "."}:
            link = _link(root, names, part)
            if link is None:
                names = (*names, part)
                continue
            target, owner = link
            n_links += 1
            if n_links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part)
            rest += [] if owner in trusted else [owner]
            rest += reversed(target.split("/"))
            names = () if target.startswith("/") else names
    return names


def _link(root: str, names: Sequence[str], name: str) -> tuple[str, int] | None:
    """Return where a link leads and whose it is; None of what is none."""
    with _held(root, names) as folder:
        handle = os.open(name, _HOLD, dir_fd=folder)
        try:
            info = os.fstat(handle)
            if not stat.S_ISLNK(info.st_mode):
                return None
            # Of the link that is held: another may have taken its place.
            return os.readlink("", dir_fd=handle), info.st_uid
        finally:
            os.close(handle)


def _owner(root: str, names: Sequence[str]) -> int:
    with _held(root, names) as handle:
        return os.fstat(handle).st_uid


def _is_roots(folder: os.stat_result) -> bool:
    return folder.st_uid == 0 and not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _identity(handle: int) -> tuple[int, int]:
    info = os.fstat(handle)
    return info.st_dev, info.st_ino


@contextmanager
def _held(root: str, names: Sequence[str]) -> Iterator[int]:
    """Give a descriptor of a folder to which no link leads."""
    # What a process sees as `/` is a link, which only the kernel makes.
    handle = os.open(root, _HOLD & ~os.O_NOFOLLOW | os.O_DIRECTORY)
    try:
        for name in names:
            below = os.open(name, _HOLD | os.O_DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)
