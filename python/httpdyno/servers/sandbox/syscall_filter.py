"""The kernel's filters of a copy's system calls: one refuses what leads out, one tells of others.

Both are put on between fork and exec, so with the standard library only, and stay on all that comes
from that process.

- The first refuses calls by which a process could get out of a copy: they make and enter
  namespaces, mount, look into other processes, or change the kernel. No server that serves pages
  needs any of them. php-fpm's slow log asks for `ptrace`: it is refused, and writes no trace.
- The second has a process wait, at calls that name an address or change a file, until a listener
  has seen them. Whoever listens lets each go on, but those that the first would refuse.

Source:
    Linux, Documentation/userspace-api/seccomp_filter.rst, and include/uapi/linux/seccomp.h;
    capabilities(7) for what each right would allow; the numbers are those of the kernel's own
    tables.
"""

import _socket  # `socket` takes several times as long to import as all that is done here
import _thread
import ctypes
import errno
import os
import struct
from _collections_abc import Mapping, Sequence  # `collections` takes longer to import

Instruction = tuple[int, int, int, int]
"""Code, how many to skip if so and if not, operand."""

_LOAD, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_ALLOW, _TELL, _ERRNO = 0x7FFF_0000, 0x7FC0_0000, 0x0005_0000
_REFUSE = _ERRNO | errno.EPERM
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_SET_FILTER = 1
_X32_BIT = 0x4000_0000
"""Calls of 64-bit machines by their 32-bit numbering have it; nothing uses them."""
_NEW_NAMESPACES = 0x7E02_0000
"""All of `CLONE_NEW…` that `clone` takes: mounts, control groups, names, IPC, users, processes and
network."""
_CLONE3 = 435
"""The same number on all machines. Its flags are in memory, where a filter cannot look: without it
the C library goes back to `clone`."""

_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
"""Who listens to calls may let those on that another listener refuses: the last one counts."""
_NO_NEW_PRIVS = 38
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
    return _ARGUMENTS_AT + 8 * n


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
        raise OSError(errno.EOPNOTSUPP, f"the calls of {machine} are not known")
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
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "refuse_calls")


REACH, REACH_FILE, WRITE = "reach", "reach-file", "write"
"""Kinds of calls: those that name an address, those of them whose address is not as long as one of
the internet, and those that change a file that they name."""
_NAME_BYTES = 1500
"""What is sent to nobody by name may be a question to the name server that it is connected to; a
longer one is none, and is let go untold."""
_OPENS_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_BIG_ENDIAN = struct.pack("=H", 1) == b"\0\1"


class Machine:
    """How a processor's kernel numbers the calls."""

    def __init__(self, name: str, mark: int, system: int, numbers: Mapping[str, int]) -> None:
        self.name = name
        """As `uname -m` has it."""
        self.mark = mark
        """`AUDIT_ARCH_…`, which a call says that it is made for."""
        self.system = system
        """The number of seccomp(2) itself."""
        self.numbers = numbers


MACHINES = {
    name: Machine(name, _TABLES[name][0][0], _SECCOMP[name], numbers)
    for name, numbers in {
        "x86_64": _numbers(
            "connect=42 sendto=44 sendmsg=46 sendmmsg=307 bind=49 open=2 openat=257 openat2=437 "
            "creat=85 truncate=76 mkdir=83 mkdirat=258 rmdir=84 unlink=87 unlinkat=263 rename=82 "
            "renameat=264 renameat2=316 link=86 linkat=265 symlink=88 symlinkat=266 mknod=133 "
            "mknodat=259"
        ),
        "aarch64": _numbers(
            "connect=203 sendto=206 sendmsg=211 sendmmsg=269 bind=200 openat=56 openat2=437 "
            "truncate=45 mkdirat=34 unlinkat=35 renameat=38 renameat2=276 linkat=37 symlinkat=36 "
            "mknodat=33"
        ),
    }.items()
}
"""The calls that are told, of the machines whose filters are known."""
_REACHING = ("connect", "sendto", "sendmsg", "sendmmsg")
_LENGTHS = {"connect": 2, "sendto": 5}
"""Which argument is the length of the address."""
_INTERNET_BYTES = (0, 16, 28)
"""Of no address, and of those of IPv4 and IPv6. A path may be as long: then it is not told."""
_FLAGS = {"open": 1, "openat": 2}
"""Which argument says whether it opens for writing."""


def here() -> Machine | None:
    """Return how calls are numbered here; None where this is not known."""
    is_wide = struct.calcsize("P") == 8  # noqa: PLR2004 - bytes of a pointer
    return MACHINES.get(os.uname().machine) if is_wide and not _BIG_ENDIAN else None


