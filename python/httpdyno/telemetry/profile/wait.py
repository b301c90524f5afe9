"""What a thread waits for, by the system call that it is in and what its descriptors are. Pure.

Nothing is asked here: descriptors, memory and states are told by `ThreadProbe`.

**Locks.** A thread in futex may wait for a mutex, or for work: pools sleep in futex, too. What
tells them apart is how the C library calls it. glibc waits for a mutex until its word is not 2,
without a timeout; for one that is robust or of musl, until the word is not the holder's number with
the top bit set; for one that inherits priority by another operation. A condition variable or a
semaphore is waited for otherwise, but programs make locks of those also: Python's, and Java's
monitors. So these are not locks here but `is_unclear`. musl's condition variables look like glibc's
mutexes; but their word is on the stack of the thread that waits, where no mutex is that others
hold.

Python's interpreter lock is waited for at a condition variable for 5 ms, again and again. So a wait
that ends as soon as that is one for a lock, if another thread of its process runs meanwhile.

Source: proc_pid_syscall(5); the kernel's tables of numbers, arch/x86/entry/syscalls/syscall_64.tbl
and include/uapi/asm-generic/unistd.h.
"""

import socket
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, auto
from typing import Literal, NamedTuple, Protocol

from httpdyno.model.look import Doing
from httpdyno.telemetry.profile.end import End, EndKind


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


class CurrentCall(NamedTuple):
    """What a thread is in."""

    kind: Kind
    arguments: tuple[int, ...] = ()
    stack_pointer: int = 0


RUNNING = CurrentCall(Kind.RUNNING)
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


def call(text: bytes, kind_of: Mapping[int, Kind]) -> CurrentCall:
    """Return what a thread's /proc/PID/task/TID/syscall says.

    A program of 32 bits has other numbers; it is known by its stack, and what it is in is `OTHER`.
    """
    fields = text.split()
    if len(fields) < _FIELDS:
        return RUNNING if fields[:1] == [b"running"] else CurrentCall(Kind.NONE)
    number, stack_pointer = int(fields[0]), int(fields[7], 16)
    if number < 0:
        return CurrentCall(Kind.NONE)
    if stack_pointer < _FOUR_GIB:
        return CurrentCall(Kind.OTHER)
    kind = kind_of.get(number, Kind.OTHER)
    if kind in _WITHOUT_ARGUMENTS:
        return CurrentCall(kind)
    return CurrentCall(kind, tuple(int(each, 16) for each in fields[1:7]), stack_pointer)


_POLL_IN, _POLL_OUT = 0x001, 0x004
_MOST_POLLED = 16
"""Who watches more waits for any event."""
_MOST_SELECTED = 1024
_POLLED = struct.Struct("=ihh")
_TIMESPEC = struct.Struct("=qq")

_FUTEX_COMMAND, _FUTEX_PRIVATE, _FUTEX_REALTIME = 0x7F, 0x80, 0x100
_FUTEX_WAIT, _FUTEX_WAIT_BITSET = 0, 9
_FUTEX_LOCK_PI = (6, 13)
_HOLDER, _HAS_WAITERS = 0x3FFF_FFFF, 0x8000_0000
_CONTENDED = 2
_OWN_STACK_BYTES = 1 << 20
_SWITCH_INTERVAL_S = 0.005
"""Of Python, `sys.setswitchinterval`."""
_SET_LOCK_AND_WAIT = (7, 38)
"""F_SETLKW and F_OFD_SETLKW."""


class Lock(NamedTuple):
    """What is waited for."""

    key: str
    """The same for all that wait for it."""
    holder: int | None = None
    """The thread that has it; None where that is not told."""
    scope: Literal["thread", "process", "interpreter"] = "process"
    """Who shares it: threads of one process, processes, or whoever runs Python in one."""
    is_serving: bool | None = None
    """Whether who waits for it holds a client's connection; None where that was not asked."""


class ThreadState(NamedTuple):
    """What a thread is at."""

    doing: Doing
    backend: str = ""
    lock: Lock | None = None
    """With `lock`; and with `idle`, if that is a lock should another thread of it run."""
    is_unclear: bool = False
    """It may wait for work, or for a lock of the program's own making."""
    is_listening: bool = False
    """It waits for a connection, and for nothing else."""


