import socket
import struct

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.servers.sandbox.attempts import Packet, parsed

IPV4, IPV6 = 0x0800, 0x86DD


def ipv4(kind, body, source="10.0.0.1", to="10.0.0.2"):
    head = struct.pack(">BBHHHBBH", 0x45, 0, 0, 0, 0, 64, kind, 0)
    return head + socket.inet_aton(source) + socket.inet_aton(to) + body


def tcp(flags, source=1000, to=5432):
    return struct.pack(">HHIIBBHHH", source, to, 0, 0, 0x50, flags, 0, 0, 0)


@each_row(
    ("protocol", "content", "expected"),
    [
        (IPV4, ipv4(6, tcp(0x02)), Packet("tcp", "10.0.0.1:1000", "10.0.0.2:5432", 2, "")),
        (
            IPV6,
            bytes([0x60, 0, 0, 0, 0, 20, 6, 64]) + bytes(15) + b"\1" + bytes(15) + b"\2" + tcp(18),
            Packet("tcp", "[::1]:1000", "[::2]:5432", 18, ""),
        ),
        (
            IPV4,
            ipv4(17, struct.pack(">HHHH", 9, 53, 0, 0) + bytes(12) + b"\2db\0"),
            Packet("udp", "10.0.0.1:9", "10.0.0.2:53", 0, "db"),
        ),
        (IPV4, ipv4(1, bytes(20)), None),
        (IPV4, ipv4(6, b"short"), None),
        (0x0806, bytes(60), None),
    ],
)
def test_what_matters_of_a_packet(protocol, content, expected):
    assert parsed(protocol, content) == expected


@given(st.sampled_from([IPV4, IPV6]), st.binary(max_size=120))
def test_no_packet_is_too_odd(protocol, content):
    packet = parsed(protocol, content)
    assert packet is None or packet.kind in {"tcp", "udp"}
