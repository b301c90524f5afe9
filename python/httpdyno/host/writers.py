"""Who may write a file, or put another one where its path leads: what it says is their word.

Who may write to a folder on the way may put another file in place of the one that was looked at,
unless it is sticky, and who owns a link may lead it elsewhere. So the way is walked a name at a
time (`foreign_path.py`), and what is found at its end is held open: nothing that happens afterwards
makes another file of it.

Source: access of groups, others and lists is that of acl(5); of sticky folders, inode(7).
"""

import errno
import grp
import os
import pwd
import re
import stat
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from httpdyno.host.foreign_path import Walk, split_root

ANYBODY = -1
"""Stands among writers for all users, and for those of a group that nobody can list."""

_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEPEST = 64
_ACL = "system.posix_acl_access"
_ACL_USER, _ACL_OWNING_GROUP, _ACL_GROUP, _ACL_MASK = 0x02, 0x04, 0x08, 0x10
_MAY_WRITE = 2
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_NO_ACL = (errno.ENODATA, errno.EOPNOTSUPP)
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_NOWHERE = (*_NOT_THERE, errno.ELOOP, errno.EACCES)
_NAMES = Path("/etc/nsswitch.conf")
_LISTED_WHOLE = frozenset({"files", "compat", "systemd"})
"""Where names come from that can all be listed. Others, such as `sss`, only answer for one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What stands at the end of a path, held open."""

    handle: int
    """An `O_PATH` descriptor of it."""
    info: os.stat_result
    writers: Mapping[int, str]
    """User → what on the way is his to change, the first of it; root is among them like others."""


@contextmanager
def held(path: str) -> Iterator[Held]:
    """Walk to what stands at a path, following each link by hand.

    Raises:
        OSError: It is not there, or may not be looked at.
    """
    with _Way(path) as way:
        way.go()
        yield Held(handle=way.handle, info=way.info(), writers=way.writers)


def writers_at(path: str) -> dict[int, str]:
    """Return who may write what stands at a path, as `Held.writers`, or put it there.

    A folder is what is found in it: who may add files to it counts, though it be sticky.

    Raises:
        OSError: It may not be looked at.
    """
    with _Way(path) as way:
        way.go(_NOT_THERE)
        return way.word()


def writers_below(folders: Iterable[str], *, most: int) -> dict[int, str]:
    """Return who may write some folders, what leads to them, or anything below; as `Held.writers`.

    Raises:
        OSError: One cannot be looked through, or they hold more than so many files; with its path.
    """
    scan = _Scan(list(folders), most)
    while scan.waiting:
        path = scan.waiting.pop()
        with _Way(path) as way:
            # Where it leads nowhere, or nowhere for this user, nothing is read by him either.
            is_there = way.go(_NOWHERE)
            _add(scan.found, way.word())
            info = way.info()
            if is_there and stat.S_ISDIR(info.st_mode):
                scan.folder(".", way.handle, path, info.st_uid)
    return scan.found


class _Scan:
    """A look through folders under way."""

    def __init__(self, waiting: list[str], most: int) -> None:
        self.waiting = waiting
        """Folders and links that are to be walked to yet."""
        self.found: dict[int, str] = {}
        self._seen: set[tuple[int, int]] = set()
        self._most = self._left = most

    def folder(self, name: str, above: int, path: str, owner: int, depth: int = 0) -> None:
        """Look through a folder and all below it.

        Raises:
            OSError: It cannot be opened, is too deep, or holds too much.
        """
        if depth > _DEEPEST:
            words = f"more than {_DEEPEST} folders are inside each other there"
            raise OSError(errno.ENAMETOOLONG, words, path)
        try:
            handle = os.open(name, _LIST, dir_fd=above)
        except PermissionError as error:
            # What this user cannot read he cannot import, until its owner lets him.
            if owner in {0, os.geteuid()}:
                return
            raise PermissionError(error.errno, error.strerror, path) from error
        try:
            info = os.fstat(handle)
            if (info.st_dev, info.st_ino) in self._seen:
                return
            self._seen.add((info.st_dev, info.st_ino))
            with os.scandir(handle) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0:
                        words = f"more than {self._most:,} files are there and in what is beside it"
                        raise OSError(errno.EFBIG, words, path)
                    self._entry(entry, handle, f"{path}/{entry.name}", depth)
        finally:
            os.close(handle)

    def _entry(self, entry: "os.DirEntry[str]", handle: int, path: str, depth: int) -> None:
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(info.st_mode):
            self.waiting.append(path)
            return
        if info.st_uid not in self.found or info.st_mode & _OTHERS:
            acl = _acl(f"/proc/self/fd/{handle}/{entry.name}", info)
            _add(self.found, dict.fromkeys(_writers(info, acl), path))
        if stat.S_ISDIR(info.st_mode):
            self.folder(entry.name, handle, path, info.st_uid, depth + 1)


