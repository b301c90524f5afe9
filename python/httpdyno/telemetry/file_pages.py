"""Pages of files that processes have in memory, each counted once however many of them have it.

A proportional set size shares a page of a file out among all processes of the machine that have
it. So that of a server is the smaller the more servers of the same program are up, and with what
two have in common taken off both, the difference of the two looks the larger. Which pages a process
has is in its pagemap, which anybody may read of his own processes, without the pages' addresses.

Source: the kernel's Documentation/admin-guide/mm/pagemap.rst: bit 63 of an entry is that the page
is there, bit 61 that it is a file's, or memory that is shared by name; proc_pid_maps(5).
"""

import os
from collections import Counter
from collections.abc import Iterable

from httpdyno.telemetry.proc_file import readable

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ENTRY_BYTES = 8
_BITS = 0b1010_0000
"""Both of them, in an entry's last byte."""
_IS_THERE = bytes(each & _BITS == _BITS for each in range(256))
_MOST_PAGES = 1 << 20
"""Of one process. Whoever maps more than 4 GiB of files has them looked through for too long."""

_MOST_ALIKE = 8
"""Processes of the same program that are looked at: a pool's have the same pages of its files. Each
takes some milliseconds, and a pool may be of hundreds."""

_Pages = dict[tuple[bytes, bytes], int]
"""By device and inode: a byte for each page of the file, 1 where somebody has it, as one number."""


def file_bytes(pids: Iterable[int]) -> int | None:
    """Return what files take of memory by some processes; None where that is not told.

    Memory that they share by name is in it. What one of them wrote to has become its own, and is
    not.
    """
    found: _Pages = {}
    seen: Counter[str] = Counter()
    for pid in pids:
        try:
            program = os.readlink(f"/proc/{pid}/exe")  # noqa: PTH115 - hot
            seen[program] += 1
            if seen[program] <= _MOST_ALIKE:
                _take_in(pid, found)
        except (FileNotFoundError, ProcessLookupError):  # it has just ended
            continue
        except (OSError, OverflowError):
            return None
    return sum(pages.bit_count() for pages in found.values()) * _PAGE_BYTES


def _take_in(pid: int, found: _Pages) -> None:
    left = _MOST_PAGES
    lines = readable(b"/proc/%d/maps" % pid).splitlines()
    handle = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    try:
        for line in lines:
            addresses, _, offset, device, inode, *_ = line.split(None, 5)
            if inode == b"0":
                continue
            begin, end = (int(each, 16) // _PAGE_BYTES for each in addresses.split(b"-"))
            left -= end - begin
            if left < 0:
                raise OverflowError
            entries = os.pread(handle, (end - begin) * _ENTRY_BYTES, begin * _ENTRY_BYTES)
            there = entries[_ENTRY_BYTES - 1 :: _ENTRY_BYTES].translate(_IS_THERE)
            pages = int.from_bytes(there, "little") << int(offset, 16) // _PAGE_BYTES * 8
            found[device, inode] = found.get((device, inode), 0) | pages
    finally:
        os.close(handle)
