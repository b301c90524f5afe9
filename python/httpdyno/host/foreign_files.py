"""Files and folders that others may change: each name is opened, looked at, and held.

Who may write to a folder on the way can put a link there that leads to what only the reader may
read, root for one, and can do so between a look and the next. So nothing is looked at by its path:
each folder is opened from the one that is held, and no link is left to the kernel. Of links those
are followed that an administrator or this user made, and those of others that lead to what is
their own, which they could have put where the link is.

The paths of another process begin with `/proc/PID/root`, and their links lead within that: the
kernel would follow an absolute one from our own root.

Everything that is read at a path somebody gave, or where others may write, goes through
`opened_regular`: opening a FIFO waits for ever, a device never ends. `ForeignFolder` is a folder
that was found once and is the same later; `NewFolder` one that this process makes and fills: all in
it is made anew below what is held, and no file that is there is written to.

Source: the rule is that of `CHASE_SAFE` (systemd, src/basic/chase.c, `unsafe_transition`) and of
`protected_symlinks` (Linux, Documentation/admin-guide/sysctl/fs.rst), for links in any folder.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from httpdyno.host.rights import is_root_of_the_machine, may_read

_HOLD = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ROOT = re.compile(r"/proc/\d+/root(?=/|$)")
_MOST_LINKS = 40
"""As the kernel follows: path_resolution(7)."""
_DEEPEST = 256
"""Folders inside folders: each is a descriptor while a path is walked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a path leads to, and what it was found in."""

    handle: int
    """Of the thing itself, by which it can be looked at and not read (`O_PATH`)."""
    folder: int
    """Of the folder that it is in; of the root itself its own."""
    root: str
    """What the path begins with: `/`, or what another process sees as that."""
    names: tuple[str, ...]
    """Of the folders from there on, none of which is a link, and its own."""

    @property
    def real(self) -> str:
        """Its path below the root, without links."""
        return f"/{'/'.join(self.names)}"

    def info(self) -> os.stat_result:
        """Return what it is, and whose."""
        return os.fstat(self.handle)

    def opened(self) -> int:
        """Open a file or a folder for reading: this one, or none.

        In another user's folder root reads what that user may read: by a name of his there (a hard
        link, something that was moved) it could be anybody's.

        Raises:
            OSError: It may not be read, or another took its place.
        """
        owner = os.fstat(self.folder).st_uid
        if owner and not may_read(self.info(), owner) and is_root_of_the_machine():
            raise PermissionError(
                errno.EACCES, "it is in the folder of a user who may not read it", self.real
            )
        return self._opened(_READ)

    def written(self) -> int:
        """Open a file for writing, as it is: this one, or none.

        Raises:
            OSError: It may not be written, or another took its place.
        """
        return self._opened(_WRITE)

    def _opened(self, flags: int) -> int:
        handle = os.open(self.names[-1] if self.names else ".", flags, dir_fd=self.folder)
        if os.path.samestat(os.fstat(handle), self.info()):
            return handle
        os.close(handle)
        raise OSError(errno.ESTALE, "another file took its place", self.real)


@contextmanager
def held(path: Path | str, *, follow: bool = True) -> Iterator[Held]:
    """Hold what a path leads to. Nothing is opened for reading: no FIFO is waited for.

    Args:
        path: From this process's folder on, where it is no whole one.
        follow: Whether links are followed; where not, one at the end is held itself, and one on
            the way is an error.

    Raises:
        OSError: There is nothing, or a link on the way is not to be followed.
    """
    if not os.fspath(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    root, rest = split_root(path)
    with Walk(root) as walk:
        walk.lead([*reversed(rest.split("/"))], follow=follow)
        yield Held(
            handle=walk.handles[-1],
            folder=walk.handles[-2] if walk.names else walk.handles[-1],
            root=root,
            names=tuple(walk.names),
        )


@contextmanager
def held_below(root: str, names: Sequence[str]) -> Iterator[int]:
    """Hold a folder by names of which none is a link.

    Raises:
        OSError: There is none, or a link on the way.
    """
    with Walk(root) as walk:
        for name in names:
            walk.handles.append(os.open(name, _HOLD | os.O_DIRECTORY, dir_fd=walk.handles[-1]))
        yield walk.handles[-1]


def opened_anew(path: Path | str) -> int:
    """Open a file for writing: emptied, or made; never one that only another's link leads to.

    Raises:
        OSError: It cannot be written or made, such a link leads there, or it is another's.
    """
    with suppress(FileNotFoundError), held(path) as found:
        _refuse_others(found)
        handle = found.written()
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.ftruncate(handle, 0)
        os.set_blocking(handle, True)
        return handle
    folder, name = os.path.split(real_path(os.fspath(path)))
    with held(folder) as found:
        flags = _WRITE | os.O_CREAT | os.O_EXCL
        return os.open(name, flags, 0o666, dir_fd=found.handle)


def refuse_others(path: Path | str) -> None:
    """Refuse a file that another user may have put there for this one to fill; none is well.

    Raises:
        OSError: It is one, or cannot be looked at.
    """
    with suppress(FileNotFoundError), held(path) as found:
        _refuse_others(found)


def _refuse_others(found: Held) -> None:
    trusted = {0, os.geteuid()}
    folder, info = os.fstat(found.folder), found.info()
    is_ours = folder.st_uid in trusted and not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if is_ours or stat.S_ISDIR(info.st_mode):
        return
    is_theirs = info.st_uid not in trusted
    if is_theirs or info.st_nlink > 1:
        raise PermissionError(
            errno.EPERM,
            ("it is another user's file" if is_theirs else "it is a file with other names")
            + " in a folder that others may write to; remove it or name another one",
            found.real,
        )


def real_path(path: str) -> str:
    """Return where the links of a path lead that are to be followed, whatever is not there.

    From a link that is not to be followed on it is the path itself: what is put there takes the
    link's place, and reaches nothing that the link leads to.
    """
    root, rest = split_root(path)
    with Walk(root) as walk:
        return f"/{'/'.join(walk.lead_as_far(rest.split('/')))}"


def real_paths(paths: Iterable[str]) -> dict[str, str]:
    """Return `real_path` of each whole path; of many in a folder the way is walked once."""
    folders: dict[str, str] = {}
    found = {}
    for path in paths:
        folder, name = os.path.split(path)
        if name in {"", ".", ".."} or not folder.startswith("/"):
            found[path] = real_path(path)
            continue
        if folder not in folders:
            folders[folder] = real_path(folder)
        plain = f"{folders[folder].rstrip('/')}/{name}"
        found[path] = real_path(path) if os.path.islink(plain) else plain  # noqa: PTH114
    return found


def names_in(path: Path | str) -> list[str]:
    """Return the names in a folder; empty where there is none that may be listed."""
    with suppress(OSError), held(path) as folder:
        handle = folder.opened()
        try:
            return os.listdir(handle)  # noqa: PTH208 - by descriptor
        finally:
            os.close(handle)
    return []


def folders_below(
    top: Path | str, *, follow: bool = False
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder below one with the names of its folders and of what else is in it.

    As `os.walk` from the top down, whose lists may be changed on the way, however deep the folders
    are. A link to a folder is a folder that is not gone into.

    Args:
        top: Where it begins.
        follow: Whether links to folders are gone into.
    """
    waiting = [os.fspath(top)]
    while waiting:
        folder = waiting.pop()
        folders: list[str] = []
        files: list[str] = []
        links: set[str] = set()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                (folders if entry.is_dir() else files).append(entry.name)
                links |= {entry.name} if entry.is_symlink() and not follow else set()
        yield folder, folders, files
        below = (name for name in reversed(folders) if name not in links)
        waiting += [os.path.join(folder, name) for name in below]  # noqa: PTH118


