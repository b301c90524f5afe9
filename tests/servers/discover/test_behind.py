"""What a server is seen to lean on: small programs that connect to each other."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from httpdyno.model import Backend, Survey
from httpdyno.servers.discover.find import find
from httpdyno.servers.discover.inspection import behind, inspected
from httpdyno.servers.discover.machine import this_machine
from httpdyno.servers.discover.source import ProcessSource

PROGRAM = """
import os, socket, sys
listening = socket.create_server(("127.0.0.1", 0))
kept = [listening]
for to in sys.argv[1:]:
    if to.startswith("/"):
        kept.append(socket.socket(socket.AF_UNIX))
        if os.path.exists(to):
            kept[-1].connect(to)
        else:
            kept[-1].bind(to)
            kept[-1].listen()
    else:
        kept.append(socket.create_connection(("127.0.0.1", int(to))))
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def running(*to: str) -> Iterator[tuple[int, str]]:
    """Start a server that holds connections; give its pid and its port."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", PROGRAM, *to],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.pid, process.stdout.readline().strip()
        process.stdin.close()


def behind_of(pid: int, *backends: str, asked: Sequence[str] = ()) -> dict[str, str]:
    machine = this_machine()
    (found,) = find(ProcessSource(pid), machine)
    seen = inspected(found, ())
    survey = Survey(version="", backends=tuple(Backend(to=to, protocol="http") for to in backends))
    places = behind(replace(seen, survey=survey), machine, asked=asked)
    return {each.to: each.by for each in places}


def test_what_it_is_connected_to_and_what_it_is_configured_to_is_behind_it(tmp_path):
    path = str(tmp_path / "db.sock")
    with running(path) as (database, port), running(port, path) as (server, own):
        name = this_machine().processes[database].name
        # By whichever of its two ways it is met first.
        [(to, by)] = behind_of(server).items()
        assert to in {f"127.0.0.1:{port}", f"unix:{path}"}
        assert by == f"{name} {database}"
        assert behind_of(server, f"localhost:{port}") == {f"localhost:{port}": by}
        # Who is behind does not have the one before it behind itself.
        assert behind_of(database) == {}
        configured = behind_of(server, f"127.0.0.1:{own}", f"127.0.0.1:{port}", "127.0.0.1:1")
        # It is no server behind itself; of whom nothing is seen it is said where.
        assert configured.keys() == {f"127.0.0.1:{port}", "127.0.0.1:1"}
        assert configured["127.0.0.1:1"] == ""


def test_whom_it_was_seen_to_ask_is_behind_it_though_no_connection_stands(tmp_path):
    with running() as (database, port), running() as (server, own):
        assert behind_of(server) == {}
        # Nobody serves the last one, and itself is not behind it.
        asked = (f"127.0.0.1:{port}", f"127.0.0.1:{own}", "127.0.0.1:1", "no address")
        assert behind_of(server, asked=asked).keys() == {f"127.0.0.1:{port}"}
        assert behind_of(server, asked=asked)[f"127.0.0.1:{port}"].endswith(f" {database}")
