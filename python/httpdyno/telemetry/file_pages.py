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

from httpdyno.host.procfs import readable

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_ENTRY_BYTES = 8
_BITS = 0b1010_0000
"""Both of them, in an entry's last byte."""
_IS_THERE = bytes(each & _BITS == _BITS for each in range(256))
_MOST_PAGES = 1 << 20
"""Of one process. Whoever maps more than 4 GiB of files has them looked through for too long."""

_CHUNK_PAGES = 1 << 16
"""Of a file, that one number is for: a mapping may begin anywhere in a file that is huge."""
_NO_FILE = b"00:00", b"0"
_BY_NUMBER = b"/SYSV"
"""How the name of what shmget(2) made begins: its inode is its number, which may be 0, or another
one's inode."""

_MOST_ALIKE = 8
"""Processes of the same program that are looked at: a pool's have the same pages of its files. Each
takes some milliseconds, and a pool may be of hundreds."""

_Pages = dict[tuple[bytes, bytes, int], int]
"""By device, inode and chunk: a byte for each page of the file, 1 where somebody has it, as one
number."""


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
            addresses, _, offset, device, inode, *name = line.split(None, 5)
            if (device, inode) == _NO_FILE:
                continue
            begin, end = (int(each, 16) // _PAGE_BYTES for each in addresses.split(b"-"))
            left -= end - begin
            if left < 0:
                raise OverflowError
            entries = os.pread(handle, (end - begin) * _ENTRY_BYTES, begin * _ENTRY_BYTES)
            there = entries[_ENTRY_BYTES - 1 :: _ENTRY_BYTES].translate(_IS_THERE)
            kind = _BY_NUMBER if name and name[0].startswith(_BY_NUMBER) else b""
            _add(there, int(offset, 16) // _PAGE_BYTES, (device, kind + inode), found)
    finally:
        os.close(handle)


def _add(there: bytes, first: int, file: tuple[bytes, bytes], found: _Pages) -> None:
    """Add pages of a file, a byte for each from the first on."""
    while there:
        chunk, at = divmod(first, _CHUNK_PAGES)
        piece, there = there[: _CHUNK_PAGES - at], there[_CHUNK_PAGES - at :]
        pages = int.from_bytes(piece, "little") << at * 8
        found[*file, chunk] = found.get((*file, chunk), 0) | pages
        first += len(piece)
