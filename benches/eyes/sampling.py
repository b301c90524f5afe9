"""What CPU time it takes to sample many workers."""

import os
import select
import statistics
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from threading import Event, Thread

from benches.eyes.server import apache
from benches.eyes.told import Line, share
from benches.eyes.watcher import EVERY_S, watcher_of

from httpdyno.errors import HttpdynoError
from httpdyno.model import Look
from httpdyno.telemetry.profile.profiler import Profiler
from httpdyno.telemetry.watched import first_look, next_look

MOST = 0.02
"""Of a core."""
SHORT_S, LONG_S = 0.5, 3.5
"""Of onlookers: what they differ in is looking, the rest is their begin and their end."""
_CPUCLOCK_SCHED = 2
"""Of <linux/posix-timers.h>, as in `telemetry.process_tree`."""
_STARTED_S = 20.0
_SIZE = (50, 120)
"""Of the terminal: rows and columns."""


def sampling(n_looks: int, n_workers: int) -> Iterator[Line]:
    """Sample an idle pool in each way, for so many seconds each."""
    with apache(n_workers) as server:
        of = f"{n_workers} workers"
        yield share(f"looks of watch at 1 Hz, {of}", _looks(server.pid, n_looks), most=MOST)
        yield share(f"httpdyno watch, all of it, {of}", _command(server.pid, n_looks))
        on_terminal = _command(server.pid, n_looks, is_terminal=True)
        yield share(f"httpdyno watch on a terminal, {of}", on_terminal)
        yield from _onlooking(server.pid, n_looks, of)


def _looks(pid: int, n_looks: int) -> list[float]:
    """Return the shares of a core that looks take, each with what it makes of those before."""
    watcher = watcher_of(pid)
    look = watcher.look()
    if look is None:
        raise HttpdynoError("the server has ended")
    seen, ratios = first_look(look), []
    due_s = time.monotonic()
    for _ in range(n_looks):
        due_s += EVERY_S
        time.sleep(max(0.0, due_s - time.monotonic()))
        began_s = time.thread_time()
        look = watcher.look()
        if look is None:
            raise HttpdynoError("the server has ended")
        seen = next_look(seen, look)
        ratios.append((time.thread_time() - began_s) / EVERY_S)
    return ratios


def _onlooking(pid: int, n_looks: int, of: str) -> Iterator[Line]:
    # Twice as much time as for each other way: what they differ in is less than what they take.
    n_pairs = max(1, round(2 * n_looks * EVERY_S / (SHORT_S + LONG_S)))
    pairs = [(_onlooker(pid, SHORT_S), _onlooker(pid, LONG_S)) for _ in range(n_pairs)]
    rate = statistics.mean(long.n_samples / long.seconds for _, (long, _) in pairs)
    ratios = [
        (long_s - short_s) / (long.seconds - short.seconds)
        for (short, short_s), (long, long_s) in pairs
    ]
    rest_s = statistics.mean(
        short_s - ratio * short.seconds
        for ratio, ((short, short_s), _) in zip(ratios, pairs, strict=True)
    )
    yield share(f"onlooker at {rate:.1f} Hz, {of}", ratios, most=MOST)
    yield Line(text=f"{'  its begin and its end':<44} {rest_s * 1e3:.0f} ms of CPU")


def _onlooker(pid: int, seconds: float) -> tuple[Look, float]:
    """Return what one that looks for so long saw, and the CPU time that it took."""
    onlooker = Profiler([pid])
    onlooker.start()
    time.sleep(seconds)
    return onlooker.stop(), onlooker.own_cpu_s


def _command(pid: int, n_looks: int, *, is_terminal: bool = False) -> list[float]:
    """Return the shares of a core that `httpdyno watch` takes, second by second, once it is up.

    Args:
        pid: Of the server.
        n_looks: Seconds.
        is_terminal: Whether it shows a view on a terminal, or prints lines.
    """
    ours, theirs = os.openpty() if is_terminal else os.pipe()
    if is_terminal:
        termios.tcsetwinsize(theirs, _SIZE)
    process = subprocess.Popen(
        [sys.executable, "-m", "httpdyno", "watch", f"pid:{pid}"],
        stdin=theirs if is_terminal else subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    has_begun, is_over = Event(), Event()
    reader = Thread(target=_read, args=(ours, has_begun, is_over), daemon=True)
    reader.start()
    try:
        if not has_begun.wait(_STARTED_S):
            raise HttpdynoError("`httpdyno watch` shows nothing")
        # Each second that is measured has one look in its midst.
        time.sleep(2.5 * EVERY_S)
        used_s, at_s, ratios = _cpu_s(process.pid), time.monotonic(), []
        for _ in range(n_looks):
            time.sleep(max(0.0, at_s + EVERY_S - time.monotonic()))
            now_used_s, now_s = _cpu_s(process.pid), time.monotonic()
            ratios.append((now_used_s - used_s) / (now_s - at_s))
            used_s, at_s = now_used_s, now_s
        return ratios
    finally:
        process.terminate()
        process.wait()
        is_over.set()
        reader.join()
        os.close(ours)


def _read(handle: int, has_begun: Event, is_over: Event) -> None:
    """Read what is shown, as a terminal does, until it is over."""
    while not is_over.is_set():
        if not select.select([handle], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(handle, 1 << 16)
        except OSError:  # a terminal whose other side is closed
            return
        if not piece:
            return
        has_begun.set()


def _cpu_s(pid: int) -> float:
    return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED) / 1e9
