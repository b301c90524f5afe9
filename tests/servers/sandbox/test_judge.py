"""Who listens where, as the kernel lists it."""

import pytest
from tests.rows import each_row

from httpdyno.servers.sandbox.syscall import Target
from httpdyno.servers.sandbox.verdict import is_at, unix_sockets

TABLE = """\
0000: 00000002 00000000 00010000 0001 01 11 /run/own.sock
0000: 00000003 00000000 00000000 0001 03 12 /run/own.sock
0000: 00000002 00000000 00000000 0002 01 13 /run/own log
0000: 00000002 00000000 00010000 0005 01 14 @packets
0000: 00000002 00000000 00000000 0001 01 15
""".splitlines()


@each_row(
    ("listens", "host", "port", "expected"),
    [
        ("127.0.0.1:80", "127.0.0.1", 80, True),
        ("127.0.0.1:80", "127.0.0.1", 81, False),
        ("127.0.0.1:80", "10.0.0.5", 80, False),
        ("0.0.0.0:80", "10.0.0.5", 80, True),
        ("[::]:80", "10.0.0.5", 80, True),
        ("[::]:80", "2001:db8::5", 80, True),
        ("[::ffff:10.0.0.5]:80", "10.0.0.5", 80, True),
        ("[::1]:80", "::1", 80, True),
        ("[::1]:80", "127.0.0.1", 80, False),
    ],
)
def test_who_answers_at_an_address(listens, host, port, expected):
    assert is_at(listens, Target("ip", host, port)) is expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("stream", [("/run/own.sock", 11), ("@packets", 14)]),
        ("datagram", [("/run/own log", 13)]),
    ],
)
def test_which_unix_sockets_take_what_is_sent(kind, expected):
    assert list(unix_sockets(TABLE, kind)) == expected
