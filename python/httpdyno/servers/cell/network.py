"""A cell's own network: every address is here, and none leads out. Standard library only.

Its loopback takes all addresses of both families, so that a server listens at its own, clients come
from theirs, and a connection to anything outside is refused at once. The kernel's settings are as
on the host: a new namespace starts with the kernel's defaults, not with what the host has.
"""

import ctypes
import errno
import os
import struct

_NETLINK, _RAW, _CLOSE_ON_EXEC = 16, 3, 0o2000000
_ANY_FAMILY, _IPV4, _IPV6 = 0, 2, 10
_LO = 1
"""The loopback is the first interface of every namespace."""
_NEWLINK, _NEWROUTE, _ERROR = 16, 24, 2
_REQUEST, _ACK, _EXCL, _CREATE = 1, 4, 0x200, 0x400
_UP = 1
_TABLE_LOCAL, _PROTOCOL_BOOT, _SCOPE_HOST, _TYPE_LOCAL = 255, 3, 254, 2
_OIF = 4
_HEADER = struct.Struct("=IHHII")
_SETTINGS = "/proc/sys/net"
_FOLDERS = ("core", "ipv4", "ipv6", "unix")
"""What is directly in there; interfaces, neighbours and filters are each namespace's own."""
_NEVER = ("tcp_fastopen_key",)
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EOPNOTSUPP, errno.ENODEV, errno.EACCES)
_SET_UP = "set up its loopback"
PORT_START = "net.ipv4.ip_unprivileged_port_start"


def open_loopback() -> None:
    """Let the loopback take every address.

    Raises:
        OSError: It cannot be set up.
    """
    # By system calls: importing `socket` takes longer than all that is done with it here.
    libc = ctypes.CDLL(None, use_errno=True)
    link = libc.socket(_NETLINK, _RAW | _CLOSE_ON_EXEC, 0)
    if link < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), _SET_UP)
    try:
        _ask(link, _NEWLINK, 0, struct.pack("=BxHiII", _ANY_FAMILY, 0, _LO, _UP, _UP))
        _ask(link, _NEWROUTE, _CREATE | _EXCL, _all_local(_IPV4))
        try:
            _ask(link, _NEWROUTE, _CREATE | _EXCL, _all_local(_IPV6))
        except OSError as error:
            # A kernel without it, or with it switched off, can listen at no such address either.
            if error.errno not in _NO_IPV6:
                raise
    finally:
        os.close(link)


def settings() -> dict[str, str]:
    """Return the kernel's network settings: name with dots → text."""
    found = {}
    for folder in _FOLDERS:
        try:
            names = os.listdir(f"{_SETTINGS}/{folder}")  # noqa: PTH208 - a folder of the kernel
        except OSError:
            continue
        for name in names:
            text = _read(f"{_SETTINGS}/{folder}/{name}")
            if text is not None and name not in _NEVER:
                found[f"net.{folder}.{name}"] = text
    return found


def adopt(wanted: dict[str, str]) -> list[str]:
    """Set what differs; return what cannot be, `name value` each."""
    own = settings()
    refused = []
    for name, text in wanted.items():
        # What is not there is not a namespace's own: the host's is in force.
        if name in own and own[name] != text:
            try:
                put(name, text)
            except OSError:
                refused.append(f"{name} {' '.join(text.split())}")
    return refused


def put(name: str, text: str) -> None:
    """Set one.

    Raises:
        OSError: There is none, or it does not take that.
    """
    path = "/proc/sys/" + name.replace("/", "\0").replace(".", "/").replace("\0", ".")
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, f"{text}\n".encode())
    finally:
        os.close(handle)


def _all_local(family: int) -> bytes:
    route = struct.pack(
        "=BBBBBBBBI",
        *(family, 0, 0, 0, _TABLE_LOCAL, _PROTOCOL_BOOT, _SCOPE_HOST, _TYPE_LOCAL, 0),
    )
    return route + struct.pack("=HHi", 8, _OIF, _LO)


def _ask(link: int, kind: int, flags: int, body: bytes) -> None:
    flags |= _REQUEST | _ACK
    os.write(link, _HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body)
    answer = os.read(link, 4096)
    _, answered, *_ = _HEADER.unpack_from(answer)
    (code,) = struct.unpack_from("=i", answer, _HEADER.size)
    if answered != _ERROR or code != 0:
        raise OSError(-code, os.strerror(-code), _SET_UP)


def _read(path: str) -> str | None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return os.read(handle, 4096).decode(errors="replace").strip()
    except OSError:  # a folder, or a setting that is only written
        return None
    finally:
        os.close(handle)
