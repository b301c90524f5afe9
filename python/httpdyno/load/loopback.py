"""How many of the smallest requests client and server answer here, with nothing to do between them.

One process of Python for each connection reads and answers, so the figure is of this machine's
sockets, switches and cores, with the load engine on one side. It is good for a comparison with
another machine's, and for no claim.
"""

import os
import signal
import socket

from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import RequestSpec, Workload

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_REQUEST_BYTES = 4096
"""More than a request of the engine's without a body."""
_LEAD_IN_S = 0.05
_MEASURE_S = 0.25
_PATIENCE_S = 5.0
"""A process that nobody connects to for so long ends itself: who began it may have been killed."""


def loopback_requests_per_s() -> float:
    """Return how many requests for nothing are answered in a second; takes a third of one.

    Over as many connections as this process may use cores. It forks, so no other thread of this
    process may be at work.

    Raises:
        EngineError: The engine cannot run.
        OSError: There are no sockets, or no processes.
    """
    n = len(os.sched_getaffinity(0))
    pids: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        try:
            for _ in range(n):
                pid = os.fork()
                if pid == 0:
                    _answer(listener)
                pids.append(pid)
            return _measured(f"{host}:{port}", n)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _measured(address: str, n_connections: int) -> float:
    workload = Workload(
        requests=(RequestSpec(expect_length=0),), connections=n_connections, timeout_s=_PATIENCE_S
    )
    window = WindowPlan(arm=0, lead_in_s=_LEAD_IN_S, measure_s=_MEASURE_S)
    handle = start_load(workload, [address], [window])
    try:
        handle.wait()
    finally:
        handle.stop()
    [seen] = handle.measurements()
    return seen.measured_completed / seen.measured_s


def _answer(listener: socket.socket) -> None:
    """Answer on one connection after the other until nobody comes; never returns."""
    try:
        listener.settimeout(_PATIENCE_S)
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while connection.recv(_REQUEST_BYTES):
                    connection.sendall(_ANSWER)
    finally:
        os._exit(0)
