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

_MOST_ENTRIES = 100_000
"""In a folder that nobody else may write in, what comes after these is looked at no more."""
_ACL = "system.posix_acl_access"


def doubt_of(path: Path) -> str:
    """Return in words who else may change what is at a path without links; empty if nobody.

    Args:
        path: Of a file, or of a folder with all that is in it.

    Raises:
        OSError: It cannot be looked at.
    """
    for folder in reversed(path.parents):
        if words := _doubt(folder, folder.lstat(), is_way=True):
            return words
    for each, info in _with_all_in_it(path):
        if words := _doubt(each, info, is_way=False):
            return words
    return ""


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


def _doubt(path: Path, info: os.stat_result, *, is_way: bool) -> str:
    # Who owns `/` is root, or in a user namespace what root is there.
    if info.st_uid not in {0, os.geteuid(), Path("/").lstat().st_uid}:
        return f"`{path}` is {_user(info.st_uid)}'s"
    if stat.S_ISLNK(info.st_mode) or (is_way and info.st_mode & stat.S_ISVTX):
        return ""
    if info.st_mode & stat.S_IWOTH:
        return f"everybody may write `{path}`"
    if info.st_mode & stat.S_IWGRP and (not _is_own_group(info.st_gid) or _has_list(path)):
        return f"group {_group(info.st_gid)} may write `{path}`"
    return ""


@functools.cache
def _is_own_group(group: int) -> bool:
    """Whether a group has no other member than this user, as most systems make for each."""
    if group != os.getegid():
        return False
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        members = set(grp.getgrgid(group).gr_mem)
    except KeyError:
        return False
    members |= {entry.pw_name for entry in pwd.getpwall() if entry.pw_gid == group}
    return members <= {name}


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
