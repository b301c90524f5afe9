"""What was counted of the server's processes over the same time as a window of load."""

import math

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.calls import Calls


class OfWorkers(Record, frozen=True):
    """A figure of several workers."""

    median: float
    """Of several starts the median of theirs."""
    largest: float
    """Of several starts the largest of all."""


class WorkersSeen(Record, frozen=True, omit_defaults=True):
    """Processes of one program, without those that have others of the server below them.

    As a start's last edge finds them; those are told apart that used no CPU. What is None was not
    told by the kernel, or not to this user.
    """

    program: str
    """As the kernel calls it: 15 bytes at most."""
    n: float
    """The mean of several starts."""
    median_uss_bytes: int
    """What one has for itself alone; of several starts the median of theirs."""
    largest_uss_bytes: int
    """Of several starts the largest of all."""
    youngest_s: float
    """For how long it had lived; of several starts the least."""
    median_age_s: float
    """Of several starts the median of theirs."""
    oldest_s: float
    """Of several starts the most."""
    pss_bytes: OfWorkers | None = None
    """Shared pages by their shares."""
    rss_bytes: OfWorkers | None = None
    shared_bytes: OfWorkers | None = None
    """Of `rss_bytes` what others have too, in full."""
    anonymous_pss_bytes: OfWorkers | None = None
    """Of `pss_bytes` what is no file's, memory that is shared by name with it."""
    file_pss_bytes: OfWorkers | None = None
    """Of `pss_bytes` pages of files."""
    page_table_bytes: OfWorkers | None = None
    """Of the kernel's memory, in none of these sizes."""
    user_s: OfWorkers | None = None
    """CPU time since it began, in ticks of mostly 10 ms, as the next."""
    system_s: OfWorkers | None = None
    voluntary_switches: OfWorkers | None = None
    """Times that it waited, since it began; of its first thread only, as the next."""
    involuntary_switches: OfWorkers | None = None
    """Times that others had the CPU though it could have gone on."""
    major_faults: OfWorkers | None = None
    """Pages for which a disk had to be read, since it began."""
    n_descriptors: OfWorkers | None = None
    n_threads: OfWorkers | None = None
    states: dict[str, float] = msgspec.field(default_factory=dict)
    """How many were `sleeping`, `running` and so on; the mean of several starts."""
    n_idle: float = 0.0
    """Besides, those that used no CPU over a start's windows while others did: a spare worker, or a
    helper such as nginx's cache manager and httpd's daemon for CGI. In no figure here but the next
    one."""
    once_bytes: int | None = None
    """Of the server's whole memory (`pss_bytes` of `Telemetry`) what these have not for themselves
    alone: what is there once, however many of them there are. Of several starts the most."""
    kernel_bytes: int = 0
    """What the kernel keeps for the one that has the most for itself, in none of its sizes: 0 where
    that is not told. Of several starts the most."""

    def n_within(self, room_bytes: float) -> int | None:
        """Return how many of them there is room for, were each as large as the largest.

        None where that is not known, and where no worker has anything for itself alone.

        Source: `telemetry/pool.py`, of which it is n for a room without a reserve.
        """
        if self.once_bytes is None or not self.largest_uss_bytes:
            return None
        # The parent is one more process that the kernel keeps something for.
        left = room_bytes - self.once_bytes - self.kernel_bytes
        return max(0, math.floor(left / (self.largest_uss_bytes + self.kernel_bytes)))


class Telemetry(Record, frozen=True, omit_defaults=True):
    """The server's processes over one window."""

    cpu_s: float
    """User and system CPU seconds, those of processes included that have ended."""
    pss_bytes: int | None = None
    """Memory of all at the window's end, shared pages counted once; None when it was not read."""
    n_processes: int = 0
    steal_s: float = 0.0
    """CPU time the hypervisor took from this host in the window."""
    misses_cpu: bool = False
    """Whether children that nobody waits for are not in `cpu_s`; told after the last window."""
    swapped_bytes: int | None = None
    """Of all in swap, shared pages by their shares; read together with `pss_bytes`."""
    uss_bytes: int | None = None
    """Of all what only one process has; read together with `pss_bytes`."""
    workers: tuple[WorkersSeen, ...] = ()
    """Those at the window's end, the most first; read together with `pss_bytes`."""
    zombies: dict[str, int] = msgspec.field(default_factory=dict)
    """Processes that had ended and that nobody had asked how, by the name of their parent, empty
    where that is none of the server; read together with `pss_bytes`."""
    major_faults: int = 0
    """Pages of theirs for which a disk had to be read."""
    swap_ins: int = 0
    """Pages that this machine read back from swap, whosever they are."""
    memory_wait_s: float | None = None
    """For how long some task waited for memory: of the server's own control group, or where it has
    none of the one that it is in, or of the machine. None where nobody tells."""
    calls: Calls | None = None
    """Where it is no server, but a program that repeats a body: what is taken off."""
    n_at_memory_limit: int = 0
    """How often it met the memory limit that its study sets: the kernel then took something back,
    pages of files mostly, or ended a process."""
    n_cpu_periods: int = 0
    """Of the CPU limit that its study sets, in which it wanted to run; of several servers all."""
    n_throttled: int = 0
    """Of those, in which it used its CPU seconds up and stood still."""
    throttled_s: float = 0.0
    """For how long, summed over the CPUs that it would have run on."""
    lookups: int | None = None
    """Questions to its resolver of names; None where it has none of its own."""
