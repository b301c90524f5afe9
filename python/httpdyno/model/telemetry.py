"""What was counted of the server's processes over the same time as a window of load."""

from httpdyno.model.base import Record
from httpdyno.model.calls import Calls


class WorkersSeen(Record, frozen=True, omit_defaults=True):
    """Processes of one program, without those that have others of the server below them."""

    program: str
    """As the kernel calls it: 15 bytes at most."""
    n: float
    """At a start's last edge; the mean of several starts."""
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
    """Of all what only one process has; read together with `pss_bytes`. None also in what an
    earlier version stored."""
    workers: tuple[WorkersSeen, ...] = ()
    """Those at the window's end, the most first; read together with `pss_bytes`. Empty also in what
    an earlier version stored."""
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
