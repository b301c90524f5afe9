"""The programs that try which isolation can be had, each in a process of its own."""

import os
import sys

from httpdyno.host.rights import (
    is_root_of_the_machine,
)
from httpdyno.servers.becoming import become_root_of_namespace
from httpdyno.servers.sandbox import confinement, holder, landlock_rules, mount

_AT = "/sys"
"""Any folder that is there: in namespaces of this process's own nobody else sees it covered."""


def cell() -> int:
    """Make what a cell needs, and print what cannot be had; return the exit code.

    Where a cell can be had, what is printed is why root in it is root outside; nothing where it is
    nobody.
    """
    is_root = is_root_of_the_machine()
    try:
        if os.geteuid() != 0:
            become_root_of_namespace()
        users, no_users = holder.own_users() if is_root else (None, None)
        mount.unshare(holder.NAMESPACES | mount.CLONE_NEWPID)
        mount.keep_private()
        first = os.fork()
    except OSError as error:
        sys.stdout.write(holder.written(error))
        return 1
    if first:
        return os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    try:
        mount.move_into_clone(_AT, users, as_one=not is_root)
        if users is not None:
            mount.become_nobody()
        holder.open_loopback()
        mount.freeze([])
        confinement.gain_nothing()
        confinement.refuse_calls(but_told=False)
    except OSError as error:
        sys.stdout.write(holder.written(error))
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.write(holder.written(no_users) if no_users else "")
    sys.stdout.flush()
    os._exit(0)


def wall() -> int:
    """Give up rights, and print why that cannot be; return the exit code."""
    try:
        landlock_rules.restrict(["/"], [], [])
    except OSError as error:
        sys.stdout.write(holder.written(error))
        return 1
    return 0
