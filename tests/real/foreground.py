"""Servers that a test starts in the foreground, as httpdyno would not: by their own programs."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tests.conftest import PROGRAM_PATH

from httpdyno.servers.run.live_process import child_pids

DEADLINE_S = 10.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def await_port(port: int) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline_s:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    pytest.fail(f"nothing came to listen at {port}")


def await_children(n: int, *pids: int) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while any(len(child_pids(pid)) < n for pid in pids):
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


@contextmanager
def started_in(folder: Path) -> Iterator[Callable[[Sequence[str], int], int]]:
    """Give what starts a command in a folder and returns its pid once a port listens."""
    with ExitStack() as stack:

        def started(command: Sequence[str], port: int) -> int:
            process = subprocess.Popen(
                command,
                cwd=folder,
                start_new_session=True,
                stderr=subprocess.DEVNULL,
                env={"PATH": PROGRAM_PATH, "HTTPDYNO_RUN_DIR": str(folder)},
            )
            stack.callback(_end, process)
            await_port(port)
            return process.pid

        yield started


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(DEADLINE_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()
