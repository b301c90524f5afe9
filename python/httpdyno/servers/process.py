"""A server process: own foreground child, leader of its own session, never left behind.

The child gets SIGTERM when httpdyno dies, even by `kill -9`. Linux sends that signal when the
*thread* that started the child ends, so spawn from a thread that outlives the server.
"""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from httpdyno.errors import AdapterError, RevertError
from httpdyno.interruption import cleaning
from httpdyno.servers import launch
from httpdyno.servers.adapter import Place
from httpdyno.servers.run_folder import record_session
from httpdyno.servers.session import MARK, ProcessInfo, end_all, marked_processes, session_members

_LAUNCHER = str(Path(launch.__file__).resolve())
_REAP_S = 5.0
_LOG_BYTES = 65_536


class ServerProcess:
    """The root process of a server and everything that comes from it."""

    def __init__(
        self, child: subprocess.Popen[bytes], started_ticks: int, mark: str, log: Path
    ) -> None:
        self._child = child
        self._started_ticks = started_ticks
        self._mark = mark
        self._log = log
        self._lock = threading.Lock()
        self._asked_at_s: float | None = None
        self._is_stopped = False

    @classmethod
    def spawn(
        cls,
        command: Sequence[str],
        *,
        place: Place,
        environment: Mapping[str, str],
        log: Path,
        output_to: Path | None = None,
    ) -> "ServerProcess":
        """Start the command in the place, recorded on disk before it runs.

        Args:
            command: Program and arguments, for the foreground.
            place: Where it runs; of a claimed `RunRoot`.
            environment: The whole environment; the mark is added.
            log: Where its output and errors go; also what it is marked with.
            output_to: Where its output goes when that is to be apart from its errors.

        Raises:
            AdapterError: No process can be started, or it cannot be recorded.
        """
        mark = str(log)
        go_read, go_write = os.pipe()
        try:
            with log.open("ab") as errors, (output_to or log).open("ab") as output:
                child = subprocess.Popen(  # noqa: S603 - the command is the adapter's
                    [
                        *(sys.executable, "-I", "-S", _LAUNCHER),
                        *(str(go_read), str(os.getpid())),
                        *command,
                    ],
                    cwd=place.folder,
                    env={**environment, MARK: mark},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=errors,
                    pass_fds=(go_read,),
                    start_new_session=True,
                )
        except OSError as error:
            os.close(go_write)
            raise AdapterError(f"no process can be started: {error}") from error
        finally:
            os.close(go_read)
        try:
            started_ticks = record_session(place, child.pid)
            os.write(go_write, b"g")
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            os.close(go_write)
        return cls(child, started_ticks, mark, log)

    @property
    def pid(self) -> int:
        """The root process; also its session and process group id."""
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """As `subprocess` has it: negative for a signal; None while it runs."""
        return self._child.poll()

    def is_alive(self) -> bool:
        """Whether the root process still runs."""
        return self._child.poll() is None

    def first_words(self) -> str:
        """The beginning of its log: what it said while it started."""
        return log_text(self._log)

    def last_words(self) -> str:
        """The end of its log."""
        return log_text(self._log, from_end=True)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the root process's end; return whether it came."""
        if self._child.poll() is not None:
            return True
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return self._child.poll() is not None
        try:
            poller = select.poll()
            poller.register(handle, select.POLLIN)
            poller.poll(max(0.0, timeout_s) * 1e3)
        finally:
            os.close(handle)
        return self._child.poll() is not None

    def members(self) -> list[ProcessInfo]:
        """Return the live processes of its session and their descendants."""
        return session_members(self.pid, self._started_ticks)

    def request_stop(self) -> None:
        """Ask it to end and return at once; idempotent."""
        if self._asked_at_s is None:
            self._asked_at_s = time.monotonic()
            if self.is_alive():
                self._child.terminate()

    def finish_stop(self, graceful_s: float = 1.0) -> None:
        """Wait for the end that was asked for, enforce it, and see that nothing is left.

        Args:
            graceful_s: Time since `request_stop` in which it may end by itself; after that
                its whole session gets TERM, then KILL.

        Raises:
            RevertError: A process could not be ended.
        """
        with cleaning(), self._lock:
            if self._is_stopped:
                return
            self.request_stop()
            asked_at_s = self._asked_at_s or time.monotonic()
            self.wait(asked_at_s + graceful_s - time.monotonic())
            left = end_all(self.members)
            left += end_all(lambda: marked_processes(self._mark))
            if left or not self.wait(_REAP_S):
                pids = " ".join(str(p.pid) for p in left) or str(self.pid)
                raise RevertError(
                    f"server processes could not be ended: {pids}", hint=f"Run `kill -9 {pids}`."
                )
            self._is_stopped = True

    def stop(self) -> None:
        """End it and all that came from it; idempotent, and callable from any thread.

        Raises:
            RevertError: A process could not be ended.
        """
        self.request_stop()
        self.finish_stop()

    def kill(self) -> None:
        """Kill the root process alone, as a crash would."""
        if self.is_alive():
            self._child.send_signal(signal.SIGKILL)


def log_text(path: Path, *, from_end: bool = False) -> str:
    """Return the beginning or the end of a log, which may be huge; empty when there is none."""
    try:
        with path.open("rb") as log:
            if from_end:
                log.seek(max(0, log.seek(0, os.SEEK_END) - _LOG_BYTES))
            return log.read(_LOG_BYTES).decode("utf-8", errors="replace")
    except OSError:
        return ""
