"""The kernel's own stamps of the requests that go to a port of this machine.

A program that waits for requests has to be woken: some tens of microseconds, fewer when it was
awake just before. Where that matters, these stamps are the better witness: the kernel takes them
when a packet reaches the origin's side of the loopback device, before anybody is woken.
"""

import ctypes
import socket
import struct
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

_SO_TIMESTAMPNS, _SO_ATTACH_FILTER, _SO_RCVBUFFORCE = 35, 26, 33
_ETH_P_IP = 0x0800
_ROOM_BYTES = 64 << 20
"""Nobody reads while the load runs, so that reading disturbs nothing."""
_HEAD_BYTES = 64
_TIMESPEC = struct.Struct("@qq")


class Wire:
    """Collects the instants at which data came to a port, from entering the `with` block on.

    Raises:
        PermissionError: Only root may look at packets.
    """

    def __init__(self, port: int) -> None:
        # Without a protocol it hears nothing before the filter is there.
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        try:
            program = _filter(port)
            array = ctypes.create_string_buffer(b"".join(program))
            attached = struct.pack("@HP", len(program), ctypes.addressof(array))
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, attached)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _ROOM_BYTES)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
            self._socket.bind(("lo", _ETH_P_IP))
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._socket.close()

    def arrivals_ns(self) -> NDArray[np.int64]:
        """Return the instants so far, of the real-time clock; (n_packets_with_data,).

        What TCP sent again counts once, when it came first.
        """
        found: dict[bytes, int] = {}
        while True:
            try:
                packet, extra, _, _ = self._socket.recvmsg(
                    _HEAD_BYTES, socket.CMSG_SPACE(_TIMESPEC.size)
                )
            except BlockingIOError:
                return np.array(list(found.values()), dtype=np.int64)
            for level, kind, data in extra:
                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds, nanoseconds = _TIMESPEC.unpack(data)
                    found.setdefault(_identity(packet), seconds * 1_000_000_000 + nanoseconds)


def _identity(packet: bytes) -> bytes:
    """Return what tells segments apart: the client's port and the sequence number."""
    tcp = packet[4 * (packet[0] & 0x0F) :]
    return tcp[0:2] + tcp[4:8]


def _filter(port: int) -> list[bytes]:
    """Return a packet filter: TCP to this port, received (not sent), with the flag PSH."""
    load_byte, load_indexed_half, load_indexed_byte, load_word = 0x30, 0x48, 0x50, 0x20
    load_header_length, equals, has_bits, give = 0xB1, 0x15, 0x45, 0x06
    packet_type = 0xFFFFF000 + 4
    steps = [
        (load_byte, 0, 0, 9),
        (equals, 0, 8, socket.IPPROTO_TCP),
        (load_header_length, 0, 0, 0),
        (load_indexed_half, 0, 0, 2),
        (equals, 0, 5, port),
        (load_word, 0, 0, packet_type),
        (equals, 0, 3, 0),
        (load_indexed_byte, 0, 0, 13),
        (has_bits, 0, 1, 0x08),
        (give, 0, 0, _HEAD_BYTES),
        (give, 0, 0, 0),
    ]
    return [struct.pack("@HBBI", *step) for step in steps]
