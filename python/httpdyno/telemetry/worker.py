"""The memory and state of each process of a server at one moment, cheap enough for every second.

What is cheap takes some 30 µs for each, but to tell a process's memory the kernel walks all of its
page tables, and they are in no cache once a second: with 20 MB 160 µs, and more with more. A
sampler may therefore be given a bound: what the rest leaves of it is for memory, which is read in
turn, those first that were never read, and each worker says how old its figures are. What it takes
in all is measured by `benches/eyes`.

Nothing is sent or signalled. What may not be seen is None and named.

Source: proc_pid_smaps(5), proc_pid_statm(5).
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from httpdyno.host.procfs import (
    ZOMBIE,
    ProcessStat,
    context_switches,
    ignores_children,
    page_table_bytes,
    readable,
)
from httpdyno.reason import Reason, because
from httpdyno.telemetry.processes import KeptFiles, ProcessTable

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_KINDS = (b"Private", b"Shared")
"""Of pages, in /proc/PID/smaps_rollup."""
_KERNEL_SUMS_UP = os.path.exists("/proc/self/smaps_rollup")  # noqa: PTH110 - a plain question
EACH_SECOND_S = 0.012
"""CPU time of a sampler that reads each second for long; who makes something of it takes more."""
_LEAST_MEMORY = 0.2
"""Of a bound, for memory: however many workers there are, all of it is read some time."""
NOT_TOLD = because("telemetry.not_told")
"""/proc/PID/smaps_rollup came with Linux 4.14."""


def not_visible() -> Reason:
    """Return why something may not be seen by this user."""
    is_root = os.geteuid() == 0
    return because("telemetry.not_visible_to_this_root" if is_root else "telemetry.not_visible")


def is_of_memory(hidden: Reason) -> bool:
    """Whether it is memory that may not be seen."""
    return hidden.code == "telemetry.memory"


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """What of a process is in memory, by /proc/PID/smaps_rollup."""

    rss_bytes: int
    pss_bytes: int
    """Shared pages by their shares: of a whole pool these add up to what it occupies."""
    uss_bytes: int
    """Pages that no other process has: what its end would give back."""
    shared_bytes: int
    """Pages that others have too, in full; these others need not be of the same pool."""
    anonymous_pss_bytes: int | None
    """Memory of its own making and shared memory, of `pss_bytes`; None before Linux 5.4."""
    file_pss_bytes: int | None
    """Pages of files, which the kernel may take away and read again; None before Linux 5.4."""
    swap_bytes: int
    """Of it in swap, shared pages by their shares."""
    named_pss_bytes: int = 0
    """Of `anonymous_pss_bytes` what is shared by name, and so is mapped as a file is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """A process of a server: its parent, or one of those below."""

    pid: int
    parent: int
    name: str
    """As the kernel calls it: 15 bytes at most."""
    state: str
    """`running`, `sleeping`, `disk sleep`, `zombie` and so on."""
    started_ticks: int
    """With the pid, what tells it from others that have or had the same pid."""
    age_s: float
    user_s: float
    """CPU time, in ticks of mostly 10 ms."""
    system_s: float
    minor_faults: int
    major_faults: int
    """Those for which a disk had to be read."""
    n_threads: int
    rss_bytes: int
    """Of /proc/PID/stat, which everybody may read; since Linux 6.2 to some dozen pages."""
    voluntary_switches: int | None = None
    """Times that it waited; of its first thread only where it has several."""
    involuntary_switches: int | None = None
    """Times that others had the CPU though it could have gone on."""
    page_table_bytes: int | None = None
    """Of the kernel's memory, for its own: in no size of the process, and in its group's limit."""
    n_descriptors: int | None = None
    reaped_s: float = 0.0
    """CPU time of children that it waited for, and of theirs."""
    ignores_children: bool = False
    """Whether nobody waits for its children: what they used is in no process's time."""
    memory: Memory | None = None
    """None where it may not be seen or was not read yet, and of zombies."""
    memory_age_s: float | None = None
    """How long ago that was read; None: not yet."""
    hidden: tuple[Reason, ...] = ()
    """What may not be seen, with the reason."""

    @property
    def is_zombie(self) -> bool:
        """Whether it has ended and its parent has not asked how: it has no memory any more."""
        return self.state == ZOMBIE

    @property
    def lacks_memory(self) -> bool:
        """Whether it has memory that is not known: a sum without it would be too little."""
        if self.memory is not None or self.is_zombie:
            return False
        return self.memory_age_s is None or any(map(is_of_memory, self.hidden))

    @property
    def cpu_s(self) -> float:
        """User and system time of its own, without children."""
        return self.user_s + self.system_s

    @property
    def identity(self) -> tuple[int, int]:
        """What no other process has while the machine is up."""
        return self.pid, self.started_ticks


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """All processes of a server at one moment."""

    at_s: float
    """Of the monotonic clock."""
    root_pids: tuple[int, ...]
    workers: tuple[Worker, ...]
    """Roots first, each followed by those below it; then those that are below none."""


