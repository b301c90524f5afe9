"""What a copy in a cell sent and nobody took, seen on the cell's own loopback device.

In a cell every address is local, so each attempt to reach anything outside comes by there: a SYN
that nobody takes, a datagram that nobody reads. A name server is told with the name it was asked.
"""

import select
import socket
import struct
import threading
from typing import NamedTuple

from httpdyno.servers.calls.address import DNS, asked_name
from httpdyno.servers.network import within

_ETH_P_ALL = 3
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP = 6, 17
_SYN, _ACK = 0x02, 0x10
_WAIT_MS = 100
_LARGEST_BYTES = 65_536
_IPV4_BYTES, _IPV6_BYTES = 20, 40


class Packet(NamedTuple):
    """What matters of one packet."""

    kind: str
    """`tcp` or `udp`."""
    source: str
    """`ip:port`."""
    to: str
    flags: int
    """Of TCP; 0 for a datagram."""
    asked: str
    """The name that a name server was asked for; empty for all else."""


class Packets:
    """Watches a network namespace from `begin` on; needs rights over that."""

    def __init__(self, network: str) -> None:
        self._socket = within(network, _listener)
        self._asked: dict[tuple[str, str], str] = {}
        self._answered: set[tuple[str, str]] = set()
        self._is_over = False
        self._thread = threading.Thread(target=self._watch, name="packets", daemon=True)

    def begin(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def close(self) -> None:
        """Watch no more."""
        self._finish()
        self._socket.close()

    def refused(self) -> dict[tuple[str, str], str]:
        """End the watching; return what nobody answered at, in the order of the tries.

        By `tcp` or `udp` and `ip:port`, with the name that a name server was asked for.
        """
        self._finish()
        return {key: name for key, name in self._asked.items() if key not in self._answered}

    def _finish(self) -> None:
        """Read what is there already, then no more; idempotent."""
        self._is_over = True
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while not self._is_over or poller.poll(0):
            if not poller.poll(_WAIT_MS):
                continue
            content, (_, protocol, *_) = self._socket.recvfrom(_LARGEST_BYTES)
            packet = parsed(protocol, content)
            if packet is None:
                continue
            if packet.kind == "tcp":
                if packet.flags & (_SYN | _ACK) == _SYN:
                    self._asked.setdefault((packet.kind, packet.to), "")
                elif packet.flags & (_SYN | _ACK) == _SYN | _ACK:
                    self._answered.add((packet.kind, packet.source))
            # An answer comes from where somebody was asked.
            elif (packet.kind, packet.source) in self._asked:
                self._answered.add((packet.kind, packet.source))
            else:
                self._asked.setdefault((packet.kind, packet.to), packet.asked)


def parsed(protocol: int, content: bytes) -> Packet | None:
    """Return what matters of a packet; None for what is neither TCP nor UDP, or cut off. Pure."""
    if protocol == _IPV4 and len(content) >= _IPV4_BYTES:
        head = (content[0] & 0x0F) * 4
        kind, family, addresses = content[9], socket.AF_INET, (content[12:16], content[16:20])
    elif protocol == _IPV6 and len(content) >= _IPV6_BYTES:
        head, kind, family = _IPV6_BYTES, content[6], socket.AF_INET6
        addresses = (content[8:24], content[24:40])
    else:
        return None
    body = content[head:]
    if kind not in {_TCP, _UDP} or len(body) < 14:  # noqa: PLR2004 - up to TCP's flags
        return None
    ports = struct.unpack(">HH", body[:4])
    source, to = (
        _written(family, address, port) for address, port in zip(addresses, ports, strict=True)
    )
    if kind == _TCP:
        return Packet("tcp", source, to, body[13], "")
    asked = asked_name(body[8:]) if ports[1] == DNS else ""
    return Packet("udp", source, to, 0, asked)


def _listener() -> socket.socket:
    return socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))


def _written(family: socket.AddressFamily, address: bytes, port: int) -> str:
    host = socket.inet_ntop(family, address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