class ThreadProbe(Protocol):
    """What may be asked of one thread and its process."""

    @property
    def has_children(self) -> bool:
        """Whether its process has some."""

    def state(self) -> str:
        """Return the state, as `procfs.ProcessStat` has it."""

    def end(self, descriptor: int) -> End:
        """Return what a descriptor is."""

    def memory(self, address: int, n_bytes: int) -> bytes:
        """Return what is in its memory; empty where that may not be read."""

    def file_lock(self, descriptor: int) -> Lock:
        """Return the lock on a file."""

    def thread_numbered(self, number: int) -> int:
        """Return the thread that its process knows by a number; the number where none is found."""


IDLE, OTHER, SLEEP = ThreadState("idle"), ThreadState("other"), ThreadState("sleep")
_UNCLEAR = ThreadState("idle", is_unclear=True)
LISTENS = ThreadState("idle", is_listening=True)
_PLAIN: dict[Kind, ThreadState] = {
    Kind.RUNNING: ThreadState("running"),
    Kind.ACCEPT: LISTENS,
    Kind.EVENTS: IDLE,
    Kind.CHILD: ThreadState("child"),
    Kind.SLEEP: SLEEP,
    Kind.DISK: ThreadState("disk"),
}


def seen(call: CurrentCall, eyes: ThreadProbe) -> ThreadState:
    """Return what a thread is at."""
    plain = _PLAIN.get(call.kind)
    if plain is not None:
        return plain
    by_arguments = _BY_ARGUMENTS.get(call.kind)
    return by_state(eyes.state()) if by_arguments is None else by_arguments(call, eyes)


def by_state(state: str) -> ThreadState:
    """Return what a state alone says."""
    match state:
        case "running":
            return ThreadState("running")
        case "disk sleep":
            return ThreadState("disk")
        case "zombie":
            return ThreadState("zombie")
        case _:
            return OTHER


def _transferring(call: CurrentCall, eyes: ThreadProbe) -> ThreadState:
    if call.kind is Kind.SEND_FILE and eyes.state() == "disk sleep":
        return ThreadState("disk")
    end = eyes.end(call.arguments[0])
    match end.kind:
        case EndKind.CLIENT:
            return ThreadState("client_read" if call.kind is Kind.READ else "client_write")
        case EndKind.BACKEND:
            return ThreadState("backend", end.address)
        case EndKind.PIPE if eyes.has_children:
            return ThreadState("child")
        case EndKind.PIPE | EndKind.EVENTS if call.kind is Kind.READ:
            return IDLE
        case _:
            return by_state(eyes.state())


def _connecting(call: CurrentCall, eyes: ThreadProbe) -> ThreadState:
    end = eyes.end(call.arguments[0])
    address = end.address or socket_address(eyes.memory(call.arguments[1], call.arguments[2]))
    return ThreadState("backend", address) if address else OTHER


def socket_address(name: bytes) -> str:
    """Return a socket's address as `ListeningSocket` writes it; empty of other families.

    Args:
        name: As connect(2) takes it.
    """
    family = int.from_bytes(name[:2], sys.byteorder)
    if family == socket.AF_UNIX:
        path = name[2:]
        path = b"@" + path[1:] if path[:1] == b"\0" else path.partition(b"\0")[0]
        return f"unix:{path.decode(errors='surrogateescape')}"
    port = int.from_bytes(name[2:4], "big")
    if family == socket.AF_INET and len(name) >= 8:  # noqa: PLR2004 - with the address
        return f"{socket.inet_ntop(socket.AF_INET, name[4:8])}:{port}"
    if family == socket.AF_INET6 and len(name) >= 24:  # noqa: PLR2004 - likewise
        return f"[{socket.inet_ntop(socket.AF_INET6, name[8:24])}]:{port}"
    return ""


def _polling(call: CurrentCall, eyes: ThreadProbe) -> ThreadState:
    address, n = call.arguments[:2]
    if n == 0:
        return SLEEP
    if n > _MOST_POLLED:
        return IDLE
    memory = eyes.memory(address, n * _POLLED.size)
    if len(memory) < n * _POLLED.size:
        return by_state(eyes.state())
    polled = ((fd, bool(events & _POLL_OUT)) for fd, events, _ in _POLLED.iter_unpack(memory))
    return watching([(eyes.end(fd), writes) for fd, writes in polled if fd >= 0], eyes)


def _selecting(call: CurrentCall, eyes: ThreadProbe) -> ThreadState:
    n, *sets = call.arguments[:3]
    if not n or not any(sets):
        return SLEEP
    if n > _MOST_SELECTED:
        return IDLE
    # The kernel writes into the sets only when the call ends. Python's own are whole words.
    n_bytes = (n + 63) // 64 * 8
    masks = [int.from_bytes(eyes.memory(at, n_bytes), sys.byteorder) if at else 0 for at in sets]
    watched = masks[0] | masks[1]
    if watched.bit_count() > _MOST_POLLED or not watched:
        return IDLE
    descriptors = [fd for fd in range(n) if watched >> fd & 1]
    return watching([(eyes.end(fd), bool(masks[1] >> fd & 1)) for fd in descriptors], eyes)