@dataclass(frozen=True, slots=True)
class _Seen:
    memory: Memory | None
    hidden: Reason | None
    at_s: float


class WorkerSampler:
    """Reads the processes of some trees, again and again. Not for several threads at once."""

    def __init__(
        self,
        root_pids: Sequence[int],
        *,
        most_s: float = math.inf,
        keeps: int = 0,
        others: Callable[[], Iterable[int]] = tuple,
    ) -> None:
        """Watch some trees.

        Args:
            root_pids: The processes whose trees are the server.
            most_s: CPU time that a sample is to take. Of many workers it takes more: a part of it
                is for reading memory in any case, and one process's is read at least.
            keeps: How many files may stay open from one sample to the next.
            others: Says at each sample who is of the server wherever its parent is.
        """
        self._roots = tuple(root_pids)
        self._most_s = most_s
        self._files = KeptFiles(keeps)
        self._table = ProcessTable(root_pids, others=others, read=self._files.content)
        self._rest_s = 0.0
        """What all but memory took in the sample before."""
        self._memory: dict[tuple[int, int], _Seen] = {}

    def read(self, *, is_whole: bool = False) -> Sample:
        """Return all processes now; none where the roots are gone and nobody is left.

        Args:
            is_whole: Whether all memory is read, whatever that takes.
        """
        at_s = time.monotonic()
        boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        began_s = time.thread_time()
        self._table.look()
        self._files.keep_only(self._known)
        memory_s = self._read_memory(at_s, math.inf if is_whole else self._most_s)
        workers = tuple(self._worker(pid, at_s, boot_s) for pid in self._known)
        self._rest_s = time.thread_time() - began_s - memory_s
        return Sample(at_s=at_s, root_pids=self._roots, workers=workers)

    def _read_memory(self, at_s: float, bound_s: float) -> float:
        """Read memory in turn: who was never read first, then who was read longest ago.

        Returns:
            The CPU time that this took.
        """
        alive = {(pid, each.started_ticks) for pid, each in self._known.items()}
        self._memory = {key: seen for key, seen in self._memory.items() if key in alive}
        turn = sorted(alive, key=self._read_at)
        most_s = max(bound_s - self._rest_s, _LEAST_MEMORY * bound_s)
        began_s, took_s = time.thread_time(), 0.0
        for pid, started_ticks in turn:
            seen = self._memory[pid, started_ticks] = _memory(pid, at_s)
            if seen.memory is None and not seen.hidden:
                self._look_again(pid)
            took_s = time.thread_time() - began_s
            if took_s > most_s:
                break
        return took_s

    @property
    def _known(self) -> dict[int, ProcessStat]:
        return self._table.known

    def _look_again(self, pid: int) -> None:
        """Take note of one that has ended since it was listed."""
        now = self._table.stat(pid)
        if now is None:
            del self._known[pid]
        else:
            self._known[pid] = now

    def _read_at(self, key: tuple[int, int]) -> float:
        seen = self._memory.get(key)
        return -math.inf if seen is None else seen.at_s

    def _worker(self, pid: int, at_s: float, boot_s: float) -> Worker:
        each = self._known[pid]
        seen = self._memory.get((pid, each.started_ticks))
        status = self._files.content(pid, b"status")
        switches = context_switches(status)
        n_descriptors, hidden = _descriptors(pid)
        if seen is not None and seen.hidden:
            hidden = (because("telemetry.memory", why=seen.hidden), *hidden)
        return Worker(
            pid=pid,
            parent=each.parent,
            name=each.name,
            state=each.state,
            started_ticks=each.started_ticks,
            age_s=max(0.0, boot_s - each.started_ticks / _TICKS_PER_S),
            user_s=each.user_s,
            system_s=each.system_s,
            minor_faults=each.minor_faults,
            major_faults=each.major_faults,
            n_threads=each.n_threads,
            rss_bytes=each.rss_bytes,
            voluntary_switches=switches[0] if switches else None,
            involuntary_switches=switches[1] if switches else None,
            page_table_bytes=page_table_bytes(status),
            n_descriptors=n_descriptors,
            reaped_s=each.reaped_s,
            ignores_children=ignores_children(status),
            memory=seen.memory if seen and each.state != ZOMBIE else None,
            memory_age_s=at_s - seen.at_s if seen else None,
            hidden=hidden,
        )


