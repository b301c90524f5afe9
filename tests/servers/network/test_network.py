"""Asking a server that is in a network namespace of its own."""

import socket
from pathlib import Path

import pytest
from tests.namespace import may_make_networks, serving_elsewhere
from tests.rows import each_row

from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.servers.network.address import HeldPort, within
from httpdyno.servers.network.probe import Patience
from httpdyno.servers.ready import application_settings, await_answer

needs_root = pytest.mark.skipif(not may_make_networks(), reason="only root can make networks")


def network_here() -> Path:
    return Path("/proc/thread-self/ns/net").readlink()


@needs_root
def test_a_server_is_asked_where_it_is_and_nowhere_else():
    with HeldPort() as port, serving_elsewhere(port.number) as network:
        answered = await_answer(port.address, "/", lambda: True, Patience(10), network=network)
        said = application_settings(port.address, "/s", timeout_s=10, network=network)
        here = await_answer(port.address, "/", lambda: True, Patience(0.05))
    assert (answered.kind, here.kind) == ("answers", "silent")
    assert isinstance(said, Reason)
    assert text(said) == "GET /s did not bring a JSON object"


@needs_root
def test_what_is_made_elsewhere_stays_there_and_the_caller_stays_here():
    before = network_here()
    with HeldPort() as port, serving_elsewhere(port.number) as network:
        inode = Path(network).readlink()
        assert within(network, network_here) == inode
        assert network_here() == before != inode
        made = within(network, lambda: socket.create_server(("127.0.0.1", 0)))
        with made, pytest.raises(ConnectionRefusedError):
            socket.create_connection(made.getsockname(), timeout=5)


def test_no_network_named_is_the_one_of_the_caller():
    assert within("", network_here) == network_here()


@each_row("path", ["/dev/null", "/proc/self/ns/uts", "/nowhere"])
def test_what_is_no_network_cannot_be_entered(path):
    with pytest.raises(OSError, match=path):
        within(path, network_here)


def test_a_server_in_no_network_is_silent_with_the_reason():
    found = await_answer("127.0.0.1:1", "/", lambda: True, Patience(0.05), network="/nowhere")
    assert found.kind == "silent"
    assert found.why is not None
    assert "/nowhere" in text(found.why)