class _Way:
    """Whose a way is, to where it has come; its last descriptor holds what is there."""

    def __init__(self, path: str) -> None:
        root, rest = split_root(path)
        self.writers: dict[int, str] = {}
        self._path = path
        self._names: list[str | int] = [*reversed(rest.split("/"))]
        self._root = "" if root == "/" else root
        self._walk = Walk(root, note=self._note)

    def __enter__(self) -> "_Way":
        return self

    def __exit__(self, *_: object) -> None:
        self._walk.__exit__()

    @property
    def handle(self) -> int:
        return self._walk.handles[-1]

    def info(self) -> os.stat_result:
        return os.fstat(self.handle)

    def go(self, until: Sequence[int] = ()) -> bool:
        """Go along it until one of these errors; return whether there was none.

        Raises:
            OSError: Of another number.
        """
        try:
            self._note(self.info())  # the root
            self._walk.lead(self._names)
        except OSError as error:
            if error.errno in until:
                return False
            error.filename = self._path  # not only the name of what was opened last
            raise
        return True

    def word(self) -> dict[int, str]:
        """Return the writers with those who may add files where it has come."""
        info = self.info()
        adders = _may_write(self.handle, info) if stat.S_ISDIR(info.st_mode) else ()
        return {**dict.fromkeys(adders, self._here()), **self.writers}

    def _here(self) -> str:
        return f"{self._root}/{'/'.join(self._walk.names)}"

    def _note(self, info: os.stat_result) -> None:
        is_folder = stat.S_ISDIR(info.st_mode)
        if stat.S_ISLNK(info.st_mode) or (is_folder and info.st_mode & stat.S_ISVTX):
            # What is in a sticky one is its owner's: others add to it, and change what is theirs.
            found = {info.st_uid}
        else:
            found = _may_write(self.handle, info)
        if not is_folder and info.st_nlink > 1:
            # Who may add files may have put another's there, by another name of it.
            above = self._walk.handles[-2]
            found |= _may_write(above, os.fstat(above))
        _add(self.writers, dict.fromkeys(found, self._here()))


def _add(to: dict[int, str], found: Mapping[int, str]) -> None:
    for user, where in found.items():
        to.setdefault(user, where)


def _may_write(handle: int, info: os.stat_result) -> set[int]:
    """Return who may write a file that is held, or add files to a folder."""
    return _writers(info, _acl(f"/proc/self/fd/{handle}", info))


def _writers(info: os.stat_result, acl: bytes | None) -> set[int]:
    """Return who may write a file, or add files to a folder."""
    found = {info.st_uid}
    if acl is None:
        if info.st_mode & stat.S_IWGRP:
            found |= _members(info.st_gid)
    else:
        found |= _listed(acl, info.st_gid)
    if info.st_mode & stat.S_IWOTH:
        found.add(ANYBODY)
    return found


def _acl(path: str, info: os.stat_result) -> bytes | None:
    """Return a file's access control list; None where none lets anybody write."""
    if not info.st_mode & stat.S_IWGRP:  # of a file with a list, what the list allows at most
        return None
    try:
        return os.getxattr(path, _ACL)
    except OSError as error:
        if error.errno in _NO_ACL:
            return None
        raise


def _listed(acl: bytes, owning_group: int) -> set[int]:
    """Return whom a list lets write besides the owner and others."""
    # Source: linux/posix_acl_xattr.h; a version of 4 bytes, then tag, rights and id of each.
    entries = list(struct.iter_unpack("<HHI", acl[4:]))
    mask = next((rights for tag, rights, _ in entries if tag == _ACL_MASK), _MAY_WRITE)
    found: set[int] = set()
    for tag, rights, number in entries:
        if not rights & mask & _MAY_WRITE:
            continue
        if tag == _ACL_USER:
            found.add(number)
        elif tag in {_ACL_GROUP, _ACL_OWNING_GROUP}:
            found |= _members(number if tag == _ACL_GROUP else owning_group)
    return found


@lru_cache(maxsize=64)
def _members(group: int) -> frozenset[int]:
    """Return a group's users; of one that stands nowhere nobody knows whose it is.

    Where users cannot all be listed, whose it is is known only of a user's own group, of the same
    name, and of root's.
    """
    try:
        found = grp.getgrgid(group)
    except KeyError:
        return frozenset({ANYBODY})
    if group == 0 or _are_all_listed():
        return frozenset(
            each.pw_uid
            for each in pwd.getpwall()
            if each.pw_gid == group or each.pw_name in found.gr_mem
        )
    with suppress(KeyError):
        own = pwd.getpwnam(found.gr_name)
        if own.pw_gid == group and {*found.gr_mem} <= {own.pw_name}:
            return frozenset({own.pw_uid})
    return frozenset({ANYBODY})


def _are_all_listed() -> bool:
    """Return whether this machine's users and groups can be listed: nsswitch.conf(5)."""
    try:
        lines = _NAMES.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return True  # as it is where there is none: files alone
    except OSError:
        return False
    for line in lines:
        kind, _, sources = line.partition("#")[0].partition(":")
        names = re.sub(r"\[[^]]*\]", " ", sources).split()
        is_asked = kind.strip() in {"passwd", "group", "initgroups"}
        if is_asked and not _LISTED_WHOLE.issuperset(names):
            return False
    return True
