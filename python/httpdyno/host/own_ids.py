"""Who this process is: root of the machine, an ordinary user, or one in a user namespace."""

import os
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
