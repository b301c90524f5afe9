"""The resolver over a real socket of the loopback: at once, after a while, and never."""

import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from tests.servers.own_network.test_dns import question, told

from httpdyno.servers.own_network.resolver import A, n_asked
from httpdyno.servers.sandbox.namespace import SOURCE

DEADLINE_S = 20.0
PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from httpdyno.servers.own_network.resolver import main; main(*sys.argv[2:])"
)
RIGHT = (0, False, [bytes([10, 0, 0, 1])])


@pytest.fixture
def serving(tmp_path):
    """Return what serves a table, and gives a socket to ask with and the file of counts."""

    @contextmanager
    def serve(answers):
        table, counts = tmp_path / "table", tmp_path / "counts"
        table.write_text(f"answers {answers}\nclient.example 10.0.0.1\n")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
            held.bind(("127.0.0.1", 0))
            port = str(held.getsockname()[1])
        words = [SOURCE, str(table), str(counts), "127.0.0.1", port]
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", PROGRAM, *words]) as process:
            try:
                wait_for(lambda: counted(counts) is not None)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
                    asking.connect(("127.0.0.1", int(port)))
                    asking.settimeout(DEADLINE_S)
                    yield asking, counts
            finally:
                process.kill()

    return serve


def counted(counts):
    return n_asked(counts.read_bytes()) if counts.exists() else None


def wait_for(is_so):
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.002)


def test_it_answers_whoever_asks_and_counts_each_question(serving):
    with serving("0") as (asking, counts):
        assert counted(counts) == 0
        for n in range(1, 4):
            asking.send(question("client.example", A))
            assert told(asking.recv(512)) == RIGHT
            assert counted(counts) == n
        asking.send(b"no question")
        asking.send(question("client.example", A))
        assert told(asking.recv(512)) == RIGHT
        assert counted(counts) == 5


def test_a_slow_one_lets_each_wait_as_long_and_takes_others_meanwhile(serving):
    with serving("0.3") as (asking, counts):
        began_s = time.monotonic()
        for _ in range(10):
            asking.send(question("client.example", A))
        wait_for(lambda: counted(counts) == 10)
        assert [told(asking.recv(512)) for _ in range(10)] == [RIGHT] * 10
        assert time.monotonic() - began_s >= 0.3


def test_a_dead_one_hears_all_and_says_nothing(serving):
    with serving("never") as (asking, counts):
        asking.send(question("client.example", A))
        wait_for(lambda: counted(counts) == 1)
        asking.setblocking(False)
        with pytest.raises(BlockingIOError):
            asking.recv(512)


@pytest.mark.parametrize("content", [b"", b"1234567"])
def test_what_was_not_written_whole_tells_nothing(content):
    assert n_asked(content) is None
