"""Small servers whose workers wait in one certain way each, to be looked at."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from httpdyno.model.look import Look
from httpdyno.telemetry.profile.profiler import Profiler

_PRELUDE = """
import ctypes, fcntl, os, select, signal, socket, subprocess, sys, threading, time
listener = socket.create_server(("127.0.0.1", 0), backlog=16)
def say(*words):
    print(listener.getsockname()[1], *words, flush=True)
def workers(n, work):
    for _ in range(n):
        if os.fork() == 0:
            signal.alarm(30)
            work()
            os._exit(0)
"""
PARENT = "say()\nsignal.pause()\n"
ACCEPTING = """
def work():
    while True:
        connection, _ = listener.accept()
        while connection.recv(100):
            connection.sendall(b"x")
"""


@contextmanager
def waiting(code: str, *arguments: str) -> Iterator[tuple[int, int]]:
    """Run a server; give its process's id and its port once it said them.

    Args:
        code: What it runs, after a prelude that has a `listener`; it must `say()`.
        arguments: Given to it.
    """
    command = [sys.executable, "-I", "-S", "-c", f"{_PRELUDE}\nsignal.alarm(30)\n{code}"]
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        assert server.stdout is not None
        try:
            yield server.pid, int(server.stdout.readline().split()[0])
        finally:
            os.killpg(server.pid, signal.SIGKILL)


def served(port: int) -> socket.socket:
    """Return a connection that was answered once, so that somebody reads from it again."""
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"x")
    assert client.recv(1) == b"x"
    return client


def looked_at(pid: int, seconds: float = 0.3, network: str = "") -> Look:
    """Return what is seen of a server in so much time."""
    onlooker = Profiler([pid], network)
    onlooker.start()
    # A signal that never comes is as good as sleeping; nothing here can say that it is over.
    signal.sigtimedwait([signal.SIGURG], seconds)
    return onlooker.stop()


def seen_at(pid: int, doing: dict[str, float]) -> Look:
    """Return what is seen once all workers are where they stay; what was seen if they never are."""
    return seen_when(lambda: looked_at(pid), lambda look: look.doing == doing)[-1]


def seen_when(look: Callable[[], Look], is_so: Callable[[Look], bool]) -> list[Look]:
    """Look again until something is so that a server has to come to, which takes CPU time.

    Returns:
        All looks; the last one shows it, where any did.
    """
    deadline_s = time.monotonic() + 10
    seen = [look()]
    while not is_so(seen[-1]) and time.monotonic() < deadline_s:
        seen.append(look())
    return seen


def mean(seen: Look, doing: str) -> float:
    """Return the mean number that did something."""
    return seen.doing.get(doing, 0.0)


def await_true(condition: Callable[[], bool]) -> None:
    """Ask again until it is so."""
    deadline_s = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline_s