def telling_program(machine: Machine, kinds: Sequence[str]) -> list[Instruction]:
    """Return the filter that tells of calls of these kinds. Pure.

    Calls by another numbering than the machine's own, such as those of 32 bits, are not told.
    """
    made: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, machine.mark),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for name, number in machine.numbers.items():
        if (REACH if name in _REACHING else WRITE) in kinds:
            block = _block(name)
        elif name in _LENGTHS and REACH_FILE in kinds:
            block = _file_block(_LENGTHS[name])
        else:
            block = []
        if block:
            made += [(_EQUAL, 0, len(block), number), *block]
    # What leads out is told in any case: who listens refuses it.
    return [*made, *told(machine.name, _TELL)]


def _block(name: str) -> list[Instruction]:
    """Return what is done at one call."""
    if name == "sendto":
        return [
            (_LOAD, 0, 0, _argument(4)),
            (_EQUAL, 0, 5, 0),
            (_LOAD, 0, 0, _argument(4) + 4),
            (_EQUAL, 0, 3, 0),
            (_LOAD, 0, 0, _argument(2)),
            (_GREATER, 0, 1, _NAME_BYTES),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _TELL),
        ]
    if name in _FLAGS:
        return [
            (_LOAD, 0, 0, _argument(_FLAGS[name])),
            (_ANY_BIT, 0, 1, _OPENS_TO_WRITE),
            (_RETURN, 0, 0, _TELL),
            (_RETURN, 0, 0, _ALLOW),
        ]
    return [(_RETURN, 0, 0, _TELL)]


def _file_block(length: int) -> list[Instruction]:
    """Return what is done at one call, by the argument that is the length of its address."""
    internet = [
        (_EQUAL, len(_INTERNET_BYTES) - n, 0, n_bytes) for n, n_bytes in enumerate(_INTERNET_BYTES)
    ]
    return [
        (_LOAD, 0, 0, _argument(length)),
        *internet,
        (_RETURN, 0, 0, _TELL),
        (_RETURN, 0, 0, _ALLOW),
    ]


def put_telling_on(kinds: Sequence[str]) -> int:
    """Put the filter on this thread; return the descriptor of its listener.

    Raises:
        OSError: The kernel has none, or does not let this process.
    """
    machine = here()
    if machine is None:
        raise OSError(errno.EOPNOTSUPP, f"calls of {os.uname().machine} are not known")
    made = b"".join(struct.pack("=HBBI", *each) for each in telling_program(machine, kinds))
    content = ctypes.create_string_buffer(made, len(made))
    head = struct.pack("@HP", len(made) // 8, ctypes.addressof(content))
    libc = ctypes.CDLL(None, use_errno=True)

    def asked(flags: int) -> int:
        found = int(libc.syscall(machine.system, _SET_FILTER, flags, head))
        return found if found >= 0 else -ctypes.get_errno()

    # Without the second flag a signal has a call asked anew, and told anew; Linux 5.19 has it.
    flags = _NEW_LISTENER | _WAIT_KILLABLE
    found = asked(flags)
    if found == -errno.EINVAL:
        flags = _NEW_LISTENER
        found = asked(flags)
    if found == -errno.EACCES:
        # Who has no rights over the machine must first give up gaining any.
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        found = asked(flags)
    if found < 0:
        raise OSError(-found, os.strerror(-found))
    return found


def put_on_and_tell(kinds: Sequence[str], control: int) -> bool:
    """Put the filter on this thread, and send its listener, or why there is none, to a socket.

    Returns:
        Whether it is on.

    It is sent by another thread, which was there before: this one's `sendmsg` would wait for a
    listener that nobody has yet.
    """
    made: list[int] = []
    complaint = ""
    is_made, is_sent = _thread.allocate_lock(), _thread.allocate_lock()
    is_made.acquire()
    is_sent.acquire()

    def send() -> None:
        is_made.acquire()
        try:
            to = _socket.socket(fileno=os.dup(control))
            if made:
                rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("@i", *made))
                to.sendmsg([b"calls\n"], [rights])
            else:
                to.sendall(f"calls {complaint}\n".encode())
            to.close()
        except OSError:  # who should get it is gone
            pass
        finally:
            is_sent.release()

    _thread.start_new_thread(send, ())
    try:
        made.append(put_telling_on(kinds))
    except OSError as error:
        complaint = error.strerror or str(error)
    is_made.release()
    is_sent.acquire()
    for handle in made:
        os.close(handle)
    return bool(made)
