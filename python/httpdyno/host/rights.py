"""Whose rights this process has, and files read with another user's.

What somebody names is read as himself: root's file rights are put aside for the thread that reads
(setfsuid(2)), and all other threads keep theirs. So a configuration of an ordinary user's shows,
whatever it includes, only what that user may read.
"""

import ctypes
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def is_root_of_the_machine() -> bool:
    """Whether this process is root, and not just in a user namespace, of himself alone too."""
    try:
        words = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
    except OSError:
        words = []
    is_one_of_many = words[2:] != ["1"]
    return os.geteuid() == 0 and outside_ids() == (0, 0) and is_one_of_many


def outside_ids() -> tuple[int, int]:
    """Return the user and the group that this process is outside of its user namespace."""
    return _outside("uid_map", os.geteuid()), _outside("gid_map", os.getegid())


def _outside(name: str, own: int) -> int:
    try:
        lines = Path("/proc/self", name).read_text(encoding="ascii").splitlines()
    except OSError:
        return own
    for inside, outside, count in (map(int, line.split()) for line in lines):
        if inside <= own < inside + count:
            return outside + own - inside
    return own


_SETGROUPS = {"x86_64": 116, "aarch64": 159}
"""The call itself: the C library's would change all threads."""
_ASK = -1


@contextmanager
def reading_as(user: int) -> Iterator[None]:
    """Have no more rights over files than a user has, in this thread.

    Who is not root of the machine has no other rights than his own, and reads as himself.

    Args:
        user: His number; root changes nothing.

    Raises:
        PermissionError: It cannot be done here.
    """
    if user == 0 or not is_root_of_the_machine():
        yield
        return
    number = _SETGROUPS.get(os.uname().machine)
    libc = ctypes.CDLL(None, use_errno=True)
    group, groups = _groups(user)
    before = os.getgroups()
    if number is None or _set_groups(libc, number, groups) != 0:
        raise PermissionError(0, "cannot read as another user here")
    libc.setfsgid(group)
    libc.setfsuid(user)
    try:
        if libc.setfsuid(_ASK) & 0xFFFF_FFFF != user or libc.setfsgid(_ASK) & 0xFFFF_FFFF != group:
            raise PermissionError(0, "cannot read as another user here")
        yield
    finally:
        libc.setfsuid(os.geteuid())
        libc.setfsgid(os.getegid())
        _set_groups(libc, number, before)


def may_read(info: os.stat_result, user: int) -> bool:
    """Whether a file's mode lets a user read it."""
    if info.st_uid == user:
        return bool(info.st_mode & stat.S_IRUSR)
    group, groups = _groups(user)
    right = stat.S_IRGRP if info.st_gid in {group, *groups} else stat.S_IROTH
    return bool(info.st_mode & right)


def _groups(user: int) -> tuple[int, list[int]]:
    try:
        found = pwd.getpwuid(user)
    except KeyError:  # a number that nobody has: his own group at most
        return user, []
    return found.pw_gid, os.getgrouplist(found.pw_name, found.pw_gid)


def _set_groups(libc: ctypes.CDLL, number: int, groups: list[int]) -> int:
    return int(libc.syscall(number, len(groups), (ctypes.c_uint32 * len(groups))(*groups)))
