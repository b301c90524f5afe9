"""The program as it runs: asked for batches of calls, and held to the kernel's account of it.

A line `NAME COUNT` on its standard input asks it to call a body so many times; it answers with a
line `CPU_NS WALL_NS`, what that took by its own clocks, or `0 0` where it keeps none. A line that
is nothing of the kind says in words why it does not. It ends where its input does.

What counts is none of what it says: the CPU time is its process's clock, all threads of it, read
before the line is written and after the answer has come; the wall time is our own.
"""

import os
import re
import select
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from httpdyno.errors import AdapterError
from httpdyno.host.procfs import process_clock, stat_of
from httpdyno.reason import because
from httpdyno.servers.adapter import NotRunning, Place, own_words
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.staging import last_lines

PATIENCE_S = 30.0
"""For an answer, however much was asked for: batches are to take tens of milliseconds."""
_EXIT_S = 2.0
_SLICE_MS = 200.0
_MOST_BYTES = 4096
_ASKED, _ANSWERED = "asked", "answered"
_SHELL = 'exec "$@" <"$HTTPDYNO_ASKED" >"$HTTPDYNO_ANSWERED"'
"""Opens the pipes, then becomes the program: the process that is measured is the program's own."""
_ANSWER = re.compile(r"([0-9]{1,18}) [0-9]{1,18}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """So many calls of a body, and what they took with all that asking for them takes."""

    n: int
    cpu_s: float
    wall_s: float
    said_cpu_s: float = 0.0
    """By the program's own account; 0 where it keeps none."""


class Program:
    """One life of the program; owns its process until `stop` returned."""

    def __init__(self, process: ServerProcess, place: Place, asks: int, answers: int) -> None:
        self._process = process
        self._place = place
        self._asks = asks
        self._answers = answers
        self._said = b""
        self._faults_of_launch: int | None = None
        self._is_stopped = False
        self._poller = select.poll()
        self._poller.register(answers, select.POLLIN)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @classmethod
    def spawn(cls, command: Sequence[str], *, place: Place, environment: Mapping[str, str]) -> Self:
        """Start the program in its place.

        Raises:
            AdapterError: No process can be started.
        """
        asked, answered = (place.folder / name for name in (_ASKED, _ANSWERED))
        try:
            os.mkfifo(asked, 0o600)
            os.mkfifo(answered, 0o600)
            # First, and without waiting for the other side; so neither end waits for one of ours.
            answers = os.open(answered, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            asks = os.open(asked, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise AdapterError(f"no pipes can be made in `{place.folder}`: {error}") from error
        try:
            process = ServerProcess.spawn(
                ["/bin/sh", "-c", _SHELL, "sh", *command],
                place=place,
                environment={
                    **environment,
                    "HTTPDYNO_ASKED": str(asked),
                    "HTTPDYNO_ANSWERED": str(answered),
                },
                log=place.folder / "program.log",
            )
        except BaseException:
            os.close(asks)
            os.close(answers)
            raise
        return cls(process, place, asks, answers)

    def batch(self, name: str, n: int, *, patience_s: float = PATIENCE_S) -> Batch | NotRunning:
        """Have a body called so many times; return what it took, or what came of the program."""
        clock = process_clock(self._process.pid)
        line = f"{name} {n}\n".encode()
        try:
            used_ns, began_ns = time.clock_gettime_ns(clock), time.monotonic_ns()
            os.write(self._asks, line)
            answer = self._answer(patience_s)
            wall_ns, used_ns = (
                time.monotonic_ns() - began_ns,
                time.clock_gettime_ns(clock) - used_ns,
            )
        except OSError:  # the process has gone, and its clock with it
            return self._end_of(name)
        if answer is None and self._process.is_alive():
            silent = because("servers.body_silent", name=name, n=n, timeout_s=patience_s)
            return NotRunning(status="hung", detail=silent)
        if not answer:
            return self._end_of(name)
        cpu_ns = said_cpu_ns(answer)
        if cpu_ns is None or self._said:
            detail = own_words(last_lines(answer))
            if self._said:
                more = last_lines(self._said.decode(errors="replace"))
                detail = because("servers.said_more", words=detail, more=more)
            return NotRunning(status="refused", detail=detail)
        batch = Batch(n=n, cpu_s=used_ns / 1e9, wall_s=wall_ns / 1e9, said_cpu_s=cpu_ns / 1e9)
        return self._work_elsewhere(name) or batch

    def stop(self) -> None:
        """End it and all that came from it, and remove its place; idempotent.

        Raises:
            RevertError: A process could not be ended.
        """
        if self._is_stopped:
            return
        self._is_stopped = True
        for handle in (self._asks, self._answers):
            os.close(handle)  # its input ends, and so does it
        self._process.stop()
        remove_place(self._place)

    def _answer(self, patience_s: float) -> str | None:
        """Return the next line; empty where there will be none, None where it takes too long."""
        end_s = time.monotonic() + patience_s
        while b"\n" not in self._said and len(self._said) < _MOST_BYTES:
            left_ms = (end_s - time.monotonic()) * 1e3
            if left_ms <= 0:
                return None
            if self._poller.poll(min(_SLICE_MS, left_ms)):
                more = os.read(self._answers, _MOST_BYTES)
                if not more:  # it has closed its output
                    return self._said.decode("utf-8", errors="replace")
                self._said += more
            elif not self._process.is_alive():
                return ""
        line, _, self._said = self._said.partition(b"\n")
        return line.decode("utf-8", errors="replace") or " "

    def _work_elsewhere(self, name: str) -> NotRunning | None:
        """Return that a body had other processes do its work; None where it did it all itself.

        What had ended at the first answer is the launcher's: a script that looks for the program
        with commands of its own, and becomes it, is the same process.
        """
        faults = ended_children_faults(self._process.pid)
        if self._faults_of_launch is None:
            self._faults_of_launch = faults
        if not self._process.n_children() and faults <= self._faults_of_launch:
            return None
        return NotRunning(
            status="infeasible", detail=because("servers.body_has_others_work", name=name)
        )

    def _end_of(self, name: str) -> NotRunning:
        self._process.wait(_EXIT_S)
        code, words = self._process.exit_code, last_lines(self._process.last_words())
        ended = because(
            "servers.body_ended" if code is None else "servers.body_ended_with",
            name=name,
            code=code,
            words=words,
        )
        return NotRunning(status="crashed", detail=ended)


def said_cpu_ns(answer: str) -> int | None:
    """Return the CPU time of an answer; None where it is none."""
    found = _ANSWER.fullmatch(answer.strip())
    return int(found[1]) if found else None


def ended_children_faults(pid: int) -> int:
    """Return the page faults of a process's children that ended; 0 where it is not there.

    Each of them has some.
    """
    seen = stat_of(pid)
    return seen.reaped_minor_faults if seen else 0
