"""Made-up calls, descriptors and memory: what a thread is said to be at."""

import socket
import struct
import time
from dataclasses import dataclass, field

from tests.rows import each_row

from httpdyno.telemetry.profile.end import End, EndKind
from httpdyno.telemetry.profile.sampler import holders
from httpdyno.telemetry.profile.wait import (
    RUNNING,
    CurrentCall,
    Kind,
    Lock,
    by_state,
    seen,
    socket_address,
)

LISTENER, CLIENT, BACKEND, PIPE, WAKER, FILE, SECOND_CLIENT, NOTHING = range(3, 11)
ENDS = {
    LISTENER: End(EndKind.LISTENER),
    CLIENT: End(EndKind.CLIENT),
    SECOND_CLIENT: End(EndKind.CLIENT),
    BACKEND: End(EndKind.BACKEND, "127.0.0.1:5432"),
    PIPE: End(EndKind.PIPE),
    WAKER: End(EndKind.EVENTS),
    FILE: End(EndKind.FILE),
}
STACK = 0x7FFD_0000_0000
AT = 0x1000
IN, OUT = 1, 4


@dataclass
class FakeEyes:
    has_children: bool = False
    at: dict[int, bytes] = field(default_factory=dict)
    now: str = "sleeping"

    def state(self):
        return self.now

    def end(self, descriptor):
        return ENDS.get(descriptor, End(EndKind.NOTHING))

    def memory(self, address, n_bytes):
        return self.at.get(address, b"")[:n_bytes]

    def thread_numbered(self, number):
        return number

    def file_lock(self, descriptor):
        return Lock(f"file {descriptor}", holder=77)


def of(kind, *arguments, **eyes):
    filled = (*arguments, *(0,) * (6 - len(arguments)))
    return seen(CurrentCall(kind, filled, STACK), FakeEyes(**eyes))


def polled(*entries, **eyes):
    memory = b"".join(struct.pack("=ihh", fd, events, 0) for fd, events in entries)
    return of(Kind.POLL, AT, len(entries), at={AT: memory}, **eyes)


@each_row(
    ("kind", "doing"),
    [
        (Kind.ACCEPT, "idle"),
        (Kind.EVENTS, "idle"),
        (Kind.CHILD, "child"),
        (Kind.SLEEP, "sleep"),
        (Kind.DISK, "disk"),
        (Kind.OTHER, "other"),
    ],
)
def test_some_calls_say_enough(kind, doing):
    assert of(kind).doing == doing


def test_a_state_alone_says_little():
    assert seen(RUNNING, FakeEyes()).doing == "running"
    assert of(Kind.NONE, now="disk sleep").doing == "disk"
    assert of(Kind.NONE, now="zombie").doing == "zombie"
    assert of(Kind.OTHER, now="running").doing == "running"
    assert by_state("stopped").doing == "other"


@each_row(
    ("kind", "descriptor", "eyes", "doing"),
    [
        (Kind.READ, CLIENT, {}, "client_read"),
        (Kind.WRITE, CLIENT, {}, "client_write"),
        (Kind.SEND_FILE, CLIENT, {}, "client_write"),
        (Kind.SEND_FILE, CLIENT, {"now": "disk sleep"}, "disk"),
        (Kind.READ, BACKEND, {}, "backend"),
        (Kind.WRITE, BACKEND, {}, "backend"),
        (Kind.READ, PIPE, {}, "idle"),
        (Kind.READ, PIPE, {"has_children": True}, "child"),
        (Kind.WRITE, PIPE, {}, "other"),
        (Kind.READ, WAKER, {}, "idle"),
        (Kind.READ, FILE, {"now": "disk sleep"}, "disk"),
        (Kind.READ, FILE, {}, "other"),
        (Kind.READ, NOTHING, {}, "other"),
    ],
)
def test_who_reads_or_writes_is_known_by_where(kind, descriptor, eyes, doing):
    assert of(kind, descriptor, **eyes).doing == doing


@each_row(
    ("entries", "doing"),
    [
        ([(LISTENER, IN), (PIPE, IN)], "idle"),
        ([(CLIENT, IN)], "client_read"),
        ([(CLIENT, OUT)], "client_write"),
        # It could not yet write: else it would not wait.
        ([(CLIENT, IN | OUT)], "client_write"),
        ([(CLIENT, IN), (SECOND_CLIENT, IN)], "idle"),
        ([(BACKEND, IN)], "backend"),
        ([(CLIENT, IN), (BACKEND, IN)], "backend"),
        ([(BACKEND, OUT)], "backend"),
        ([(PIPE, IN), (WAKER, IN)], "idle"),
        ([(-1, IN), (CLIENT, IN)], "client_read"),
        ([(CLIENT, IN)] * 17, "idle"),
        ([], "sleep"),
        ([(NOTHING, IN)], "other"),
    ],
)
def test_who_polls_is_known_by_what(entries, doing):
    assert polled(*entries).doing == doing


def test_who_polls_a_pipe_and_has_children_waits_for_one():
    assert polled((PIPE, IN), has_children=True).doing == "child"
    assert polled((CLIENT, IN), (PIPE, IN), has_children=True).doing == "client_read"