def split_root(path: Path | str) -> tuple[str, str]:
    """Return the root that a path begins with, and the rest.

    Raises:
        OSError: No file can have such a name.
    """
    whole = os.fspath(path)
    if not whole.startswith("/"):
        whole = os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - `..` stays as it is
    if "\0" in whole:
        raise OSError(errno.EINVAL, "no file can have such a name", repr(whole))
    try:
        os.fsencode(whole)
    except UnicodeEncodeError as error:  # a character that the file system's encoding lacks
        raise OSError(errno.EINVAL, "no file can have such a name", repr(whole)) from error
    mounts = _ROOT.match(whole)
    root = mounts[0] if mounts else "/"
    return root, whole.removeprefix(root)


class Walk:
    """Descriptors of what is on a way, from a root to where it has come.

    Args:
        root: As `split_root` returns it.
        note: Told what each name is that was come to, be it a link. Whoever wants to know whose the
            way is follows all links, whosever they are.

    Raises:
        OSError: There is no such root.
    """

    def __init__(self, root: str, *, note: Callable[[os.stat_result], None] | None = None) -> None:
        # What a process sees as `/` is a link, which only the kernel makes.
        self.handles = [os.open(root, _HOLD & ~os.O_NOFOLLOW | os.O_DIRECTORY)]
        self.names: list[str] = []
        self._note = note
        self._trusted = {0, os.geteuid(), os.stat("/").st_uid}  # noqa: PTH116 - of a text
        self._n_links = 0

    def __enter__(self) -> "Walk":
        return self

    def __exit__(self, *_: object) -> None:
        self._back_to(0)

    def lead(self, left: list[str | int], *, follow: bool = True) -> None:
        """Go along a path.

        Args:
            left: Its names, the first one last; taken from there, also where it ends in an error.
            follow: As of `held`.

        Raises:
            OSError: There is nothing, or a link is not to be followed.
        """
        while left:
            part = left.pop()
            if isinstance(part, int):  # here a link of that user's leads to
                if os.fstat(self.handles[-1]).st_uid != part:
                    raise PermissionError(
                        errno.EPERM,
                        "another user's link leads there, to what is not that user's",
                        f"/{'/'.join(self.names)}",
                    )
            elif part == "..":
                self._back_to(max(1, len(self.handles) - 1))
            elif part not in {"", "."}:
                link = self._step(part)
                if link is None or (not follow and not any(left)):
                    continue
                if not follow:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part)
                left += self._beyond(link)

    def lead_as_far(self, parts: Sequence[str]) -> list[str]:
        """Go along a path as far as its links are to be followed; return the names of it all."""
        rest = [each for each in parts if each not in {"", "."}]
        found: list[str] = []
        while rest:
            left: list[str | int] = [rest[0]]
            try:
                self.lead(left)
            except FileNotFoundError as error:
                names = [each for each in reversed(left) if isinstance(each, str)]
                if len(names) == len(left):  # what is missing is where a link of ours leads
                    found, rest = [*self.names], [error.filename, *names, *rest[1:]]
                break
            except OSError:
                break
            del rest[0]
            found = [*self.names]
        for part in (each for each in rest if each not in {"", "."}):
            found = found[:-1] if part == ".." else [*found, part]
        return found

    def _step(self, part: str) -> os.stat_result | None:
        """Go on to what has this name in the folder that is held; return it if it is a link."""
        if len(self.handles) > _DEEPEST:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), part)
        self.handles.append(os.open(part, _HOLD, dir_fd=self.handles[-1]))
        self.names.append(part)
        info = os.fstat(self.handles[-1])
        if self._note is not None:
            self._note(info)
        return info if stat.S_ISLNK(info.st_mode) else None

    def _beyond(self, link: os.stat_result) -> Iterator[str | int]:
        """Leave the link that is held; yield where it leads, from the end, for whom it is one."""
        self._n_links += 1
        if self._n_links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.names[-1])
        # Of the link that is held: another may have taken its place.
        target = os.readlink("", dir_fd=self.handles[-1])
        self._back_to(1 if target.startswith("/") else len(self.handles) - 1)
        if self._note is None and link.st_uid not in self._trusted:
            yield link.st_uid
        yield from reversed(target.split("/"))

    def _back_to(self, n_handles: int) -> None:
        while len(self.handles) > n_handles:
            os.close(self.handles.pop())
        del self.names[max(0, n_handles - 1) :]


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """Whose a file is, and who may do what with it."""

    user_id: int = 0
    group_id: int = 0
    mode: int = 0o600
    """As `chmod` takes it."""

    @classmethod
    def of(cls, info: os.stat_result) -> "Rights":
        """Return those of a file that was looked at."""
        return cls(user_id=info.st_uid, group_id=info.st_gid, mode=stat.S_IMODE(info.st_mode))


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFile:
    """A regular file as it was when it was read."""

    content: bytes
    rights: Rights
    real: str
    """Its path without links; of one that another process sees, as that does."""


