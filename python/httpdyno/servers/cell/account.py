"""As whom, and with which limits, a process of a seat runs."""

import os
import pwd
import resource
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from httpdyno.errors import AdapterError

_ALL_IDS = "4294967295"

Limits = Mapping[str, tuple[int, int]]
"""Name as in `NOFILE` → what is in force and up to what it may be raised, as `setrlimit` has it."""


def is_root_of_the_machine() -> bool:
    """Whether this process is root, and not just in a user namespace."""
    if os.geteuid() != 0:
        return False
    with suppress(OSError):
        ids = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
        return ids == ["0", "0", _ALL_IDS]
    return True


def owner(user: str) -> tuple[int, ...]:
    """Return a user's id, its group's and those of its other groups.

    Raises:
        AdapterError: There is no such user.
    """
    try:
        found = pwd.getpwnam(user)
        groups = os.getgrouplist(user, found.pw_gid)
    except KeyError as error:
        raise AdapterError(f"there is no user `{user}` here") from error
    return (found.pw_uid, found.pw_gid, *groups)


def numbered(limits: Limits) -> list[tuple[int, int, int]]:
    """Return limits by the kernel's numbers.

    Raises:
        AdapterError: There is no such limit.
    """
    found = []
    for name, (soft, hard) in limits.items():
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            raise AdapterError(f"there is no limit `{name}` here")
        found.append((number, soft, hard))
    return found
