"""As whom, and with which limits, a process of a seat runs."""

import resource
from collections.abc import Mapping

from httpdyno.errors import AdapterError
from httpdyno.host.runnable import account

Limits = Mapping[str, tuple[int, int]]
"""Name as in `NOFILE` → what is in force and up to what it may be raised, as `setrlimit` has it."""


def owner(user: str) -> tuple[int, ...]:
    """Return a user's id, its group's and those of its other groups; of a name or a number.

    Raises:
        AdapterError: There is no such user.
    """
    return account(user)


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
