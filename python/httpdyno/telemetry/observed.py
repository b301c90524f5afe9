"""A server that runs, looked at once from outside: whatever started it, and without asking it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from httpdyno.host.procfs import content
from httpdyno.telemetry.memory_bound import MemoryBound, memory_bound
from httpdyno.telemetry.pool import Pool, pool
from httpdyno.telemetry.server_sockets import ServerSockets
from httpdyno.telemetry.surroundings import (
    HostMemory,
    Sockets,
    host_memory,
    memory_limit_bytes,
)
from httpdyno.telemetry.worker import Worker, WorkerSampler, statm_bytes

_NO_ROOM = "room for workers is not known where the kernel does not tell"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """A server at one moment."""

    root_pid: int
    workers: tuple[Worker, ...]
    """The parent first."""
    pool: Pool
    host: HostMemory
    bound: MemoryBound | None = None
    """None of a server without workers, and where its memory is not all told."""
    sockets: Sockets | None = None
    """None where nobody asked."""
    statm_bytes: Mapping[int, int] = field(default_factory=dict)
    """Process → its virtual size less its pages of files and shared memory."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """What of it may not be seen, with the reason, each once."""
        beside = [*([self.no_bound] if self.no_bound else []), *self._hidden_sockets]
        return tuple(dict.fromkeys([*(w for each in self.workers for w in each.hidden), *beside]))

    @property
    def no_bound(self) -> str:
        """Why it is not known how many workers fit, where their own memory is; else empty."""
        if self.bound is not None or not self.pool.n_workers or self.pool.pss_bytes is None:
            return ""
        if self.host.available_bytes is None:
            return f"{_NO_ROOM}: MemAvailable of /proc/meminfo, since Linux 3.14"
        if self.pool.file_pss_bytes is None:
            return f"{_NO_ROOM}: which pages are of files, since Linux 5.4"
        return ""

    @property
    def _hidden_sockets(self) -> tuple[str, ...]:
        return self.sockets.hidden if self.sockets else ()


def observed(root_pid: int, inodes: Collection[int] | None = None) -> Observed | None:
    """Return what a server's processes are now; None where it is gone.

    Args:
        root_pid: The process that it began as.
        inodes: Of the sockets that it listens at; None to leave them out, since on a machine with
            many connections it takes a while to list them.
    """
    sample = WorkerSampler([root_pid]).read()
    if not sample.workers:
        return None
    together, host = pool(sample), host_memory()
    own_bytes = (together.pss_bytes or 0) - (together.file_pss_bytes or 0)
    return Observed(
        root_pid=root_pid,
        workers=sample.workers,
        pool=together,
        host=host,
        bound=memory_bound(
            together,
            available_bytes=host.available_bytes,
            limit_bytes=memory_limit_bytes(root_pid, own_bytes),
        ),
        sockets=None if inodes is None else ServerSockets(inodes).look(root_pid),
        statm_bytes=_statm_bytes(sample.workers),
    )


def _statm_bytes(workers: Iterable[Worker]) -> Mapping[int, int]:
    # Not among what is sampled each second: a file more for each process.
    found = {each.pid: statm_bytes(content(b"/proc/%d/statm" % each.pid)) for each in workers}
    return {pid: n for pid, n in found.items() if n is not None}
