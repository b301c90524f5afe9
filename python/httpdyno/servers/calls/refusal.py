"""The kernel's filter that refuses calls by which a process could get out of a copy.

It is put on between fork and exec, so with the standard library only, and stays on all that comes
from that process. No server that serves pages needs any of these calls: they make and enter
namespaces, mount, look into other processes, or change the kernel. php-fpm's slow log asks for
`ptrace`: it is refused, and writes no trace.

Source:
    Linux, Documentation/userspace-api/seccomp_filter.rst; capabilities(7) for what each right
    would allow; the numbers are those of the kernel's own tables.
"""

import ctypes
import errno
import os
import struct
from _collections_abc import Mapping, Sequence  # `collections` takes longer to import

Instruction = tuple[int, int, int, int]
"""Code, how many to skip if so and if not, operand."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF_0000, 0x0005_0000
_REFUSE = _ERRNO | errno.EPERM
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_SET_FILTER = 1
_X32_BIT = 0x4000_0000
"""Calls of 64-bit machines by their 32-bit numbering have it; nothing uses them."""
_NEW_NAMESPACES = 0x7E02_0000
"""All of `CLONE_NEW…` that `clone` takes: mounts, control groups, names, IPC, users, processes and
network."""
_CLONE3 = 435
"""The same number on all machines. Its flags are in memory, where a filter cannot look: without it
the C library goes back to `clone`."""

_NEW_LISTENER = 1 << 3
"""Who listens to calls may let those on that another listener refuses: the last one counts."""
_GIVES_RIGHTS = 0o6000
"""Modes with which a file gives its owner's or its group's rights to who runs it."""

REFUSED = (
    *("mount", "umount", "umount2", "pivot_root", "open_tree", "open_tree_attr", "move_mount"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
    *("setns", "unshare"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "perf_event_open"),
    *("keyctl", "add_key", "request_key"),
    *("bpf", "userfaultfd", "open_by_handle_at", "syslog", "acct", "quotactl", "quotactl_fd"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
    *("reboot", "swapon", "swapoff", "iopl", "ioperm", "sethostname", "setdomainname"),
    *("settimeofday", "stime", "clock_settime", "clock_settime64"),
)
"""Calls that are refused, `clone` with a new namespace beside them."""

_SAME_EVERYWHERE = {
    "fchmodat2": 452,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "open_tree_attr": 467,
}


def _numbers(text: str) -> dict[str, int]:
    """Return calls by their names."""
    pairs = (each.partition("=") for each in text.split())
    return {name: int(number) for name, _, number in pairs}


_BY_MODE = {
    "chmod": 1,
    "fchmod": 1,
    "fchmodat": 2,
    "fchmodat2": 2,
    "creat": 1,
    "mknod": 1,
    "mknodat": 2,
    "open": 2,
    "openat": 3,
}
"""Calls that give a file a mode → which argument it is."""
_WITH_FLAGS = {"open": 1, "openat": 2}
"""Those of them whose mode counts only where a file is made → which argument says so."""
_NOT_SEEN = {"openat2": 437, "io_uring_setup": 425}
"""Calls by which the same is asked in memory, where a filter cannot look: without them programs go
the other way. The same numbers on all machines."""


_X86_64 = _numbers(
    "mount=165 umount2=166 pivot_root=155 setns=308 unshare=272 ptrace=101 process_vm_readv=310 "
    "process_vm_writev=311 perf_event_open=298 keyctl=250 add_key=248 request_key=249 bpf=321 "
    "userfaultfd=323 open_by_handle_at=304 syslog=103 acct=163 quotactl=179 kexec_load=246 "
    "kexec_file_load=320 init_module=175 finit_module=313 delete_module=176 reboot=169 swapon=167 "
    "swapoff=168 iopl=172 ioperm=173 sethostname=170 setdomainname=171 settimeofday=164 "
    "clock_settime=227 clone=56 seccomp=317 chmod=90 fchmod=91 fchmodat=268 creat=85 mknod=133 "
    "mknodat=259 open=2 openat=257"
)
_I386 = _numbers(
    "mount=21 umount=22 umount2=52 pivot_root=217 setns=346 unshare=310 ptrace=26 "
    "process_vm_readv=347 process_vm_writev=348 perf_event_open=336 keyctl=288 add_key=286 "
    "request_key=287 bpf=357 userfaultfd=374 open_by_handle_at=342 syslog=103 acct=51 "
    "quotactl=131 kexec_load=283 init_module=128 finit_module=350 delete_module=129 reboot=88 "
    "swapon=87 swapoff=115 iopl=110 ioperm=101 sethostname=74 setdomainname=121 settimeofday=79 "
    "stime=25 clock_settime=264 clock_settime64=404 clone=120 seccomp=354 chmod=15 fchmod=94 "
    "fchmodat=306 creat=8 mknod=14 mknodat=297 open=5 openat=295"
)
_AARCH64 = _numbers(
    "mount=40 umount2=39 pivot_root=41 setns=268 unshare=97 ptrace=117 process_vm_readv=270 "
    "process_vm_writev=271 perf_event_open=241 keyctl=219 add_key=217 request_key=218 bpf=280 "
    "userfaultfd=282 syslog=116 open_by_handle_at=265 acct=89 quotactl=60 kexec_load=104 "
    "clone=220 kexec_file_load=294 init_module=105 finit_module=273 delete_module=106 reboot=142 "
    "swapon=224 swapoff=225 sethostname=161 setdomainname=162 settimeofday=170 clock_settime=112 "
    "seccomp=277 fchmod=52 fchmodat=53 mknodat=33 openat=56"
)
_TABLES = {
    "x86_64": ((0xC000_003E, _X86_64), (0x4000_0003, _I386)),
    "aarch64": ((0xC000_00B7, _AARCH64),),
}
"""Machine → `AUDIT_ARCH_…` and numbers of its own calls, and of those of 32 bits it also takes."""
_SECCOMP = {"x86_64": 317, "aarch64": 277}


def complaint() -> str:
    """Return why calls cannot be refused here; empty where they can."""
    machine = os.uname().machine
    return "" if machine in _TABLES else f"the calls of {machine} are not known"


def program(machine: str, *, but_told: bool = False, gives_none: bool = False) -> list[Instruction]:
    """Return the filter for a kind of machine, as `uname -m` calls it. Pure.

    Calls of an architecture that is not in the table do not exist (`ENOSYS`).

    Args:
        machine: Whose calls they are.
        but_told: Whether the calls by the machine's own numbers are left to `told`.
        gives_none: Whether no file may be given a mode that gives rights to who runs it.

    Raises:
        KeyError: Its calls are not known.
    """
    made: list[Instruction] = [(_LOAD, 0, 0, _ARCHITECTURE_AT)]
    for n, (mark, numbers) in enumerate(_TABLES[machine]):
        known = {**_SAME_EVERYWHERE, **numbers}
        asked = () if but_told and n == 0 else REFUSED
        blocks = _always(known, gives_none=gives_none)
        if asked:
            blocks[known["clone"]] = _refused_with(0, _NEW_NAMESPACES, _REFUSE)
        block = _of_one([known[name] for name in asked if name in known], blocks, _REFUSE)
        # A conditional jump reaches 255 instructions, and a block is shorter.
        made += [(_EQUAL, 0, len(block), mark), *block]
    return [*made, (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]


def told(machine: str, action: int) -> list[Instruction]:
    """Return what does an action with the calls that are refused, and allows all others. Pure.

    It goes into a filter that is for calls by the machine's own numbers.

    Raises:
        KeyError: Its calls are not known.
    """
    known = {**_SAME_EVERYWHERE, **_TABLES[machine][0][1]}
    blocks = {known["clone"]: _refused_with(0, _NEW_NAMESPACES, action)}
    return _of_one([known[name] for name in REFUSED if name in known], blocks, action)


def names(machine: str) -> dict[int, str]:
    """Return the calls that `told` tells, by the machine's own numbers. Pure.

    Raises:
        KeyError: Its calls are not known.
    """
    numbers = {**_SAME_EVERYWHERE, **_TABLES[machine][0][1]}
    told_ones = {*REFUSED, "clone"}
    return {number: name for name, number in numbers.items() if name in told_ones}


def _of_one(
    refused: Sequence[int], blocks: Mapping[int, Sequence[Instruction]], action: int
) -> list[Instruction]:
    """Return what is done with calls of one numbering; it always returns."""
    tail: list[Instruction] = []
    for number, block in blocks.items():
        tail += [(_EQUAL, 0, len(block), number), *block]
    tail += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, action)]
    refusal = len(tail) - 1
    head: list[Instruction] = [(_LOAD, 0, 0, _NUMBER_AT)]
    # Each is one comparison that jumps to the last instruction.
    tests = [(_AT_LEAST, _X32_BIT), *((_EQUAL, number) for number in refused)]
    for at, (code, operand) in enumerate(tests):
        head.append((code, len(tests) - at - 1 + refusal, 0, operand))
    return [*head, *tail]


def _always(known: Mapping[str, int], *, gives_none: bool) -> dict[int, list[Instruction]]:
    """Return what is done with some calls, by their numbers, whether others are told or not."""
    not_there: list[Instruction] = [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    blocks = dict.fromkeys((_CLONE3, *_NOT_SEEN.values()), not_there)
    blocks[known["seccomp"]] = _refused_with(1, _NEW_LISTENER, _REFUSE)
    for name, argument in _BY_MODE.items() if gives_none else ():
        if name in known:
            block = _refused_with(argument, _GIVES_RIGHTS, _REFUSE)
            if name in _WITH_FLAGS:
                flags = _argument(_WITH_FLAGS[name])
                block = [(_LOAD, 0, 0, flags), (_ANY_BIT, 0, 3, os.O_CREAT), *block]
            blocks[known[name]] = block
    return blocks


def _refused_with(argument: int, bits: int, action: int) -> list[Instruction]:
    """Return what does an action with a call where an argument has one of these bits."""
    return [
        (_LOAD, 0, 0, _argument(argument)),
        (_ANY_BIT, 0, 1, bits),
        (_RETURN, 0, 0, action),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _argument(n: int) -> int:
    return _FIRST_ARGUMENT_AT + 8 * n


def put_on(*, but_told: bool = False, gives_none: bool = False) -> None:
    """Put the filter on this thread, which has given up to gain rights (`PR_SET_NO_NEW_PRIVS`).

    Args:
        but_told: As `program` has it.
        gives_none: Likewise.

    Raises:
        OSError: The kernel has none, or its calls are not known.
    """
    machine = os.uname().machine
    if machine not in _TABLES:
        raise OSError(errno.EOPNOTSUPP, complaint())
    put_program_on(_SECCOMP[machine], program(machine, but_told=but_told, gives_none=gives_none))


def put_program_on(system: int, made: Sequence[Instruction]) -> None:
    """Put a filter on this thread, by the number that seccomp(2) has here.

    Raises:
        OSError: The kernel does not take it.
    """
    content = b"".join(struct.pack("=HBBI", *each) for each in made)
    kept = ctypes.create_string_buffer(content, len(content))
    head = struct.pack("@HP", len(made), ctypes.addressof(kept))
    if ctypes.CDLL(None, use_errno=True).syscall(system, _SET_FILTER, 0, head) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "refuse calls")
