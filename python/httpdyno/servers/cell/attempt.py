"""The programs that try which isolation can be had, each in a process of its own."""

import os
import sys

from httpdyno.servers.becoming import become_root_of_namespace
from httpdyno.servers.cell import holder, landlock, mount, network


def cell() -> int:
    """Make the least that a cell needs, and print what cannot be had; return the exit code."""
    try:
        if os.geteuid() != 0:
            become_root_of_namespace()
        mount.unshare(holder.NAMESPACES)
        mount.keep_private()
        network.open_loopback()
        mount.bind("/dev/null", "/dev/zero", is_read_only=True)
    except OSError as error:
        sys.stdout.write(f"cannot {error.filename or 'be made'}: {error.strerror}")
        return 1
    return 0


def wall() -> int:
    """Give up rights, and print why that cannot be; return the exit code."""
    try:
        landlock.restrict(["/"], [], [])
    except OSError as error:
        sys.stdout.write(f"cannot {error.filename}: {error.strerror}")
        return 1
    return 0
