"""A control group whose processes may have so much memory, of either version."""

import os
from contextlib import ExitStack
from pathlib import Path

from benches.bottlenecks.place import NotBuiltError

_ROOT = Path("/sys/fs/cgroup")


def memory_group(stack: ExitStack, limit_bytes: int) -> Path:
    """Make a group; return the file that a process joins it by. It goes when the stack ends.

    Raises:
        NotBuiltError: There is no way to make one here.
    """
    parent, bound = _ROOT / "memory", "memory.limit_in_bytes"
    if not (parent / bound).exists():
        parent, bound = _ROOT, "memory.max"
    group = parent / f"httpdyno-bottlenecks-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise NotBuiltError(f"no control group can be made in {parent}: {error}") from error
    stack.callback(group.rmdir)
    try:
        (group / bound).write_text(str(limit_bytes))
    except OSError as error:
        raise NotBuiltError(f"memory cannot be bound in {group}: {error}") from error
    return group / "cgroup.procs"
