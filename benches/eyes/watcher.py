"""A watcher in a process of its own, which looks when it is told to: as `httpdyno watch` does.

As a program it takes the server's process id, how often it looks and when it looks first. Its stdin
says by a byte what holds from then on, `+` or `-`, and it answers with the same; when that is
closed, it says how often it looked and what CPU time that took.
"""

import math
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from httpdyno.errors import HttpdynoError
from httpdyno.registry import site_adapters
from httpdyno.report.watch.line import watch_line
from httpdyno.servers.discover.find import find
from httpdyno.servers.discover.machine import this_machine
from httpdyno.servers.discover.source import ProcessSource
from httpdyno.telemetry.watched import Watcher, first_look, next_look
from httpdyno.telemetry.worker import EACH_SECOND_S

EVERY_S = 1.0
"""Between two looks, as of `httpdyno watch`."""
_LOOK, _REST = b"+", b"-"


class Rhythm:
    """When the next look is due; time in which nobody looks does not pass."""

    def __init__(self, every_s: float, first_s: float) -> None:
        self._every_s = every_s
        self._left_s = first_s
        self._due_s = math.inf

    @property
    def due_s(self) -> float:
        """Of the monotonic clock; infinite while nobody looks."""
        return self._due_s

    def go_on(self, now_s: float) -> None:
        """Look from now on."""
        if self._due_s == math.inf:
            self._due_s = now_s + self._left_s

    def rest(self, now_s: float) -> None:
        """Do not look from now on."""
        if self._due_s < math.inf:
            self._left_s, self._due_s = max(0.0, self._due_s - now_s), math.inf

    def looked(self) -> None:
        """Have the next one come."""
        self._due_s += self._every_s


class Child:
    """A watcher that runs."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.n_looks = 0
        """Once it has ended, as the next."""
        self.cpu_s = 0.0
        """Of all of its looks."""

    def tell(self, *, looks: bool) -> None:
        """Have it look, or not; it has heard when this returns, and no look is under way.

        Raises:
            HttpdynoError: It has ended.
        """
        word = _LOOK if looks else _REST
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(word)
        if stdout.read(1) != word:
            raise HttpdynoError("the watcher has ended")

    def end(self) -> None:
        """End it, and learn what it did."""
        words = self._process.communicate()[0].split()
        if words:
            self.n_looks, self.cpu_s = int(words[0]), float(words[1])


@contextmanager
def watcher_beside(pid: int, *, every_s: float = EVERY_S, first_s: float = 0.0) -> Iterator[Child]:
    """Start a watcher of a server, which rests."""
    command = [sys.executable, "-m", "benches.eyes.watcher", *map(str, (pid, every_s, first_s))]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
    )
    child = Child(process)
    try:
        # It hears only when it is up.
        child.tell(looks=False)
        yield child
    finally:
        child.end()


def watcher_of(pid: int) -> Watcher:
    """Return what `httpdyno watch` looks by, once a second."""
    (found,) = find(ProcessSource(pid), this_machine(site_adapters()))
    return Watcher(pid, {each.inode for each in found.listens}, most_s=EACH_SECOND_S)


def main(pid: int, every_s: float, first_s: float) -> None:
    """Look when told to, until stdin is closed."""
    watcher, rhythm, seen = watcher_of(pid), Rhythm(every_s, first_s), None
    n_looks, cpu_s = 0, 0.0
    with open(os.devnull, "w", encoding="utf-8") as log:  # noqa: PTH123 - no path
        while True:
            left_s = max(0.0, rhythm.due_s - time.monotonic())
            if select.select([0], [], [], None if left_s == math.inf else left_s)[0]:
                word = os.read(0, 1)
                if not word:
                    break
                (rhythm.go_on if word == _LOOK else rhythm.rest)(time.monotonic())
                os.write(1, word)
                continue
            began_s = time.thread_time()
            look = watcher.look()
            if look is None:
                return
            seen = first_look(look) if seen is None else next_look(seen, look)
            print(watch_line(seen, every_s), file=log, flush=True)
            rhythm.looked()
            n_looks, cpu_s = n_looks + 1, cpu_s + time.thread_time() - began_s
    print(n_looks, cpu_s)


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(float, sys.argv[2:4]))
