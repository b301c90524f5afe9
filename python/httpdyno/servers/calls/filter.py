"""The kernel's filter that has a process wait, at some calls, until a listener has seen them.

It is put on between fork and exec, so with the standard library only, and stays on all that comes
from that process. Whoever listens lets each call go on, but those that `refusal` names.

Source:
    Linux, Documentation/userspace-api/seccomp_filter.rst, and include/uapi/linux/seccomp.h.
"""

import _socket  # `socket` takes several times as long to import as all that is done here
import _thread
import ctypes
import errno
import os
import struct
from _collections_abc import Mapping, Sequence  # `collections` takes longer to import

from httpdyno.servers.calls import refusal

REACH, REACH_FILE, WRITE = "reach", "reach-file", "write"
"""Kinds of calls: those that name an address, those of them whose address is not as long as one of
the internet, and those that change a file that they name."""
_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW, _TELL = 0x7FFF_0000, 0x7FC0_0000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_SET_FILTER = 1
_NEW_LISTENER, _WAIT_KILLABLE = 1 << 3, 1 << 5
_NO_NEW_PRIVS = 38
_NAME_BYTES = 1500
"""What is sent to nobody by name may be a question to the name server that it is connected to; a
longer one is none, and is let go untold."""
_OPENS_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_BIG_ENDIAN = struct.pack("=H", 1) == b"\0\1"

Instruction = tuple[int, int, int, int]
"""Code, how many to skip if so and if not, operand."""


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
    "x86_64": Machine(
        "x86_64",
        0xC000_003E,
        317,
        {
            "connect": 42,
            "sendto": 44,
            "sendmsg": 46,
            "sendmmsg": 307,
            "bind": 49,
            "open": 2,
            "openat": 257,
            "openat2": 437,
            "creat": 85,
            "truncate": 76,
            "mkdir": 83,
            "mkdirat": 258,
            "rmdir": 84,
            "unlink": 87,
            "unlinkat": 263,
            "rename": 82,
            "renameat": 264,
            "renameat2": 316,
            "link": 86,
            "linkat": 265,
            "symlink": 88,
            "symlinkat": 266,
            "mknod": 133,
            "mknodat": 259,
        },
    ),
    "aarch64": Machine(
        "aarch64",
        0xC000_00B7,
        277,
        {
            "connect": 203,
            "sendto": 206,
            "sendmsg": 211,
            "sendmmsg": 269,
            "bind": 200,
            "openat": 56,
            "openat2": 437,
            "truncate": 45,
            "mkdirat": 34,
            "unlinkat": 35,
            "renameat": 38,
            "renameat2": 276,
            "linkat": 37,
            "symlinkat": 36,
            "mknodat": 33,
        },
    ),
}
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


def program(machine: Machine, kinds: Sequence[str]) -> list[Instruction]:
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
    return [*made, *refusal.told(machine.name, _TELL)]


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


def _argument(n: int) -> int:
    return _ARGUMENTS_AT + 8 * n


def put_on(kinds: Sequence[str]) -> int:
    """Put the filter on this thread; return the descriptor of its listener.

    Raises:
        OSError: The kernel has none, or does not let this process.
    """
    machine = here()
    if machine is None:
        raise OSError(errno.EOPNOTSUPP, f"calls of {os.uname().machine} are not known")
    made = b"".join(struct.pack("=HBBI", *each) for each in program(machine, kinds))
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
        made.append(put_on(kinds))
    except OSError as error:
        complaint = error.strerror or str(error)
    is_made.release()
    is_sent.acquire()
    for handle in made:
        os.close(handle)
    return bool(made)