def statm_bytes(text: bytes) -> int | None:
    """Return a process's virtual size less its pages of files and shared memory.

    What it shares with its parent since the fork, and what it never touched, is in there.

    Args:
        text: Of /proc/PID/statm; empty where it is gone.
    """
    pages = [int(each) for each in text.split()[:3]]
    return (pages[0] - pages[2]) * _PAGE_BYTES if len(pages) == 3 and pages[0] else None  # noqa: PLR2004


def memory(text: bytes) -> Memory | None:
    """Return what /proc/PID/smaps_rollup says; None of a zombie, which has no memory."""
    kib: dict[bytes, int] = {}
    for line in text.splitlines()[1:]:
        name, _, rest = line.partition(b":")
        kib[name] = int(rest.split(None, 1)[0])
    if b"Pss" not in kib:
        return None
    own, shared = (kib[b"%s_Clean" % kind] + kib[b"%s_Dirty" % kind] for kind in _KINDS)
    has_kinds = b"Pss_Anon" in kib
    return Memory(
        rss_bytes=kib[b"Rss"] * 1024,
        pss_bytes=kib[b"Pss"] * 1024,
        uss_bytes=(own + kib.get(b"Private_Hugetlb", 0)) * 1024,
        shared_bytes=(shared + kib.get(b"Shared_Hugetlb", 0)) * 1024,
        anonymous_pss_bytes=(kib[b"Pss_Anon"] + kib[b"Pss_Shmem"]) * 1024 if has_kinds else None,
        file_pss_bytes=kib[b"Pss_File"] * 1024 if has_kinds else None,
        swap_bytes=kib.get(b"SwapPss", kib.get(b"Swap", 0)) * 1024,
        named_pss_bytes=kib[b"Pss_Shmem"] * 1024 if has_kinds else 0,
    )


def _memory(pid: int, at_s: float) -> _Seen:
    if not _KERNEL_SUMS_UP:
        return _Seen(None, NOT_TOLD, at_s)
    try:
        return _Seen(memory(readable(b"/proc/%d/smaps_rollup" % pid)), None, at_s)
    except PermissionError:
        return _Seen(None, not_visible(), at_s)
    except OSError:  # it ended meanwhile
        return _Seen(None, None, at_s)


def _descriptors(pid: int) -> tuple[int | None, tuple[Reason, ...]]:
    """Return how many it has open: since Linux 6.2 the size of the folder says it.

    That has the one, too, that who waits in accept() has set aside for the next connection.
    """
    folder = f"/proc/{pid}/fd"
    try:
        return os.stat(folder).st_size or len(os.listdir(folder)), ()  # noqa: PTH116, PTH208 - hot
    except PermissionError:
        return None, (because("telemetry.descriptors", why=not_visible()),)
    except OSError:
        return None, ()
