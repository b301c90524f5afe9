"""Who of this machine answers at an address that load goes to."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.foreground import free_port, started_in

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.discover import inspection as module
from httpdyno.servers.discover.find import Found
from httpdyno.servers.discover.inspection import answering, is_own
from httpdyno.servers.discover.machine import this_machine
from httpdyno.servers.discover.process import ProcessFacts


@pytest.fixture
def server(own_folders: Path) -> Iterator[tuple[int, int]]:
    """Return the pid of a web server, and its port."""
    port = free_port()
    with started_in(own_folders) as start:
        words = ["-m", "http.server", "--bind", "127.0.0.1", str(port)]
        yield start([sys.executable, *words], port), port


def roots(found):
    return [each.root.pid for each in found]


def test_it_is_who_listens_there_and_not_whoever_has_the_port_elsewhere(server):
    pid, port = server
    machine = this_machine()
    assert roots(answering(f"127.0.0.1:{port}", machine)) == [pid]
    # Nobody is asked: these are for documents (RFC 5737, RFC 3849).
    assert answering(f"192.0.2.1:{port}", machine) == ()
    assert answering(f"[2001:db8::1]:{port}", machine) == ()


def test_where_nobody_listens_there_is_nobody():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        assert answering(f"127.0.0.1:{held.getsockname()[1]}", this_machine()) == ()


def test_who_asks_is_not_looked_at():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        pytest.raises(AdapterError, match="httpdyno itself"),
    ):
        answering(f"127.0.0.1:{listener.getsockname()[1]}", this_machine())


def process(pid: int) -> ProcessFacts:
    return ProcessFacts(pid=pid, parent=1, name="shop", started_at_s=0.0)


def test_a_part_of_another_one_is_not_counted_twice(monkeypatch):
    member = Member(name="shop", kind="command")
    whole = Found(member=member, root=process(-1), below=(process(-2),))
    part = Found(member=member, root=process(-2))
    monkeypatch.setattr(module, "find", lambda *_: (part, whole))
    assert answering("unix:/run/shop.sock", this_machine()) == (whole,)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3"])
def test_addresses_of_this_machine_are_its_own(host):
    assert is_own(host)


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_those_of_others_are_not(host):
    assert not is_own(host)
