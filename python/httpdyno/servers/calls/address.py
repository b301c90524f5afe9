"""Addresses as programs hand them to the kernel, and questions to name servers; pure."""

import ipaddress
import socket
import struct
from typing import NamedTuple

_HEAD_BYTES = 2
_IPV4_BYTES, _IPV6_BYTES = 8, 24
_DNS_HEAD_BYTES = 12
_LONGEST_LABEL = 63
DNS = 53


class Target(NamedTuple):
    """Where somebody is to be reached."""

    family: str
    """`ip` or `unix`."""
    host: str
    """An address, or a socket's path; abstract ones begin with `@`, as the kernel lists them."""
    port: int = 0

    @property
    def text(self) -> str:
        """`10.0.0.5:5432`, `[2001:db8::5]:5432`, `unix:/path` or `unix:@name`."""
        if self.family == "unix":
            return f"unix:{self.host}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def target(address: bytes) -> Target | None:
    """Return whom a `sockaddr` names; None for other families, for none and for what is cut off."""
    if len(address) < _HEAD_BYTES:
        return None
    (family,) = struct.unpack_from("=H", address)
    if family == socket.AF_INET and len(address) >= _IPV4_BYTES:
        port, host = struct.unpack_from(">H4s", address, _HEAD_BYTES)
        return Target("ip", socket.inet_ntop(socket.AF_INET, host), port)
    if family == socket.AF_INET6 and len(address) >= _IPV6_BYTES:
        port, _, packed = struct.unpack_from(">HI16s", address, _HEAD_BYTES)
        found = ipaddress.IPv6Address(packed)
        return Target("ip", str(found.ipv4_mapped or found), port)
    if family == socket.AF_UNIX and len(address) > _HEAD_BYTES:
        name = address[_HEAD_BYTES:]
        is_abstract = name[0] == 0
        # A path ends at a NUL, an abstract name does not: there the kernel lists each as `@`.
        name = name.replace(b"\0", b"@") if is_abstract else name.partition(b"\0")[0]
        return Target("unix", name.decode(errors="surrogateescape"))
    return None


def asked_name(query: bytes) -> str:
    """Return the name that a DNS query asks for; empty where it is none."""
    labels: list[str] = []
    at = _DNS_HEAD_BYTES
    while at < len(query) and 0 < query[at] <= _LONGEST_LABEL:
        labels.append(query[at + 1 : at + 1 + query[at]].decode("ascii", "replace"))
        at += 1 + query[at]
    return ".".join(labels)
