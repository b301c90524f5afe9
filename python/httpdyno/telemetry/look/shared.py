"""The CPUs that a server shares with httpdyno, where they are fewer than the machine's.

Under `taskset`, or in a container with a quota, both have the same few CPUs, and a machine that is
idle otherwise says nothing of what is left of them.
"""

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from httpdyno.telemetry.account import group_cpu_s
from httpdyno.telemetry.look.allowance import groups_of, quotas
from httpdyno.telemetry.ticks import cpu_ticks_of


class Shared(NamedTuple):
    """How many CPUs are shared, and the mean number of them that ran anything; 0 for none."""

    cpus: float = 0.0
    busy: float = 0.0
    """By whomever; 0 where that is not told."""


class SharedCpus:
    """Counts what is used of them from when it is made."""

    def __init__(self, pids: Collection[int]) -> None:
        """Find what some processes share with this one.

        Args:
            pids: The server's.
        """
        n_cpus = os.sysconf("SC_NPROCESSORS_ONLN")
        self._cpus = _cpus_shared(pids)
        if len(self._cpus) >= n_cpus:
            self._cpus = frozenset()
        self._groups = [
            (folder, version, quota)
            for folder, version in _groups_shared(pids)
            for quota in quotas([(folder, version)])
            if quota < n_cpus
        ]
        self._began_s = time.monotonic()
        self._ticks = cpu_ticks_of(self._cpus)
        self._used_s = [used_s(folder, version) for folder, version, _ in self._groups]

    def seen(self) -> Shared:
        """Return those of which least was left, by what was used since."""
        each = list(self._each(time.monotonic() - self._began_s))
        told = [Shared(cpus, busy) for cpus, busy in each if busy is not None]
        if len(told) < len(each):
            return min((Shared(cpus, busy or 0.0) for cpus, busy in each), key=lambda it: it.cpus)
        return max(told, key=lambda it: (it.busy / it.cpus, -it.cpus), default=Shared())

    def _each(self, seconds: float) -> Iterator[tuple[float, float | None]]:
        if n := len(self._cpus):
            now, before = cpu_ticks_of(self._cpus), self._ticks
            if now is None or before is None or now[1] <= before[1]:
                yield n, None
            else:
                yield n, (1 - (now[0] - before[0]) / (now[1] - before[1])) * n
        for (folder, version, quota), before_s in zip(self._groups, self._used_s, strict=True):
            now_s = used_s(folder, version)
            is_told = now_s is not None and before_s is not None and seconds > 0
            yield quota, max(0.0, (now_s or 0.0) - (before_s or 0.0)) / seconds if is_told else None


def used_s(folder: str, version: int) -> float | None:
    """Return the CPU time of all that ever ran in a control group; None where it is not told."""
    if version != 1:
        return group_cpu_s(folder)
    # There only where both controllers are mounted as one, as systemd does.
    with suppress(OSError, ValueError):
        return int(Path(folder, "cpuacct.usage").read_text(encoding="ascii")) / 1e9
    return None


def _cpus_shared(pids: Collection[int]) -> frozenset[int]:
    """Return the CPUs that any of both may run on, where one may run where the other does."""
    own, theirs = os.sched_getaffinity(os.getpid()), set[int]()
    for pid in pids:
        with suppress(OSError):  # it has just ended
            theirs |= os.sched_getaffinity(pid)
    return frozenset(own | theirs if own & theirs else ())


def _groups_shared(pids: Collection[int]) -> list[tuple[str, int]]:
    theirs = {each for group in groups_of(pids, "cpu") for each in group}
    return [each for group in groups_of([os.getpid()], "cpu") for each in group if each in theirs]
