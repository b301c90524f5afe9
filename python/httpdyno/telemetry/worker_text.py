"""What /proc says of one process, as text that was read: parsed here, read elsewhere. Pure.

Source: proc_pid_stat(5), proc_pid_status(5), proc_pid_smaps(5).
"""

import os
import signal
from dataclasses import dataclass
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_STATES = {
    b"R": "running",
    b"S": "sleeping",
    b"D": "waiting for a disk",
    b"T": "stopped",
    b"t": "traced",
    b"Z": "zombie",
    b"X": "dead",
    b"x": "dead",
    b"I": "idle",
}
ZOMBIE = "zombie"
DEAD = "dead"
_CHILD_SIGNAL = 1 << (signal.SIGCHLD - 1)


class Stat(NamedTuple):
    """A line of /proc/PID/stat."""

    name: str
    """As the kernel calls it: 15 bytes at most."""
    state: str
    parent: int
    minor_faults: int
    major_faults: int
    user_s: float
    system_s: float
    n_threads: int
    started_ticks: int
    rss_bytes: int
    reaped_major_faults: int
    """Of children that it waited for, and of theirs; as the next."""
    reaped_s: float
    """Their CPU time."""


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


def stat(text: bytes) -> Stat:
    """Return what a process's own line says."""
    # The second field is the name in parentheses, which may itself contain anything.
    opened, closed = text.index(b"("), text.rindex(b")")
    fields = text[closed + 2 :].split(None, 22)
    return Stat(
        name=text[opened + 1 : closed].decode(errors="replace"),
        state=_STATES.get(fields[0], "unknown"),
        parent=int(fields[1]),
        minor_faults=int(fields[7]),
        major_faults=int(fields[9]),
        user_s=int(fields[11]) / _TICKS_PER_S,
        system_s=int(fields[12]) / _TICKS_PER_S,
        n_threads=int(fields[17]),
        started_ticks=int(fields[19]),
        rss_bytes=int(fields[21]) * _PAGE_BYTES,
        reaped_major_faults=int(fields[10]),
        reaped_s=(int(fields[13]) + int(fields[14])) / _TICKS_PER_S,
    )


def context_switches(text: bytes) -> tuple[int, int] | None:
    """Return the voluntary and involuntary ones in /proc/PID/status; None where it has none."""
    # They are the last two of some sixty lines.
    _, found, tail = text.rpartition(b"\nvoluntary_ctxt_switches:")
    numbers = tail.replace(b"nonvoluntary_ctxt_switches:", b"").split() if found else []
    return (int(numbers[0]), int(numbers[1])) if len(numbers) == 2 else None  # noqa: PLR2004


def page_table_bytes(text: bytes) -> int | None:
    """Return what the kernel's tables of its pages take, by /proc/PID/status; None of a zombie."""
    _, found, tail = text.partition(b"\nVmPTE:")
    return int(tail.split(None, 1)[0]) * 1024 if found else None


def ignores_children(text: bytes) -> bool:
    """Whether a process ignores SIGCHLD, by /proc/PID/status: its children are reaped unasked."""
    _, found, tail = text.partition(b"\nSigIgn:")
    return bool(found) and bool(int(tail.split(None, 1)[0], 16) & _CHILD_SIGNAL)


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


_KINDS = (b"Private", b"Shared")