def opened_regular(path: Path | str) -> BinaryIO:
    """Open a regular file for reading; never waits for whoever would write at its other end.

    Raises:
        OSError: It cannot be opened, is none, or another user's link leads there to what is not
            his; the reason is its `strerror`.
    """
    with held(path) as found:
        # What is none is not even opened: of some devices that alone does something.
        _refuse_irregular(found.info().st_mode, path)
        return os.fdopen(found.opened(), "rb")


def read_regular(path: Path | str, *, limit_bytes: int) -> bytes:
    """Return what a regular file holds.

    Raises:
        OSError: As `opened_regular`; or it is longer than the limit.
    """
    with opened_regular(path) as file:
        return _content(file, path, limit_bytes)


def read_file(path: Path | str, *, limit_bytes: int) -> ReadFile:
    """Return what a regular file holds, with whose it is and where it was found.

    Raises:
        OSError: As `read_regular`.
    """
    with held(path) as found:
        _refuse_irregular(found.info().st_mode, path)
        with os.fdopen(found.opened(), "rb") as file:
            content = _content(file, path, limit_bytes)
            rights = Rights.of(os.fstat(file.fileno()))
        return ReadFile(content=content, rights=rights, real=found.real)


def regular(handle: int, name: str) -> BinaryIO:
    """Return what was opened, where it is a regular file; close it where it is none.

    Raises:
        OSError: It is none.
    """
    try:
        _refuse_irregular(os.fstat(handle).st_mode, name)
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def is_there(path: Path) -> bool:
    """Tell whether there is something; False also for names that no file can have."""
    try:
        path.lstat()
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _content(file: BinaryIO, path: Path | str, limit_bytes: int) -> bytes:
    content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes >> 10:,} KiB", str(path))
    return content


