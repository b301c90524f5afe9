r"""Whether a server waited for memory in a window: read at its edges, so it must be cheap.

A server that httpdyno started is in a control group of its own where the kernel has those, and then
what waited are its own tasks. Elsewhere it is told of the group that it is in, or of the machine,
and then only other windows can say whose fault it is.

Pages that came back from swap are those of the whole machine, as no cheap file has them by process;
on a machine without swap nobody asks. An edge takes 4 to 5 µs, and 11 µs more where there is swap:

    python -m timeit -s 'from httpdyno.host.procfs import content' \
        'content(b"/proc/vmstat")'

Source: the kernel's Documentation/accounting/psi.rst and Documentation/admin-guide/cgroup-v2.rst.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from httpdyno.host.procfs import content
from httpdyno.model import Telemetry

_MACHINE = b"/proc/pressure/memory"
_SWAP_INS = b"\npswpin "


class ShortageCollector:
    """Time in which the server waited for memory, and what came back from swap meanwhile."""

    def __init__(self, groups: Iterable[Path]) -> None:
        """Find out what can be read.

        Args:
            groups: The control groups that the server is in; none: the machine is asked.
        """
        self._files = pressure_files(groups)
        self._has_swap = has_swap(content(b"/proc/swaps"))
        self._opened_s = [0.0] * len(self._files)
        self._opened_pages = 0

    def open(self) -> None:
        """Take note of both as a window opens."""
        self._opened_s = [waited_s(content(file)) or 0.0 for file in self._files]
        self._opened_pages = self._pages()

    def close(self, seen: Telemetry, *, is_last: bool) -> Telemetry:
        """Add what there was since."""
        del is_last
        now = [waited_s(content(file)) for file in self._files]
        since = [s - was for s, was in zip(now, self._opened_s, strict=True) if s is not None]
        return structs.replace(
            seen,
            # Of several groups they may be the same moments, so they are not added up.
            memory_wait_s=max(0.0, *since) if since else None,
            swap_ins=max(0, self._pages() - self._opened_pages),
        )

    def _pages(self) -> int:
        return swapped_in(content(b"/proc/vmstat")) if self._has_swap else 0


def pressure_files(groups: Iterable[Path]) -> tuple[bytes, ...]:
    """Return the files that tell how long the tasks of these groups waited for memory.

    The machine's where one tells nothing, and none where that is not told either.
    """
    files = [os.fsencode(group / "memory.pressure") for group in groups] or [_MACHINE]
    told = (file if waited_s(content(file)) is not None else _MACHINE for file in files)
    return tuple(file for file in dict.fromkeys(told) if waited_s(content(file)) is not None)


def waited_s(text: bytes) -> float | None:
    """Return for how long at least one task waited so far; None where that is not told.

    Args:
        text: Of a file such as /proc/pressure/memory: `some avg10=… total=1234`, in µs.
    """
    some, _, _ = text.partition(b"\n")
    _, found, total = some.partition(b" total=")
    return int(total) / 1e6 if found and some.startswith(b"some ") else None


def swapped_in(vmstat: bytes) -> int:
    """Return the pages that were read back from swap so far; 0 where that is not told."""
    _, found, rest = vmstat.partition(_SWAP_INS)
    return int(rest.partition(b"\n")[0]) if found else 0


def has_swap(swaps: bytes) -> bool:
    """Tell whether there is any swap, by /proc/swaps: a line each, below a line of names."""
    return swaps.count(b"\n") > 1
