"""The filter as instructions: interpreted here as the kernel does, on each call that there is."""

import errno
import os
import struct
from types import SimpleNamespace

import pytest
from tests.rows import each_row

from httpdyno.servers.sandbox import syscall_filter
from httpdyno.servers.sandbox.syscall_filter import (
    MACHINES,
    REACH,
    REACH_FILE,
    WRITE,
    telling_program,
)

ALLOW, TELL = 0x7FFF_0000, 0x7FC0_0000
KERNEL_NUMBERS = {
    "x86_64": {"connect": 42, "sendto": 44, "sendmsg": 46, "sendmmsg": 307, "openat": 257},
    "aarch64": {"connect": 203, "sendto": 206, "sendmsg": 211, "sendmmsg": 269, "openat": 56},
}
"""Of asm/unistd_64.h and asm-generic/unistd.h."""
CREATE = os.O_WRONLY | os.O_CREAT


def decided(name, kinds, number, arguments=(), mark=None):
    """Run the filter on one call."""
    machine = MACHINES[name]
    six = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=iIQ6Q", number, machine.mark if mark is None else mark, 0, *six)
    return outcome(telling_program(machine, kinds), data)


def outcome(made, data):
    """Return what a filter answers to a call."""
    at, accumulator = 0, 0
    while True:
        code, if_so, if_not, operand = made[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif code == 0x06:
            return operand
        else:
            is_so = {
                0x15: accumulator == operand,
                0x25: accumulator > operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }[code]
            at += if_so if is_so else if_not


@each_row("machine", MACHINES)
def test_numbers_are_the_kernels(machine):
    numbers = MACHINES[machine].numbers
    assert numbers.items() >= KERNEL_NUMBERS[machine].items()
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("call", "arguments", "kinds", "expected"),
    [
        ("connect", (3, 0x7F00, 16), (REACH,), TELL),
        ("connect", (3, 0x7F00, 16), (WRITE,), ALLOW),
        ("connect", (3, 0x7F00, 16), (), ALLOW),
        ("sendmsg", (3, 0x7F00, 0), (REACH,), TELL),
        ("sendmmsg", (3, 0x7F00, 2, 0), (REACH,), TELL),
        # To somebody by name, however long; to nobody by name only where it may be a question.
        ("sendto", (3, 1, 1 << 16, 0, 0x7F00, 16), (REACH,), TELL),
        ("sendto", (3, 1, 1 << 16, 0, 1 << 40, 16), (REACH,), TELL),
        ("sendto", (3, 1, 1500, 0, 0, 0), (REACH,), TELL),
        ("sendto", (3, 1, 1501, 0, 0, 0), (REACH,), ALLOW),
        # While time is measured, of those to the internet none waits, nor of those to nobody.
        ("connect", (3, 0x7F00, 16), (REACH_FILE,), ALLOW),
        ("connect", (3, 0x7F00, 28), (REACH_FILE,), ALLOW),
        ("connect", (3, 0x7F00, 110), (REACH_FILE,), TELL),
        ("sendto", (3, 1, 9, 0, 0x7F00, 16), (REACH_FILE,), ALLOW),
        ("sendto", (3, 1, 9, 0, 0, 0), (REACH_FILE,), ALLOW),
        ("sendto", (3, 1, 9, 0, 0x7F00, 20), (REACH_FILE,), TELL),
        ("sendmsg", (3, 0x7F00, 0), (REACH_FILE,), ALLOW),
        ("openat", (0, 1, CREATE), (REACH_FILE,), ALLOW),
        ("openat", (0, 1, os.O_RDONLY), (WRITE,), ALLOW),
        ("openat", (0, 1, os.O_RDONLY | os.O_CLOEXEC), (WRITE,), ALLOW),
        ("openat", (0, 1, CREATE), (WRITE,), TELL),
        ("openat", (0, 1, os.O_RDWR), (WRITE,), TELL),
        ("openat", (0, 1, os.O_RDONLY | os.O_TRUNC), (WRITE,), TELL),
        ("openat", (0, 1, CREATE), (REACH,), ALLOW),
        ("openat2", (0, 1, 2, 24), (WRITE,), TELL),
        ("mkdirat", (0, 1), (WRITE,), TELL),
        ("unlinkat", (0, 1), (REACH, WRITE), TELL),
        ("bind", (3, 1, 20), (WRITE,), TELL),
    ],
)
def test_what_is_told_and_what_goes_on_at_once(machine, call, arguments, kinds, expected):
    assert decided(machine, kinds, MACHINES[machine].numbers[call], arguments) == expected


@each_row("machine", MACHINES)
def test_all_other_calls_go_on_at_once(machine):
    told = {*MACHINES[machine].numbers.values(), *syscall_filter.names(machine), 435}
    for number in set(range(600)) - told:
        assert decided(machine, (REACH, WRITE), number, (2, 2, 2, 2, 2, 2)) == ALLOW


REFUSE, NOT_THERE = 0x0005_0000 | errno.EPERM, 0x0005_0000 | errno.ENOSYS
CLONE = {0xC000_003E: 56, 0x4000_0003: 120, 0xC000_00B7: 220}
MOUNT = {0xC000_003E: 165, 0x4000_0003: 21, 0xC000_00B7: 40}
THREAD = 0x003D_0F00
"""What the C library asks for where it makes a thread."""


@pytest.mark.parametrize(
    ("machine", "mark"),
    [("x86_64", 0xC000_003E), ("x86_64", 0x4000_0003), ("aarch64", 0xC000_00B7)],
)
@pytest.mark.parametrize("but_told", [False, True])
def test_what_leads_out_is_refused_by_every_numbering(machine, mark, but_told):
    def decided(number, first=0):
        data = struct.pack("=iIQ6Q", number, mark, 0, first, *[0] * 5)
        return outcome(syscall_filter.program(machine, but_told=but_told), data)

    is_left = but_told and mark == MACHINES[machine].mark
    refused = ALLOW if is_left else REFUSE
    assert decided(MOUNT[mark]) == refused
    assert decided(428) == refused
    assert decided(CLONE[mark], 0x1000_0000) == refused
    assert decided(CLONE[mark], THREAD) == ALLOW
    assert decided(435) == NOT_THERE
    assert decided(0x4000_0000 + MOUNT[mark]) == REFUSE
    assert decided(0) == ALLOW
    if is_left:
        six = (0x1000_0000, 0, 0, 0, 0, 0)
        told = {*syscall_filter.names(machine)}
        by_name = {name: number for number, name in syscall_filter.names(machine).items()}
        assert {by_name[name] for name in syscall_filter.REFUSED if name in by_name} < told
        for number in told:
            data = struct.pack("=iIQ6Q", number, mark, 0, *six)
            assert outcome(telling_program(MACHINES[machine], (REACH,)), data) == TELL


def test_a_machine_whose_calls_are_not_known_has_no_copies(monkeypatch):
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="vax"))
    with pytest.raises(OSError, match="the calls of vax are not known"):
        syscall_filter.put_on()


@each_row("machine", MACHINES)
def test_numbers_of_other_machines_mean_nothing(machine):
    number = MACHINES[machine].numbers["connect"]
    assert decided(machine, (REACH, WRITE), number, mark=0x4000_0003) == ALLOW
