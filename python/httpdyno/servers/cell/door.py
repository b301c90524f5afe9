"""Doors of a cell: which socket of theirs is seen where."""

import os
import stat

from httpdyno.model import Door

_UNIX = "unix:"


class CannotError(Exception):
    """What is asked of a cell cannot be; says what, as in `cannot …`."""


def real_parent(path: str) -> str:
    """Return a path without links on the way to it; it may be one itself."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118


def address(text: str) -> str:
    """Return the path that a door is at.

    Raises:
        CannotError: It is no unix socket's.
    """
    if not text.startswith(f"{_UNIX}/"):
        raise CannotError(f"open a door to {text}: only `unix:/path` is possible")
    return real_parent(text.removeprefix(_UNIX))


def leads_to(door: Door) -> str:
    """Return the socket that a door leads to.

    Raises:
        CannotError: There is none.
    """
    source = os.path.realpath(address(door.through or door.to))
    try:
        is_socket = stat.S_ISSOCK(os.stat(source).st_mode)  # noqa: PTH116
    except OSError as error:
        raise CannotError(f"open a door through {source}: {error.strerror}") from error
    if not is_socket:
        raise CannotError(f"open a door through {source}: it is no socket")
    return source