def test_memory_that_may_not_be_read_leaves_it_open():
    assert of(Kind.POLL, AT, 1).doing == "other"


@each_row(
    ("reads", "writes", "doing"),
    [
        ([LISTENER, PIPE], [], "idle"),
        ([CLIENT], [], "client_read"),
        ([], [CLIENT], "client_write"),
        ([BACKEND], [], "backend"),
    ],
)
def test_who_selects_is_known_by_what(reads, writes, doing):
    masks = [sum(1 << each for each in fds).to_bytes(8, "little") for fds in (reads, writes)]
    found = of(Kind.SELECT, 11, AT, 2 * AT, at={AT: masks[0], 2 * AT: masks[1]})
    assert found.doing == doing


def test_who_selects_nothing_sleeps():
    assert of(Kind.SELECT, 0).doing == "sleep"


def test_a_backend_has_its_address():
    assert of(Kind.READ, BACKEND).backend == "127.0.0.1:5432"
    name = struct.pack("=H", socket.AF_UNIX) + b"/run/db\0rest"
    found = of(Kind.CONNECT, NOTHING, AT, len(name), at={AT: name})
    assert (found.doing, found.backend) == ("backend", "unix:/run/db")
    assert of(Kind.CONNECT, NOTHING, AT, 16).doing == "other"


@each_row(
    ("name", "address"),
    [
        (struct.pack("=H2s4s8x", socket.AF_INET, b"\x15\x38", b"\x7f\0\0\1"), "127.0.0.1:5432"),
        (
            struct.pack("=H2s4x16s4x", socket.AF_INET6, b"\0\x50", b"\0" * 15 + b"\1"),
            "[::1]:80",
        ),
        (struct.pack("=H", socket.AF_UNIX) + b"\0db", "unix:@db"),
        (struct.pack("=H", socket.AF_NETLINK) + bytes(10), ""),
        (b"", ""),
    ],
)
def test_addresses_are_written_as_everywhere(name, address):
    assert socket_address(name) == address


PRIVATE, REALTIME, WAIT, BITSET, LOCK_PI = 0x80, 0x100, 0, 9, 6


def test_a_mutex_is_a_lock():
    found = of(Kind.FUTEX, AT, WAIT | PRIVATE, 2)
    assert (found.doing, found.lock) == ("lock", Lock("futex 1000", scope="thread"))


def test_a_mutex_between_processes_tells_its_holder():
    found = of(Kind.FUTEX, AT, WAIT, 0x8000_0000 | 4711)
    assert (found.doing, found.lock) == ("lock", Lock("futex 1000", holder=4711))
    found = of(Kind.FUTEX, AT, LOCK_PI, 0, at={AT: struct.pack("=I", 0x8000_0000 | 12)})
    assert found.lock == Lock("futex 1000", holder=12)


@each_row(
    ("operation", "value", "address"),
    [
        (BITSET | PRIVATE, 0, AT),  # a condition variable or a semaphore of glibc
        (BITSET | PRIVATE, 2, AT),
        (WAIT | PRIVATE, 0, AT),  # a thread of Go that has nothing to do
        (WAIT | PRIVATE, 2, STACK + 64),  # a condition variable of musl
    ],
)
def test_what_pools_wait_at_is_no_lock(operation, value, address):
    found = of(Kind.FUTEX, address, operation, value)
    assert (found.doing, found.lock, found.is_unclear) == ("idle", None, True)


@each_row(("left_s", "is_python"), [(0.004, True), (-1.0, True), (1.0, False)])
def test_who_waits_for_5_ms_may_wait_for_python(left_s, is_python):
    until_s = time.monotonic() + left_s
    deadline = struct.pack("=qq", int(until_s), int(until_s % 1 * 1e9))
    found = of(Kind.FUTEX, AT, BITSET | PRIVATE, 0, 2 * AT, at={2 * AT: deadline})
    assert (found.doing, found.is_unclear) == ("idle", True)
    assert (found.lock is not None and found.lock.scope == "interpreter") is is_python


def test_locks_on_files_and_semaphores_are_locks():
    assert of(Kind.FILE_LOCK, FILE, 2).lock == Lock(f"file {FILE}", holder=77)
    assert of(Kind.RECORD_LOCK, FILE, 7).lock == Lock(f"file {FILE}", holder=77)
    assert of(Kind.RECORD_LOCK, FILE, 38).doing == "lock"
    assert of(Kind.RECORD_LOCK, FILE, 3).doing == "other"  # F_GETFL
    assert of(Kind.SEMAPHORE, 9).lock == Lock("semaphore 9")


def test_the_kernel_tells_who_has_a_lock():
    text = (
        "1: POSIX  ADVISORY  WRITE 812 fe:00:9977859 0 EOF\n"
        "1: -> POSIX  ADVISORY  WRITE 813 fe:00:9977859 0 EOF\n"
        "2: OFDLCK ADVISORY  WRITE -1 00:1b:7 0 EOF\n"
        "3: FLOCK  ADVISORY  WRITE 7829 00:1b:72081 0 EOF\n"
    )
    assert holders(text) == {(0xFE, 0, 9977859): 812, (0, 0x1B, 72081): 7829}
