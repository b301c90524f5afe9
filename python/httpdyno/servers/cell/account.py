"""As whom, and with which limits, a process of a seat runs."""

import os
import pwd
import resource
from collections.abc import Mapping

from httpdyno.errors import AdapterError

Limits = Mapping[str, tuple[int, int]]
"""Name as in `NOFILE` → what is in force and up to what it may be raised, as `setrlimit` has it."""


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
