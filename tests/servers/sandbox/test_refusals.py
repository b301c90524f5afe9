"""What a measured copy tries to reach is told, and who reaches nothing does not wait."""

import sys

import pytest
from tests.isolation import not_safest
from tests.servers.sandbox.cells import ENVIRONMENT, made_cells

from httpdyno.report.shared.message import texts
from httpdyno.servers.sandbox.attempts import Refusals, counters
from httpdyno.servers.sandbox.available import possible

pytestmark = pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had")

OUTSIDE = """
import os, socket
def tried(family, kind, address):
    try:
        with socket.socket(family, kind) as calling:
            calling.connect(address)
            calling.send(b"x")
            calling.recv(1)
    except OSError:
        pass
"""
WAYS = {
    "unix:/srv/db/redis.sock": 'tried(socket.AF_UNIX, socket.SOCK_STREAM, "/srv/db/redis.sock")',
    "unix:/dev/log": 'tried(socket.AF_UNIX, socket.SOCK_DGRAM, "/dev/log")',
    "unix:/a\\u000ab": 'tried(socket.AF_UNIX, socket.SOCK_STREAM, "/a\\nb")',
    "TCP addresses that nobody listens at": (
        'tried(socket.AF_INET, socket.SOCK_STREAM, ("10.0.0.5", 5432))'
    ),
    "UDP addresses that nobody reads at": (
        'tried(socket.AF_INET6, socket.SOCK_DGRAM, ("2001:db8::5", 53))'
    ),
}
OWN = """
import os, socket
for family, address in ((socket.AF_UNIX, "/run/own.sock"), (socket.AF_INET, ("10.0.0.5", 80))):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    socket.socket(family).connect(address)
"""


def told(program):
    with made_cells() as cells:
        seat = cells()
        refusals = Refusals(seat)
        try:
            refusals.begin()
            command = [sys.executable, "-I", "-S", "-c", program]
            said = seat.run(command, environment=ENVIRONMENT)
            assert said.exit_code == 0, said.errors
            return texts(refusals.told())
        finally:
            refusals.close()


def test_what_nobody_takes_is_told():
    assert told("\n".join([OUTSIDE, *WAYS.values()])) == tuple(WAYS)


def test_what_a_copy_reaches_of_itself_is_not():
    assert told(OWN) == ()


def test_counters_are_read_as_the_kernel_writes_them():
    text = "Tcp: ActiveOpens AttemptFails\nTcp: 7 3\nUdp: NoPorts\nUdp: 2\nUdpLite: NoPorts\n"
    text += "UdpLite: 9\nTcpExt: ListenOverflows Other\nTcpExt: 1 5\n"
    assert counters(text) == {"AttemptFails": 3, "NoPorts": 2, "ListenOverflows": 1}
    assert counters("Udp6InDatagrams   \t1\nUdp6NoPorts     \t4\n") == {"Udp6NoPorts": 4}
