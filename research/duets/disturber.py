"""A process that burns a core for random spells, and ends with whoever started it.

Each spell is on one core, drawn anew, as a neighbour of a virtual machine hits one of its cores.
"""

import ctypes
import os
import random
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self

SPELL_S = (0.005, 0.3)
"""Shortest and longest; so is the pause after each."""
_PR_SET_PDEATHSIG = 1
_PIECE = range(5_000)
"""About 0.2 ms of arithmetic between two looks at whether to go on."""
_END_S = 5.0


class Disturber:
    """The process; use as a context manager. It rests until it is told to begin."""

    def __init__(self, seed: int, cpus: Sequence[int]) -> None:
        self._command = [sys.executable, "-S", str(Path(__file__).resolve())]
        self._command += [str(seed), str(os.getpid()), *map(str, cpus)]

    def __enter__(self) -> Self:
        self._child = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._child.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._child.pid

    def set(self, *, is_on: bool) -> None:
        """Have it begin or rest; it has when this returns.

        Raises:
            RuntimeError: It is gone.
        """
        word = b"1" if is_on else b"0"
        if self._child.stdin is None or self._child.stdout is None:
            raise RuntimeError("the disturber has no pipes")
        self._child.stdin.write(word)
        # An answer that Ctrl-C kept somebody from reading comes first.
        while (said := self._child.stdout.read(1)) != word:
            if not said:
                raise RuntimeError("the disturber is gone")


def main() -> None:
    """Read a byte at a time: 1 begins, 0 rests, the end of input ends it."""
    seed, parent, cpus = int(sys.argv[1]), int(sys.argv[2]), [int(cpu) for cpu in sys.argv[3:]]
    # Ctrl-C is for the parent, which ends this one; should it be killed, the kernel does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        return
    draw, word = random.Random(seed), b"0"
    while word:
        word = _disturbed(draw, cpus) if word == b"1" else os.read(0, 1)
        if word:
            os.write(1, word)


def _disturbed(draw: random.Random, cpus: Sequence[int]) -> bytes:
    """Burn and pause until there is news; return it."""
    while True:
        os.sched_setaffinity(0, {draw.choice(cpus)})
        until_s = perf_counter() + draw.uniform(*SPELL_S)
        while perf_counter() < until_s:
            sum(each * each for each in _PIECE)
            if select.select([0], [], [], 0)[0]:
                return os.read(0, 1)
        if select.select([0], [], [], draw.uniform(*SPELL_S))[0]:
            return os.read(0, 1)


if __name__ == "__main__":
    main()
