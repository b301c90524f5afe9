"""The system call that a thread is in, as /proc/PID/task/TID/syscall tells it. Pure.

Source: proc_pid_syscall(5); the kernel's tables of numbers, arch/x86/entry/syscalls/syscall_64.tbl
and include/uapi/asm-generic/unistd.h.
"""

from collections.abc import Mapping
from enum import IntEnum, auto
from typing import NamedTuple


class Kind(IntEnum):
    """Of a call, by what a thread that is in it may wait for."""

    RUNNING = auto()
    """In none that it waits in: on a CPU, or ready for one."""
    NONE = auto()
    """In none, and yet not running: a page that is read, a signal that stopped it, its end."""
    OTHER = auto()
    ACCEPT = auto()
    EVENTS = auto()
    """Any of many descriptors, or a signal."""
    POLL = auto()
    SELECT = auto()
    READ = auto()
    WRITE = auto()
    SEND_FILE = auto()
    CONNECT = auto()
    FUTEX = auto()
    RECORD_LOCK = auto()
    """fcntl, which does much else too."""
    FILE_LOCK = auto()
    SEMAPHORE = auto()
    CHILD = auto()
    SLEEP = auto()
    DISK = auto()


class Call(NamedTuple):
    """What a thread is in."""

    kind: Kind
    arguments: tuple[int, ...] = ()
    stack_pointer: int = 0


RUNNING = Call(Kind.RUNNING)
_FIELDS = 9
_WITHOUT_ARGUMENTS = frozenset(
    {Kind.OTHER, Kind.ACCEPT, Kind.EVENTS, Kind.CHILD, Kind.SLEEP, Kind.DISK}
)
"""They say enough as they are."""
_FOUR_GIB = 1 << 32

_X86_64 = {
    Kind.ACCEPT: (43, 288),
    # epoll_wait, epoll_pwait, epoll_pwait2, io_getevents, io_pgetevents, io_uring_enter,
    # rt_sigtimedwait, rt_sigsuspend
    Kind.EVENTS: (232, 281, 441, 208, 333, 426, 128, 130),
    Kind.POLL: (7, 271),
    Kind.SELECT: (23, 270),
    # read, pread64, readv, preadv, preadv2, recvfrom, recvmsg, recvmmsg
    Kind.READ: (0, 17, 19, 295, 327, 45, 47, 299),
    # write, pwrite64, writev, pwritev, pwritev2, sendto, sendmsg, sendmmsg
    Kind.WRITE: (1, 18, 20, 296, 328, 44, 46, 307),
    Kind.SEND_FILE: (40,),
    Kind.CONNECT: (42,),
    Kind.FUTEX: (202,),
    Kind.RECORD_LOCK: (72,),
    Kind.FILE_LOCK: (73,),
    Kind.SEMAPHORE: (65, 220),
    # wait4, waitid, vfork; clone and clone3, which wait as vfork does: posix_spawn calls them
    Kind.CHILD: (61, 247, 58, 56, 435),
    # nanosleep, clock_nanosleep, pause
    Kind.SLEEP: (35, 230, 34),
    # fsync, fdatasync, msync, sync, syncfs, sync_file_range
    Kind.DISK: (74, 75, 26, 162, 306, 277),
}
_AARCH64 = {
    Kind.ACCEPT: (202, 242),
    Kind.EVENTS: (22, 441, 4, 292, 426, 137, 133),
    Kind.POLL: (73,),
    Kind.SELECT: (72,),
    Kind.READ: (63, 67, 65, 69, 286, 207, 212, 243),
    Kind.WRITE: (64, 68, 66, 70, 287, 206, 211, 269),
    Kind.SEND_FILE: (71,),
    Kind.CONNECT: (203,),
    Kind.FUTEX: (98,),
    Kind.RECORD_LOCK: (25,),
    Kind.FILE_LOCK: (32,),
    Kind.SEMAPHORE: (193, 192),
    Kind.CHILD: (260, 95, 220, 435),
    Kind.SLEEP: (101, 115),
    Kind.DISK: (82, 83, 227, 81, 267, 84),
}
_TABLES = {"x86_64": _X86_64, "aarch64": _AARCH64}


def kinds(machine: str) -> Mapping[int, Kind]:
    """Return the kinds of calls by number; empty for a machine whose numbers are not known.

    Args:
        machine: As `platform.machine()` names it.
    """
    table = _TABLES.get(machine, {})
    return {number: kind for kind, numbers in table.items() for number in numbers}


def call(text: bytes, kind_of: Mapping[int, Kind]) -> Call:
    """Return what a thread's /proc/PID/task/TID/syscall says.

    A program of 32 bits has other numbers; it is known by its stack, and what it is in is `OTHER`.
    """
    fields = text.split()
    if len(fields) < _FIELDS:
        return RUNNING if fields[:1] == [b"running"] else Call(Kind.NONE)
    number, stack_pointer = int(fields[0]), int(fields[7], 16)
    if number < 0:
        return Call(Kind.NONE)
    if stack_pointer < _FOUR_GIB:
        return Call(Kind.OTHER)
    kind = kind_of.get(number, Kind.OTHER)
    if kind in _WITHOUT_ARGUMENTS:
        return Call(kind)
    return Call(kind, tuple(int(each, 16) for each in fields[1:7]), stack_pointer)
