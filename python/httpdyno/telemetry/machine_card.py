"""What this machine takes for a few things that servers do all the time.

A result is one of its machine: beside it stands what a system call, a process, a switch, a copy and
a round trip took there. Each but the requests, which a load engine measures, is the median of
several runs of some hundredths of a second, so a card is good for a comparison with another
machine's, and for no claim.
"""

import os
import socket
import statistics
import time
from collections.abc import Callable

from msgspec import structs

from httpdyno.model import MachineCard
from httpdyno.telemetry.ticks import others_s

_RUNS = 5
_RUN_S = 0.02
_COPY_BYTES = 64 << 20
_MUCH = 0.2
"""Cores of others: the kernel and who looks use less."""
_MISSING = "/nowhere/at/all"


def machine_card(requests_per_s: float | None) -> MachineCard:
    """Measure this machine; takes about a second.

    Args:
        requests_per_s: Of the smallest ones over loopback, which takes a load engine: it is
            measured by who has one. None where it could not be.
    """
    before_s, began_s = others_s(), time.perf_counter()
    card = MachineCard(
        stat_s=_each_s(_stat),
        fork_s=_each_s(_fork),
        switch_s=_through_pipes_s() / 2,
        copy_bytes_per_s=_COPY_BYTES / _copy_s(),
        round_trips_per_s=1 / _round_trip_s(),
        requests_per_s=requests_per_s,
    )
    others_cores = (others_s() - before_s) / (time.perf_counter() - began_s)
    is_much = others_cores >= _MUCH
    return structs.replace(card, others_cores=round(others_cores, 2)) if is_much else card


def _stat() -> None:
    try:
        os.stat(_MISSING)  # noqa: PTH116 - the call itself
    except OSError:
        return


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _each_s(act: Callable[[], None]) -> float:
    """Return what one takes, the median of several runs."""
    means = []
    for _ in range(_RUNS):
        n, began_s = 0, time.perf_counter()
        while (passed_s := time.perf_counter() - began_s) < _RUN_S:
            act()
            n += 1
        means.append(passed_s / n)
    return statistics.median(means)


def _copy_s() -> float:
    source, target = bytearray(_COPY_BYTES), bytearray(_COPY_BYTES)
    times = []
    for _ in range(_RUNS + 1):
        began_s = time.perf_counter()
        memoryview(target)[:] = source
        times.append(time.perf_counter() - began_s)
    # The first one gets its pages.
    return statistics.median(times[1:])


def _through_pipes_s() -> float:
    """Return a round between two processes on one core."""
    here, there = os.pipe(), os.pipe()
    core = {min(os.sched_getaffinity(0))}
    own = os.sched_getaffinity(0)
    pid = os.fork()
    if pid == 0:
        # Its own ends of the other side would keep it from seeing the end.
        os.close(here[1])
        os.close(there[0])
        _echo(core, lambda: os.read(here[0], 1), lambda data: os.write(there[1], data))
    os.close(here[0])
    os.close(there[1])

    def round_trip() -> None:
        os.write(here[1], b"x")
        os.read(there[0], 1)

    try:
        os.sched_setaffinity(0, core)
        return _each_s(round_trip)
    finally:
        os.sched_setaffinity(0, own)
        os.close(here[1])
        os.close(there[0])
        os.waitpid(pid, 0)


def _round_trip_s() -> float:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pid = os.fork()
        if pid == 0:
            with socket.create_connection(listener.getsockname()) as end:
                listener.close()
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _echo(None, lambda: end.recv(1), end.send)
        connection, _ = listener.accept()
    with connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def round_trip() -> None:
            connection.send(b"x")
            connection.recv(1)

        found = _each_s(round_trip)
    os.waitpid(pid, 0)
    return found


def _echo(
    core: set[int] | None, read: Callable[[], bytes], write: Callable[[bytes], object]
) -> None:
    """Answer until the other side is gone; never returns."""
    try:
        if core is not None:
            os.sched_setaffinity(0, core)
        while data := read():
            write(data)
    finally:
        os._exit(0)
