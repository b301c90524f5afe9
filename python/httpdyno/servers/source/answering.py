"""Who of this machine answers at an address that load is sent to; nothing is connected to."""

import ipaddress
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from httpdyno.errors import AdapterError, UsageError
from httpdyno.servers.source.find import Found, find
from httpdyno.servers.source.machine import Machine
from httpdyno.servers.source.words import AddressSource

_UNIX = "unix:"
_HOSTS = Path("/etc/hosts")
_ANY_PORT = 9
"""Nothing is sent there."""


def answering(address: str, machine: Machine) -> tuple[Found, ...]:
    """Return the servers that listen at an address of this machine, none of them below another.

    Empty where it is another machine's, and where nobody listens.

    Args:
        address: `ip:port`, IPv6 in brackets, or `unix:/path`.
        machine: What runs here.

    Raises:
        AdapterError: Somebody listens whom this user may not see, or who asks is one of them.
    """
    source = _source(address)
    if source.port and not is_own(source.host):
        return ()
    try:
        found = find(source, machine)
    except UsageError:  # nobody listens: it was over before this
        return ()
    if any(os.getpid() in _pids(each) for each in found):
        raise AdapterError(f"httpdyno itself is one of the processes that listen at `{source}`")
    return tuple(each for each in found if not _is_below(each, found))


def own_hosts(host: str, table: Path = _HOSTS) -> tuple[str, ...]:
    """Return the addresses of this machine that a host is, by /etc/hosts alone: nobody is asked.

    Args:
        host: As a configuration has it: an address without brackets, or a name.
        table: Where names are looked for.
    """
    if host == "localhost":
        return (host,)
    if _is_address(host):
        return (host,) if is_own(host) else ()
    with suppress(OSError):
        lines = (line.partition("#")[0].split() for line in table.read_text("utf-8").splitlines())
        named = [line[0] for line in lines if host.lower() in map(str.lower, line[1:])]
        return tuple(each for each in named if _is_address(each) and is_own(each))
    return ()


def _is_address(text: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False


def is_own(host: str) -> bool:
    """Return whether an address is one of this machine's, in this network namespace.

    The kernel answers by its routes: from here to an own address it is that address that sends,
    and of 127.0.0.0/8 any. Connecting a datagram socket sends nothing.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((host, _ANY_PORT))
            sender = str(asking.getsockname()[0])
    except OSError:  # no way leads there
        return False
    return sender == host.partition("%")[0] or host.startswith("127.")


def _source(address: str) -> AddressSource:
    if address.startswith(_UNIX):
        return AddressSource(address.removeprefix(_UNIX), 0)
    host, _, port = address.rpartition(":")
    return AddressSource(host.strip("[]"), int(port))


def _pids(found: Found) -> set[int]:
    root = {found.root.pid} if found.root else set[int]()
    return root | {each.pid for each in found.below}


def _is_below(found: Found, others: Sequence[Found]) -> bool:
    """Return whether it is a part of another one, which has its processes already."""
    below = {each.pid for other in others for each in other.below}
    return found.root is not None and found.root.pid in below
