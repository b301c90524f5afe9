"""What a process that is part of a copy gives up before it is a server. Standard library only.

A copy runs what others wrote. So whatever it is, root too: it gains no rights by programs that it
runs (setuid, file capabilities), has none of those that lead out of namespaces or into the kernel,
owns nothing that was open or known before, and cannot ask for what `syscall_filter` refuses.
"""

import ctypes
import os
import resource
import struct
from _collections_abc import Sequence

from httpdyno.servers.becoming import suppress
from httpdyno.servers.sandbox import syscall_filter

KEPT_RIGHTS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "FSETID": 4,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "NET_BIND_SERVICE": 10,
    "IPC_LOCK": 14,
    "SYS_CHROOT": 18,
    "SYS_NICE": 23,
    "SYS_RESOURCE": 24,
}
"""Capabilities that root in a copy keeps, as servers that start as root use them: to become their
users, to own their files, to listen at low ports, to raise their limits. All others go."""
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_READ, _PR_CAPBSET_DROP = 38, 23, 24
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_CAPABILITIES_3, _RIGHTS = 0x2008_0522, struct.Struct("=6I")
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_JOIN_SESSION_KEYRING = 1
_MOST_RIGHTS = 64
_EVERY_PRIORITY = 40
"""As `RLIMIT_NICE` counts: down to a niceness of -20."""


def cut_rights() -> None:
    """Let no program that is run from here on have other rights than `KEPT_RIGHTS`.

    The rights in force go as a program is run, but for those that programs inherit: so that is cut,
    too. Who is root and cannot cut them is in no state to run what others wrote.

    Raises:
        OSError: Root may not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    kept = frozenset(KEPT_RIGHTS.values())
    for right in range(_MOST_RIGHTS):
        is_held = right not in kept and libc.prctl(_PR_CAPBSET_READ, right, 0, 0, 0) == 1
        if is_held and libc.prctl(_PR_CAPBSET_DROP, right, 0, 0, 0) != 0 and os.geteuid() == 0:
            raise OSError(ctypes.get_errno(), "cannot cut the rights of root")
    libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    head = struct.pack("=Ii", _CAPABILITIES_3, 0)
    rights = ctypes.create_string_buffer(_RIGHTS.size)
    if libc.capget(head, rights) == 0:
        low, low_may, _, high, high_may, _ = _RIGHTS.unpack(rights.raw)
        libc.capset(head, _RIGHTS.pack(low, low_may, 0, high, high_may, 0))


def raise_limits() -> None:
    """Raise what root may raise beyond its limits, while this process may: root of a copy may not.

    Only up to where it could be raised is changed, not what is in force. Who may not raise it here
    could not as root of the machine either.
    """
    with open("/proc/sys/fs/nr_open", "rb") as file:  # noqa: PTH123
        most_files = int(file.read())
    for kind, most in (
        (resource.RLIMIT_NOFILE, most_files),
        (resource.RLIMIT_NICE, _EVERY_PRIORITY),
        (resource.RLIMIT_MEMLOCK, resource.RLIM_INFINITY),
    ):
        with suppress(ValueError):
            resource.setrlimit(kind, (resource.getrlimit(kind)[0], most))


def gain_nothing() -> None:
    """Have no program that is run from here on gain rights, and know no key of this session."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        libc.syscall(number, _JOIN_SESSION_KEYRING, None, 0, 0, 0)


def tell_calls(kinds: Sequence[str], control: int) -> bool:
    """Have calls of some kinds wait for a listener, which is sent to a socket; return if they do.

    While this process still may.
    """
    return syscall_filter.put_on_and_tell(kinds, control)


def refuse_calls(*, but_told: bool, gives_none: bool = False) -> None:
    """Refuse what leads out; last, since it refuses what is done here as well.

    Args:
        but_told: Whether a listener refuses the machine's own calls, and tells of them.
        gives_none: Whether no file may be made one that gives its owner's rights to who runs it:
            where others can come to what a copy writes.

    Raises:
        OSError: The kernel has no such filters.
    """
    syscall_filter.put_on(but_told=but_told, gives_none=gives_none)
