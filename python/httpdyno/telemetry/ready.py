"""How long a server's threads were ready to run and waited for a CPU, by what the kernel counts.

`/proc/PID/task/TID/schedstat` has what a thread ran and what it waited on a run queue, in ns.
Source: the kernel's Documentation/scheduler/sched-stats.rst.
"""

from httpdyno.host.procfs import of_process, thread_ids
from httpdyno.telemetry.account import Account


class ReadyTime:
    """Of one server, from now on; look at it while it runs. Not for several threads at once."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._last: dict[tuple[int, int], tuple[int, int]] = {}
        self.look()
        self._first = dict(self._last)

    def look(self) -> None:
        """Take note of what each thread has by now."""
        for pid in self._account.own_cpu_s():
            for thread in thread_ids(pid):
                told = of_process(pid, b"task/%d/schedstat" % thread).split()
                if told:
                    self._last[pid, thread] = int(told[0]), int(told[1])

    def for_each_run_s(self, cpu_s: float) -> float | None:
        """Return for how long they waited while they ran so long; None where nobody tells.

        Those that came and went between two looks are taken to have waited as the others did.
        """
        self.look()
        began = [self._first.get(thread, (0, 0)) for thread in self._last]
        moved = list(zip(self._last.values(), began, strict=True))
        ran_ns = sum(last[0] - first[0] for last, first in moved)
        waited_ns = sum(last[1] - first[1] for last, first in moved)
        if ran_ns <= 0:
            return None
        return max(0.0, cpu_s) * waited_ns / ran_ns
