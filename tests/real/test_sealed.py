"""Real servers of production in a folder that a copy sees: nothing that it sends gets there."""

import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from tests.isolation import not_safest
from tests.servers.sandbox.cells import ENVIRONMENT, made_cells

from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.servers.sandbox.available import possible

pytestmark = pytest.mark.skipif(
    possible()[0] != "cell" or not is_root_of_the_machine(),
    reason=not_safest() or "servers of other users are needed",
)

DEADLINE_S = 20.0
HAPROXY = """\
global
  stats socket {folder}/admin.sock mode 666 level admin
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect 5s
frontend front
  bind unix@{folder}/front.sock mode 666
  http-request return status 200
"""
SAY = """
import socket, sys
for path, words in zip(sys.argv[1::2], sys.argv[2::2]):
    with socket.socket(socket.AF_UNIX) as calling:
        calling.settimeout(2)
        try:
            calling.connect(path)
            calling.sendall(words.encode())
            print(path, calling.recv(99))
        except OSError as error:
            pass
"""


def started(stack, folder):
    """Start Redis by a relative socket, memcached, and HAProxy, which renames its sockets."""
    (folder / "haproxy.cfg").write_text(HAPROXY.format(folder=folder))
    commands = (
        ("redis-server", "--port", "0", "--unixsocket", "redis.sock", "--save", ""),
        ("memcached", "-u", "root", "-s", f"{folder}/memcached.sock", "-a", "777"),
        ("haproxy", "-db", "-f", f"{folder}/haproxy.cfg"),
    )
    processes = []
    for command in commands:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        stack.callback(process.wait)
        stack.callback(process.terminate)
        processes.append(process)
    for name in ("redis", "memcached", "admin", "front"):
        asked(f"{folder}/{name}.sock", "")
    return processes


def asked(path, words):
    """Return what a server of production says."""
    deadline_s = time.monotonic() + DEADLINE_S
    while True:
        with socket.socket(socket.AF_UNIX) as calling:
            calling.settimeout(DEADLINE_S)
            with suppress(OSError):
                calling.connect(path)
                calling.sendall(words.encode())
                return calling.recv(9999).decode() if words else ""
        assert time.monotonic() < deadline_s, path
        time.sleep(0.01)


@pytest.mark.real_server("redis-server", "memcached", "haproxy")
def test_what_a_copy_sends_reaches_no_server_of_production_though_it_is_restarted():
    folder = Path("/srv", f"httpdyno-test-{os.getpid()}")
    folder.mkdir()
    sent = {
        "redis.sock": "INCR orders\r\n",
        "memcached.sock": "set orders 0 0 1\r\n1\r\n",
        "admin.sock": "set server b/s1 weight 50%\n",
        "front.sock": "GET /order HTTP/1.0\r\n\r\n",
    }
    words = [word for name, text in sent.items() for word in (f"{folder}/{name}", text)]
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        cells = stack.enter_context(made_cells())
        said = []
        first = stack.enter_context(ExitStack())
        started(first, folder)
        seat = cells()
        for _ in range(2):
            command = [sys.executable, "-I", "-S", "-c", SAY, *words]
            said.append(seat.run(command, environment=ENVIRONMENT))
            first.close()
            first = stack.enter_context(ExitStack())
            started(first, folder)
        said.append(seat.run(command, environment=ENVIRONMENT))
        assert [(each.exit_code, each.output) for each in said] == [(0, "")] * 3, said
        assert asked(f"{folder}/redis.sock", "GET orders\r\n") == "$-1\r\n"
        assert asked(f"{folder}/memcached.sock", "get orders\r\n") == "END\r\n"
        sessions = asked(f"{folder}/admin.sock", "show stat\n")
        [front] = [line for line in sessions.splitlines() if line.startswith("front,FRONTEND")]
        # Only ours, which tried whether it is up.
        assert int(front.split(",")[7]) <= 1, sessions