def _refuse_irregular(mode: int, path: Path | str) -> None:
    kind = stat.S_IFMT(mode)
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "something else")
        raise OSError(errno.EINVAL, f"it is {what}, not a regular file", str(path))


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
        with held(path) as found:
            info = found.info()
            if not stat.S_ISDIR(info.st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
            return cls(
                root=found.root,
                names=found.names,
                identity=(info.st_dev, info.st_ino),
                is_roots=_is_roots(info),
            )

    @contextmanager
    def held(self) -> Iterator[int]:
        """Give a descriptor of it, by which nothing but the way from it can be opened.

        Raises:
            OSError: It is not there any more: there is nothing, a link on the way, or another one.
        """
        with held_below(self.root, self.names) as handle:
            info = os.fstat(handle)
            if (info.st_dev, info.st_ino) != self.identity:
                raise OSError(errno.ESTALE, "another folder took its place", "/".join(self.names))
            yield handle

    def opened(self, *names: str) -> BinaryIO:
        """Open a regular file below it for reading, never through a link and never waiting.

        Args:
            names: Of the folders from this one on, and its own; none of them `..`.

        Raises:
            OSError: As `held`; or the file cannot be opened, or is none.
        """
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        *folders, name = names
        with self.held() as folder, ExitStack() as stack:
            above = folder
            for each in folders:
                way = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                above = os.open(each, way, dir_fd=above)
                stack.callback(os.close, above)
            handle = os.open(name, flags, dir_fd=above)
        return regular(handle, name)


def _is_roots(folder: os.stat_result) -> bool:
    return folder.st_uid == 0 and not folder.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFolder:
    """A folder of this process's own, for its user alone."""

    handle: int

    @contextmanager
    def below(self, name: str) -> Iterator["NewFolder"]:
        """Make a folder in it, which is held as long as this lasts.

        Raises:
            OSError: It cannot be made, or is there.
        """
        handle = _made(self.handle, name)
        try:
            yield NewFolder(handle=handle)
        finally:
            os.close(handle)

    def write(self, names: Sequence[str], content: bytes) -> None:
        """Write a file anew, for its user alone; folders on the way are made.

        Args:
            names: Of the folders below this one, and its own.
            content: All of it.

        Raises:
            OSError: It cannot be written, is there, or a name is none of a file.
        """
        *folders, name = map(_plain, names)
        with ExitStack() as stack:
            above = self.handle
            for each in folders:
                above = _entered(above, each)
                stack.callback(os.close, above)
            with os.fdopen(os.open(name, _NEW, 0o600, dir_fd=above), "wb") as file:
                file.write(content)


@contextmanager
def new_folder(path: Path) -> Iterator[NewFolder]:
    """Make a folder, and those above it that are not there; hold it as long as this lasts.

    Raises:
        OSError: It cannot be made, or is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with held(path.parent) as above, NewFolder(handle=above.handle).below(path.name) as made:
        yield made


def _made(above: int, name: str) -> int:
    os.mkdir(_plain(name), 0o700, dir_fd=above)
    return _held_own(above, name)


def _entered(above: int, name: str) -> int:
    try:
        return _made(above, name)
    except FileExistsError:
        return _held_own(above, name)


def _held_own(above: int, name: str) -> int:
    """Hold a folder of this user's."""
    handle = os.open(name, _FOLDER, dir_fd=above)
    if os.fstat(handle).st_uid == os.geteuid():
        return handle
    os.close(handle)
    raise OSError(errno.ESTALE, "another user's folder took its place", name)


def _plain(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise OSError(errno.EINVAL, "no file can have such a name", repr(name))
    return name
