"""The process that a run belongs to, so that a dead one's runs can be told and taken over.

A process number alone is reused sooner or later; with the tick at which the process started and
the boot it started in, it names one process for good.
"""

import os
import socket
from pathlib import Path

from httpdyno.boot import boot_id
from httpdyno.model import Record

_ZOMBIE_STATES = ("Z", "X")


class Owner(Record, frozen=True):
    """A process, named so that no later one is mistaken for it."""

    pid: int
    start_ticks: int
    """Field 22 of `/proc/PID/stat`: clock ticks from boot to the start of the process."""
    boot: str
    host: str

    @classmethod
    def me(cls) -> "Owner":
        """Return the calling process."""
        pid = os.getpid()
        ticks = _start_ticks(pid)
        return cls(pid=pid, start_ticks=ticks or 0, boot=boot_id(), host=socket.gethostname())

    def is_alive(self, *, is_shared: bool = False) -> bool:
        """Tell whether the process still runs.

        Args:
            is_shared: The database can be used from other hosts. What runs there cannot be
                seen from here, so it counts as alive.
        """
        if is_shared and self.host != socket.gethostname():
            return True
        return self.boot == boot_id() and _start_ticks(self.pid) == self.start_ticks


def _start_ticks(pid: int) -> int | None:
    """Return when the process started; None when there is none, or only its exit status."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the name in parentheses, which may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _ZOMBIE_STATES else int(fields[19])
