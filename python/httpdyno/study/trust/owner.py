"""Who besides this user and root could have written a file: owners, and writers on its way.

Who may write in a folder may replace what is in it, so each folder on the way counts; in one like
/tmp, with the sticky bit, only owners may.
"""

import functools
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from httpdyno.reason import Reason, because

_MOST_ENTRIES = 100_000
"""In a folder that nobody else may write in, what comes after these is looked at no more."""
_MOST_LINKS = 40
"""As the kernel follows: path_resolution(7)."""
_N_BELOW_ROOT = 2
_DEVICES = {stat.S_IFCHR, stat.S_IFBLK}
_ACL = "system.posix_acl_access"


def doubt_of(path: Path) -> Reason | None:
    """Return who else may change what is at a path without links; None if nobody.

    Args:
        path: Of a file, or of a folder with all that is in it.

    Raises:
        OSError: It cannot be looked at.
    """
    for folder in reversed(path.parents):
        if doubt := _doubt_of_way(folder):
            return doubt
    for each, info in _with_all_in_it(path):
        if doubt := _doubt(each, info, is_way=False):
            return doubt
    return None


def doubt_of_named(path: Path) -> tuple[Path, Reason | None]:
    """Return where an absolute path leads, and who else may change that, or what is put there.

    Links count as folders on the way do. Of a folder directly below `/` only itself is looked at.
    """
    here, doubts, n_links = Path("/"), [_doubt_of_way(Path("/"))], 0
    left = [*reversed(path.parts[1:])]
    try:
        while left:
            if (part := left.pop()) == "..":
                here = here.parent
                continue
            info = (here / part).lstat()
            if not stat.S_ISLNK(info.st_mode):
                here /= part
                doubts.append(_doubt(here, info, is_way=True) if left else None)
                continue
            n_links += 1
            if n_links > _MOST_LINKS:
                return path, None
            doubts.append(_doubt(here / part, info, is_way=True))
            target = Path(os.readlink(here / part))  # noqa: PTH115 - as it stands
            here = Path("/") if target.is_absolute() else here
            left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        is_whole = not here.is_dir() or len(here.parts) > _N_BELOW_ROOT
        doubts.append(doubt_of(here) if is_whole else _doubt(here, here.lstat(), is_way=False))
    except FileNotFoundError:
        doubts.append(_doubt(here, here.lstat(), is_way=False))
        here = Path(os.path.normpath(here.joinpath(part, *reversed(left))))
    except OSError:  # nothing that this user could run or read
        pass
    return here, next(filter(None, doubts), None)


def _doubt_of_way(folder: Path) -> Reason | None:
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode):  # it was one when the path was found
        return because("study.no_folder_any_more", folder=str(folder))
    return _doubt(folder, info, is_way=True)


def _with_all_in_it(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    info = path.lstat()
    yield path, info
    folders = [path] if stat.S_ISDIR(info.st_mode) else []
    n_left = _MOST_ENTRIES
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                n_left -= 1
                if n_left < 0:
                    return
                with suppress(FileNotFoundError):  # gone meanwhile
                    yield Path(entry.path), entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))


def _doubt(path: Path, info: os.stat_result, *, is_way: bool) -> Reason | None:
    # Who owns `/` is root, or in a user namespace what root is there.
    if info.st_uid not in {0, os.geteuid(), Path("/").lstat().st_uid}:
        return because("study.is_anothers", path=str(path), user=_user(info.st_uid))
    # A mode says nothing of a link, and of these who may use it.
    is_used = stat.S_IFMT(info.st_mode) in {stat.S_IFLNK, stat.S_IFSOCK, *_DEVICES}
    if is_used or (is_way and info.st_mode & stat.S_ISVTX):
        return None
    if info.st_mode & stat.S_IWOTH:
        return because("study.everybody_may_write", path=str(path))
    if info.st_mode & stat.S_IWGRP and (not _is_own_group(info.st_gid) or _has_list(path)):
        return because("study.group_may_write", group=_group(info.st_gid), path=str(path))
    return None


@functools.cache
def _is_own_group(group: int) -> bool:
    """Whether a group is the one that most systems make for each user, and nobody joined it.

    By its name, as not all users can be listed: those of a directory service are not.
    """
    try:
        user = pwd.getpwuid(os.geteuid())
        named = grp.getgrgid(group)
    except KeyError:
        return False
    is_primary = user.pw_gid == group and named.gr_name == user.pw_name
    return is_primary and set(named.gr_mem) <= {user.pw_name}


def _has_list(path: Path) -> bool:
    """Whether an access control list says who else may write; acl(5)."""
    try:
        return _ACL in os.listxattr(path, follow_symlinks=False)
    except OSError:
        return False


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return f"{number}"