def watching(watched: Sequence[tuple[End, bool]], eyes: ThreadProbe) -> ThreadState:
    """Return what a thread is at that waits for any of few descriptors.

    Args:
        watched: What they are, and whether it would write there: if so, it could not yet.
        eyes: On it.
    """
    kinds = [end.kind for end, _ in watched]
    if EndKind.LISTENER in kinds:
        return LISTENS
    backends = [end.address for end, _ in watched if end.kind is EndKind.BACKEND]
    if backends:
        return ThreadState("backend", backends[0])
    clients = [writes for end, writes in watched if end.kind is EndKind.CLIENT]
    if len(clients) == 1:
        return ThreadState("client_write" if clients[0] else "client_read")
    if EndKind.PIPE in kinds and eyes.has_children and not clients:
        return ThreadState("child")
    # A loop around poll, or what wakes itself.
    if clients or set(kinds) <= {EndKind.PIPE, EndKind.EVENTS}:
        return IDLE
    return by_state(eyes.state())


def _locking(call: CurrentCall, eyes: ThreadProbe) -> ThreadState:
    descriptor, command = call.arguments[:2]
    if call.kind is Kind.SEMAPHORE:
        return ThreadState("lock", lock=Lock(f"semaphore {descriptor}"))
    if call.kind is Kind.RECORD_LOCK and command not in _SET_LOCK_AND_WAIT:
        return by_state(eyes.state())
    return ThreadState("lock", lock=eyes.file_lock(descriptor))


def _at_futex(call: CurrentCall, eyes: ThreadProbe) -> ThreadState:
    address, operation, value, timeout = call.arguments[:4]
    value &= 0xFFFF_FFFF
    command = operation & _FUTEX_COMMAND
    is_private = bool(operation & _FUTEX_PRIVATE)
    lock = Lock(f"futex {address:x}", scope="thread" if is_private else "process")
    if command in _FUTEX_LOCK_PI:
        word = int.from_bytes(eyes.memory(address, 4), sys.byteorder)
        return ThreadState("lock", lock=lock._replace(holder=_holder(word, eyes)))
    if timeout:
        return _until(call, eyes, lock)
    if command == _FUTEX_WAIT:
        if value == _CONTENDED and not 0 <= address - call.stack_pointer < _OWN_STACK_BYTES:
            return ThreadState("lock", lock=lock)
        if value & _HAS_WAITERS and value & _HOLDER:
            return ThreadState("lock", lock=lock._replace(holder=_holder(value, eyes)))
    return _UNCLEAR


def _holder(word: int, eyes: ThreadProbe) -> int | None:
    return eyes.thread_numbered(word & _HOLDER) if word & _HOLDER else None


def _until(call: CurrentCall, eyes: ThreadProbe, lock: Lock) -> ThreadState:
    """Return what a thread is at that waits in futex until some time."""
    operation = call.arguments[1]
    memory = eyes.memory(call.arguments[3], _TIMESPEC.size)
    if len(memory) < _TIMESPEC.size:
        return _UNCLEAR
    seconds, nanoseconds = _TIMESPEC.unpack(memory)
    left_s = seconds + nanoseconds / 1e9
    if operation & _FUTEX_COMMAND == _FUTEX_WAIT_BITSET:
        clock = time.CLOCK_REALTIME if operation & _FUTEX_REALTIME else time.CLOCK_MONOTONIC
        left_s -= time.clock_gettime(clock)
    if left_s <= _SWITCH_INTERVAL_S:
        return ThreadState("idle", lock=lock._replace(scope="interpreter"), is_unclear=True)
    return _UNCLEAR


_BY_ARGUMENTS: dict[Kind, Callable[[CurrentCall, ThreadProbe], ThreadState]] = {
    Kind.FUTEX: _at_futex,
    Kind.POLL: _polling,
    Kind.SELECT: _selecting,
    Kind.READ: _transferring,
    Kind.WRITE: _transferring,
    Kind.SEND_FILE: _transferring,
    Kind.CONNECT: _connecting,
    Kind.RECORD_LOCK: _locking,
    Kind.FILE_LOCK: _locking,
    Kind.SEMAPHORE: _locking,
}
