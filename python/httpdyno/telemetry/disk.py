"""What a server's processes read from disks and write, read seldom enough to be cheap.

/proc/PID/io is one more file of each process, so who looks each second reads it as seldom as takes
a small share of a core, and says how long a time its figures are of. What is written is counted
when a page of a file is made dirty, not when it comes to the disk; what is in memory alone (tmpfs,
pages that are cached) is in neither. Calls are those of read(2), write(2) and their like, on
sockets too.

Ended children go over to who waits for them, as in `telemetry.look.ledger`, which keeps the books.

Source: proc_pid_io(5); Linux, kernel/exit.c, `wait_task_zombie`, and fs/proc/base.c,
`do_io_accounting`.
"""

import math
import time
from dataclasses import dataclass

from httpdyno.host.procfs import readable
from httpdyno.telemetry.look.ledger import Account, Identity, Transfers, moved, settled, transferred
from httpdyno.telemetry.worker import Sample, Worker, not_visible

EACH_SECOND_RATIO = 0.001
"""CPU seconds per second of who reads it for long."""
_ATTEMPTS = 3
"""For processes that end while they are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Disk:
    """Reads and writes of all processes, between two readings."""

    at_s: float
    """Of the last one, by the monotonic clock."""
    seconds: float
    """Between both; 0 at the first."""
    moved: Transfers | None
    """None at the first, and where none of them may be seen."""
    hidden: str = ""
    """Why some or all of them may not be seen; empty where all may."""


class DiskTransfers:
    """Of one server, read again and again. Not for several threads at once."""

    def __init__(self, *, most_ratio: float = math.inf) -> None:
        """Read nothing yet.

        Args:
            most_ratio: CPU seconds per second that reading is to take.
        """
        self._most_ratio = most_ratio
        self._due_s = -math.inf
        self._last: Disk | None = None
        self._accounts: dict[Identity, Account] = {}

    def look(self, sample: Sample) -> Disk | None:
        """Return what was read last, which is now where that is due; None of no process.

        Args:
            sample: Its processes, as they were a moment ago.
        """
        at_s = time.monotonic()
        if at_s < self._due_s or not sample.workers:
            return self._last
        began_s = time.thread_time()
        now, is_hidden = _accounts(sample)
        transfers = None
        if self._last is not None and any(each.transfers for each in now.values()):
            # Of those that ended and that nobody took over, what was seen last still counts.
            transfers = moved(self._accounts, settled({**self._accounts, **now}, now))
        self._last = Disk(
            at_s=at_s,
            seconds=0.0 if self._last is None else at_s - self._last.at_s,
            moved=transfers,
            hidden=f"disk reads and writes {not_visible()}" if is_hidden else "",
        )
        self._accounts = now
        self._due_s = at_s + (time.thread_time() - began_s) / self._most_ratio
        return self._last


def _accounts(sample: Sample) -> tuple[dict[Identity, Account], bool]:
    """Return what each has moved so far, and whether some may not be seen."""
    left = list(sample.workers)
    for _ in range(_ATTEMPTS):
        found: dict[Identity, Account] = {}
        is_hidden = False
        for each in left:
            try:
                transfers = transferred(readable(b"/proc/%d/io" % each.pid))
            except PermissionError:
                transfers, is_hidden = None, True
            except OSError:  # it ended, or this kernel does not count
                continue
            found[each.identity] = _account(each, transfers)
        if len(found) == len(left):
            break
        # Who ended may have gone over to its parent after that one was read.
        left = [each for each in left if each.identity in found]
    return found, is_hidden


def _account(worker: Worker, transfers: Transfers | None) -> Account:
    return Account(
        parent=worker.parent,
        own_s=worker.cpu_s,
        reaped_s=worker.reaped_s,
        major_faults=0,
        transfers=transfers,
        # What goes over to one that may not be seen is seen no more.
        is_careless=worker.ignores_children or transfers is None,
    )
