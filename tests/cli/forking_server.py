"""A small server that forks its workers, and was not started by httpdyno."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_DEADLINE_S = 20.0
N_WORKERS = 3
_PROGRAM = f"""
import os, signal, socket, sys
listening = socket.create_server(("127.0.0.1", 0), backlog=7)
pids = []
for _ in range({N_WORKERS}):
    pid = os.fork()
    if pid == 0:
        signal.pause()
    pids.append(pid)
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
for pid in pids:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
"""


class ForkingServer:
    """A parent and its workers; ends when its stdin is closed."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        self.process = process
        self.port = int(process.stdout.readline())

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(_DEADLINE_S)


@contextmanager
def forking_server() -> Iterator[ForkingServer]:
    """Give one whose stderr is no file."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        started = ForkingServer(process)
        yield started
        started.end()
