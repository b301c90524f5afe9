"""Commands that end when they must: each is the leader of a process group, and has a limit.

One that takes too long is ended with all that it started, and so are all of them when the program
that runs them is ended by a signal. They are asked first, as by Ctrl-C, so that tests can end their
servers and remove their folders.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from types import FrameType

import psutil

REPOSITORY = Path(__file__).parent.parent
LATE = 124
"""The exit status of a command that took too long, as of `timeout`."""
ENDINGS = ((signal.SIGINT, 15.0), (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
"""What a command is sent, and for how many seconds it is waited for then."""
REST_S = 5.0
"""For how long the processes below a command may outlive it, and what it said may be on its way."""


class NotBegunError(Exception):
    """All commands were ended, so this one was not begun or did not come to its own end."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended; `output` is empty where it went straight to ours."""

    status: int
    output: str


@dataclass(slots=True)
class Commands:
    """The commands that run now; after `end` none does, and none begins."""

    _running: list[subprocess.Popen[str]] = field(default_factory=list)
    _is_over: bool = False
    _lock: Lock = field(default_factory=Lock)

    def run(
        self,
        command: Sequence[str],
        limit_s: float,
        *,
        hear: Callable[[str], object] | None = None,
        is_direct: bool = False,
    ) -> Done:
        """Run a command to its end, or to its limit.

        Each line of what it says goes to `hear` as it comes, too; `is_direct` has it go straight to
        our output, where it can see whether that is a terminal.

        Raises:
            NotBegunError: All commands were ended.
            OSError: The program cannot be run.
        """
        process = self._begun(command, is_direct=is_direct)
        lines: list[str] = []
        # What it left behind may hold the pipe open for ever.
        reading = Thread(target=_read, args=(process, lines, hear), daemon=True)
        reading.start()
        late = ""
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            late = f"ended: it took more than {limit_s / 60:.3g} minutes\n"
            _end([process])
        except BaseException:
            _end([process])
            raise
        finally:
            reading.join(REST_S)
            with self._lock:
                self._running.remove(process)
        if self._is_over:
            raise NotBegunError
        if late and hear:
            hear(late)
        return Done(LATE if late else process.returncode, "".join(lines) + late)

    def end(self) -> None:
        """End those that run, with all that they started; begin no other."""
        with self._lock:
            self._is_over = True
            running = list(self._running)
        _end(running)

    def _begun(self, command: Sequence[str], *, is_direct: bool) -> subprocess.Popen[str]:
        with self._lock:
            if self._is_over:
                raise NotBegunError
            process = subprocess.Popen(
                command,
                cwd=REPOSITORY,
                # A group that is not the terminal's would be stopped by reading from it.
                stdin=subprocess.DEVNULL,
                stdout=None if is_direct else subprocess.PIPE,
                stderr=None if is_direct else subprocess.STDOUT,
                text=True,
                errors="replace",
                process_group=0,
            )
            self._running.append(process)
            return process


def exit_on_signals() -> None:
    """Let Ctrl-C, TERM and HUP raise SystemExit, once: what ends then is not broken off."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def leave(number: int, _frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in numbers:
        signal.signal(each, leave)


def _read(
    process: subprocess.Popen[str], lines: list[str], hear: Callable[[str], object] | None
) -> None:
    if process.stdout is None:
        return
    with process.stdout:
        for line in process.stdout:
            lines.append(line)
            if hear:
                hear(line)


def _end(processes: Sequence[subprocess.Popen[str]]) -> None:
    """End process groups, and what they started that left for sessions of their own."""
    below = [each for process in processes for each in _below(process)]
    for number, patience_s in ENDINGS:
        left = [process for process in processes if process.poll() is None]
        for process in left:
            _send(process, number)
        deadline_s = monotonic() + patience_s
        for process in left:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline_s - monotonic()))
    _, alive = psutil.wait_procs(below, timeout=REST_S)
    for each in alive:
        with suppress(psutil.Error):
            each.kill()
    for process in processes:
        _send(process, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=REST_S)


def _below(process: subprocess.Popen[str]) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return psutil.Process(process.pid).children(recursive=True)
    return []


def _send(process: subprocess.Popen[str], number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
