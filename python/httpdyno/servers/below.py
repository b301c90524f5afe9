"""What came from this process, children and theirs: found and signalled. A keeper imports this.

Standard library only, and little of it: a keeper is started for each server.
"""

import os
from _signal import pidfd_send_signal
from types import TracebackType

from httpdyno.host.procfs import children_now, walk

_AT_ONCE = 200
"""As many are signalled together: each is held by a descriptor, and those are few."""


class suppress:  # noqa: N801 - as its model
    """What `contextlib` has under this name, without all that its import takes."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


def below() -> list[int]:
    """Return all processes that came from this one."""
    return walk([os.getpid()], children_now())[1:]


def send(pids: list[int], number: int) -> None:
    """Signal those that still are ours once they are held: a pid may be another's by now."""
    for first in range(0, len(pids), _AT_ONCE):
        handles: dict[int, int] = {}
        for pid in pids[first : first + _AT_ONCE]:
            with suppress(OSError):
                handles[pid] = os.pidfd_open(pid)
        ours = set(below())
        for pid, handle in handles.items():
            with suppress(OSError):
                if pid in ours:
                    pidfd_send_signal(handle, number)
            os.close(handle)


def children(pid: int) -> list[int]:
    """Return the children of a process; none where it is gone."""
    return children_now()(pid)
