"""A memory control group with a limit, of version 1 or 2, for one pool at a time.

It is made at the top of the hierarchy and removed again. Only processes that the bench starts go
into it, so that whatever limits the bench itself is left alone.
"""

import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
_END_S = 5.0


class Group:
    """A folder of the kernel's, and the names of its files."""

    def __init__(self, folder, *, is_v2):
        self.folder, self.is_v2 = folder, is_v2

    @property
    def procs(self):
        """The file that a process's id is written to."""
        return self.folder / "cgroup.procs"

    def limit(self, n_bytes):
        """Set the limit, of memory and of swap, anew."""
        name = "memory.max" if self.is_v2 else "memory.limit_in_bytes"
        (self.folder / name).write_text(str(n_bytes))
        swap, value = (
            ("memory.swap.max", 0) if self.is_v2 else ("memory.memsw.limit_in_bytes", n_bytes)
        )
        with suppress(OSError):  # where swap is not accounted
            (self.folder / swap).write_text(str(value))

    def n_killed(self):
        """Return how many processes the kernel ended because the limit left no room."""
        name = "memory.events" if self.is_v2 else "memory.oom_control"
        told = dict(line.split() for line in (self.folder / name).read_text().splitlines())
        return int(told.get("oom_kill", 0))


@contextmanager
def memory_group():
    """Give a group; None where the kernel or this user's rights have none."""
    group = _made()
    try:
        yield group
    finally:
        deadline_s = time.monotonic() + _END_S
        while group is not None and group.folder.exists() and time.monotonic() < deadline_s:
            with suppress(OSError):  # until the kernel is through with its last member
                group.folder.rmdir()
                break
            time.sleep(0.05)


_N_MADE = [0]


def _made():
    _N_MADE[0] += 1
    name = f"httpdyno-memory-{os.getpid()}-{_N_MADE[0]}"
    for parent, is_v2 in ((_V1, False), *((each, True) for each in _V2)):
        limit = "memory.max" if is_v2 else "memory.limit_in_bytes"
        with suppress(OSError):
            folder = parent / name
            folder.mkdir()
            if os.access(folder / limit, os.W_OK):
                return Group(folder, is_v2=is_v2)
            folder.rmdir()
    return None
