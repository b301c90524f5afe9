"""How many workers memory has room for: what is true, and what other formulas would say. Pure.

All take T, the memory that the server may have, less a reserve. Workers that share pages with their
parent fill it so: what is there once, however many they are, is the parent and all that is shared
(P, the whole pool's proportional set size less what its workers have of their own), and each worker
adds what is its own (u, the largest unique set size, and the kernel's part): n = (T − P) / u. The
parent's proportional set size alone is too little for P as soon as there are workers, because it
has only its share of the shared pages.

What the kernel keeps for a process is in none of its sizes, and yet in the memory that is available
and in a control group's limit: tables of its pages, which grow with what it maps, also what it
shares, and some more. Of workers that have little of their own that is a third of what they take.

Resident sizes count what is shared again in each worker. The two closed forms take the resident
size of the largest worker (`child`) and what of it is shared.

Without the kernel's part the number of workers was up to 36 % over what the kernel lets live
(`python -m benches.memory`, Apache with 50 MB preloaded).

Source: Bekman and Cholet, Practical mod_perl, 2004, chapter 11; the kernel's
Documentation/filesystems/proc.rst for `MemAvailable` and `smaps_rollup`.
"""

from dataclasses import dataclass

from httpdyno.telemetry.pool import Pool
from httpdyno.telemetry.worker import Worker

AVAILABLE = "MemAvailable and what it has"
CONTROL_GROUP = "the limit of its control group, less what others in it hold"
RESERVE_RATIO = 0.1
"""Of what is available: workers grow, and not all of them have met their largest page yet."""
_KERNEL_BESIDES_BYTES = 80 * 1024
"""For a process besides its page tables: stack, descriptions of it and of its mappings, sockets.
66 to 94 KiB were seen for a worker of gunicorn and of Apache with mod_perl (Linux 6.18)."""
_THREAD_BYTES = 16 * 1024
"""Of the kernel, the stack of a further thread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryBound:
    """How many workers there is room for; None where what it takes is not known."""

    available_bytes: int
    """All that this server may have, what it has already included."""
    limited_by: str
    """`AVAILABLE` or `CONTROL_GROUP`."""
    reserve_bytes: int
    """Of it not given out."""
    once_bytes: int
    """P: the parent, and what the workers share with it or with each other."""
    each_bytes: int
    """The largest worker's own."""
    kernel_bytes: int
    """In u besides: the kernel's for a worker; 0 where it does not tell."""
    n: int | None
    """(T − P) / (u with the kernel's part); None where no worker has anything of its own, as the
    others."""
    n_by_parent: int | None
    """The same with the parent's proportional set size as P."""
    n_by_rss: int | None
    """T / the largest resident size."""
    n_by_child: int | None
    """(T − child) / (child − shared)."""
    n_by_shared: int | None
    """(T − shared) / (child − shared)."""


def memory_bound(
    pool: Pool, *, available_bytes: int | None, limit_bytes: int | None = None
) -> MemoryBound | None:
    """Return the bounds; None of a server without workers, or whose memory is not all told.

    Which of its pages are of files has to be known (Linux 5.4): the kernel counts those as
    available already, and with them counted twice more would seem to fit than do.

    Args:
        pool: As it is now.
        available_bytes: MemAvailable of /proc/meminfo; None where that is not told (before Linux
            3.14).
        limit_bytes: Of its control group, or of one above it, less what others in it hold; None
            where there is none.
    """
    largest = pool.largest
    child = largest.memory if largest else None
    if largest is None or child is None or pool.pss_bytes is None or pool.workers_uss_bytes is None:
        return None
    if available_bytes is None or pool.file_pss_bytes is None:
        return None
    # Pages of files are available already, although the pool has them.
    available_bytes += pool.pss_bytes - pool.file_pss_bytes
    limited_by = AVAILABLE
    if limit_bytes is not None and limit_bytes < available_bytes:
        available_bytes, limited_by = limit_bytes, CONTROL_GROUP
    reserve_bytes = round(available_bytes * RESERVE_RATIO)
    room = available_bytes - reserve_bytes
    once_bytes, each_bytes = pool.pss_bytes - pool.workers_uss_bytes, child.uss_bytes
    kernel_bytes = kernel_bytes_of(largest)
    return MemoryBound(
        available_bytes=available_bytes,
        limited_by=limited_by,
        reserve_bytes=reserve_bytes,
        once_bytes=once_bytes,
        each_bytes=each_bytes,
        kernel_bytes=kernel_bytes,
        # The parent is one more process that the kernel keeps something for.
        n=_whole(room - once_bytes - kernel_bytes, each_bytes + kernel_bytes)
        if each_bytes
        else None,
        n_by_parent=_whole(room - (pool.parent_pss_bytes or 0), each_bytes),
        n_by_rss=_whole(room, pool.largest_rss_bytes),
        n_by_child=_whole(room - child.rss_bytes, each_bytes),
        n_by_shared=_whole(room - child.shared_bytes, each_bytes),
    )


def kernel_bytes_of(worker: Worker) -> int:
    """Return what the kernel keeps for a worker, in none of its sizes; 0 where it does not tell."""
    if worker.page_table_bytes is None:
        return 0
    stacks = _THREAD_BYTES * (worker.n_threads - 1)
    return worker.page_table_bytes + _KERNEL_BESIDES_BYTES + stacks


def _whole(room: int, each: int) -> int | None:
    return max(0, room // each) if each else None
