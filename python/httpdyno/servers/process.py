"""A server process: own foreground child, leader of its own session, never left behind.

Its parent is a keeper (`keeper.py`), one for each server: whatever comes from the server stays the
keeper's to end, and when httpdyno dies, even by `kill -9`, the keeper ends it all. Only where the
keeper itself was killed are the machine's other processes looked at.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from httpdyno.errors import AdapterError, RevertError
from httpdyno.host.interruption import cleaning
from httpdyno.host.procfs import ProcessStat
from httpdyno.model import LimitValues
from httpdyno.servers import keeper
from httpdyno.servers.adapter import Place
from httpdyno.servers.keeper import Entry, Job
from httpdyno.servers.limits.control_group import (
    end_group,
    group_members,
    holds,
    make_group,
    remove_group,
)
from httpdyno.servers.limits.limit_group import LimitGroups, make_limit_groups
from httpdyno.servers.log_file import log_text, opened_log
from httpdyno.servers.run.live_process import (
    MARK,
    Mark,
    child_pids,
    end_all,
    marked_processes,
    members_of,
    process_info,
    session_members,
)
from httpdyno.servers.run.record import mark_of, record_session

KEEPER_PROGRAM = (
    "import os, sys; sys.path.insert(0, sys.argv[1]); "
    "from httpdyno.servers.keeper import main; os._exit(main(int(sys.argv[2])))"
)
"""The program of a keeper, as it stands on its command line.

Imported rather than run as a file: only what is imported is kept compiled. It holds nothing that
an interpreter would have to be taken apart for, which takes longer than what it does at its end."""
_SOURCE = str(Path(keeper.__file__).resolve().parents[2])
_INHERITED = ("LD_LIBRARY_PATH",)
"""What the keeper gets of httpdyno's environment: its interpreter may need it."""
_LAUNCH_S = 20.0
"""For the keeper to come up, on a machine that is very busy."""
_END_S = 10.0
"""For the keeper to end everything; it allows itself about half of that."""
_REAP_S = 5.0
_EXIT_S = 2.0
_ANSWER_BYTES = 1024


class ServerProcess:
    """The root process of a server and everything that comes from it."""

    def __init__(
        self,
        kept: "_Kept",
        *,
        mark: Mark,
        log: Path,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.pid = kept.pid
        """The root process; also its session and process group id."""
        self.calls: int | str = ""
        """The listener of its calls, for whoever asked to be told of them (`Entry.told`); in words
        why there is none. Whoever takes it closes it, after the process's end."""
        self._kept = kept
        self._mark = mark
        self.log = log
        """Where its errors go, and its output where that is not apart."""
        self._stop_signal = stop_signal
        self._root = os.pidfd_open(kept.pid)
        self._exit_code: int | None = None
        self._lock = threading.Lock()
        self._exit_lock = threading.Lock()
        self._asked_at_s: float | None = None
        self._is_stopped = False

    @classmethod
    def spawn(  # noqa: PLR0913 - what there is to say of a process
        cls,
        command: Sequence[str],
        *,
        place: Place,
        environment: Mapping[str, str],
        log: Path,
        output_to: Path | None = None,
        folder: str = "",
        stop_signal: signal.Signals = signal.SIGTERM,
        entry: Entry | None = None,
        limits: LimitValues | None = None,
        is_module: bool = False,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> "ServerProcess":
        """Start the command in the place, recorded on disk before it runs.

        Args:
            command: Program and arguments, for the foreground.
            place: Where it runs, and on which cores; of a `RunRoot`.
            environment: The whole environment; the mark is added.
            log: Where its output and errors go; also what it is marked with.
            output_to: Where its output goes when that is to be apart from its errors.
            folder: Where it runs, when that is not its place.
            stop_signal: What asks it to end.
            entry: What it goes into and becomes, where it is not to be as what its place says.
            limits: What it and all that comes from it may take at most, from before it runs on.
            is_module: Whether the command is a module of httpdyno's, whose `main` is called with
                the other words, rather than a program.
            meanwhile: What has to be done before it runs, done while its keeper comes up. What this
                raises is raised, and nothing has run.

        Raises:
            AdapterError: No process can be started or limited so, or it cannot be recorded.
        """
        if entry is None and place.enclosure is not None:
            enclosure = place.enclosure
            entry = Entry(namespaces=enclosure.namespaces, mapped=enclosure.mapped)
            # Who enters other mounts is at their root.
            folder = folder or str(place.folder)
        mark = mark_of(place, log)
        job = Job(
            command=list(command),
            environment={**environment, MARK: mark.text},
            cpus=list(place.cpus),
            group="",
            folder=folder,
            stop=stop_signal,
            entry=entry,
            is_module=is_module,
        )
        if nul := next((text for text in job.texts() if "\0" in text), None):
            raise AdapterError(f"`{nul!r}` of the command or its environment holds a NUL")
        name = f"{place.folder.parent.name}-{place.folder.name}-{log.name}"
        limited = make_limit_groups(name, limits) if limits else None
        kept = _Kept((limited and limited.whole) or make_group(name), limited)
        try:
            kept.launch(job, place, log, output_to or log)
            meanwhile()
            kept.await_ready(log)
            process = cls(kept, mark=mark, log=log, stop_signal=stop_signal)
            kept.started_ticks = record_session(
                place, kept.pid, keeper=kept.keeper_pid, groups=kept.groups
            )
            kept.say(b"g")
            if job.entry.told:
                process.calls = kept.told_calls()
        except BaseException as error:
            kept.give_up()
            if isinstance(error, OSError):
                raise AdapterError(f"no process can be started: {error}") from error
            raise
        return process

    @property
    def keeper_pid(self) -> int:
        """The parent of the root process and of all that came from it and lost its own parent.

        That is its keeper, or in a copy its keeper's minder.
        """
        return self._kept.parent_pid or self._kept.keeper_pid

    @property
    def group(self) -> Path | None:
        """The control group that all that came from it is in, and nothing else; None for none."""
        group = self._kept.group
        return group if group is not None and holds(group, self.pid) else None

    @property
    def limits(self) -> LimitGroups | None:
        """What limits it and all that came from it; None where nothing does."""
        return self._kept.limited

    @property
    def exit_code(self) -> int | None:
        """As `subprocess` has it: negative for a signal; None while it runs, or if nobody knows."""
        with self._exit_lock:
            if self._exit_code is None and not self.is_alive():
                self._exit_code = self._kept.told_exit()
            return self._exit_code

    def is_alive(self) -> bool:
        """Whether the root process still runs."""
        return not self._is_stopped and not self.wait(0.0)

    def first_words(self) -> str:
        """The beginning of its log: what it said while it started."""
        return log_text(self.log)

    def last_words(self) -> str:
        """The end of its log."""
        return log_text(self.log, from_end=True)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the root process's end; return whether it came."""
        if self._is_stopped:
            return True
        poller = select.poll()
        poller.register(self._root, select.POLLIN)
        return bool(poller.poll(max(0.0, timeout_s) * 1e3))

    def members(self) -> list[ProcessStat]:
        """Return the live processes of its session and their descendants."""
        return session_members(self.pid, self._kept.started_ticks)

    def n_children(self) -> int:
        """Return how many processes the root process is the parent of."""
        return len(child_pids(self.pid))

    def request_stop(self) -> None:
        """Ask it to end and return at once; idempotent."""
        if self._asked_at_s is None:
            self._asked_at_s = time.monotonic()
            self._signal(self._stop_signal)

    def finish_stop(self, graceful_s: float = 1.0) -> None:
        """Wait for the end that was asked for, enforce it, and see that nothing is left.

        Args:
            graceful_s: Time since `request_stop` in which it may end by itself; after that
                all that came from it gets TERM, then KILL.

        Raises:
            RevertError: A process could not be ended.
        """
        with cleaning(), self._lock:
            if self._is_stopped:
                return
            self.request_stop()
            asked_at_s = self._asked_at_s or time.monotonic()
            self.wait(asked_at_s + graceful_s - time.monotonic())
            self._end_all()
            # The exit code is asked for after the end, too.
            self._exit_code = self.exit_code
            self._is_stopped = True
            self._kept.close()
            os.close(self._root)

    def stop(self) -> None:
        """End it and all that came from it; idempotent, and callable from any thread.

        Raises:
            RevertError: A process could not be ended.
        """
        self.request_stop()
        self.finish_stop()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            if not self._is_stopped:
                signal.pidfd_send_signal(self._root, number)

    def _end_all(self) -> None:
        if self._kept.end_all():
            return
        # The keeper was killed, or there is something that even root cannot kill.
        left = end_all(self._known_members)
        if left or not self.wait(_REAP_S):
            pids = " ".join(str(p.pid) for p in left) or str(self.pid)
            raise RevertError(
                f"server processes could not be ended: {pids}", hint=f"Run `kill -9 {pids}`."
            )
        self._kept.give_up()

    def _known_members(self) -> list[ProcessStat]:
        """Return what came from it, as far as that shows without a keeper."""
        found = members_of([(self.pid, self._kept.started_ticks)], self._mark)
        found += marked_processes(self._mark)
        found += (each for group in self._kept.groups for each in group_members(group))
        return list({each.pid: each for each in found}.values())


class _Kept:
    """A server's keeper, as httpdyno talks with it."""

    def __init__(self, group: Path | None, limited: LimitGroups | None = None) -> None:
        self.group = group
        self.limited = limited
        self.pid = 0
        self.parent_pid = 0
        self.started_ticks = 0
        self._keeper: subprocess.Popen[bytes] | None = None
        self._control, self._theirs = socket.socketpair()
        self._control.settimeout(_LAUNCH_S)
        self._said = b""
        """Of its end, heard already."""

    @property
    def keeper_pid(self) -> int:
        return self._keeper.pid if self._keeper else 0

    @property
    def groups(self) -> tuple[Path, ...]:
        """All control groups that were made for it, each once."""
        own = () if self.group is None else (self.group,)
        return tuple(dict.fromkeys([*own, *self._limit_folders()]))

    def launch(self, job: Job, place: Place, log: Path, output_to: Path) -> None:
        """Start the keeper, which is to have the server's process wait for its go."""
        with self._theirs as theirs, opened_log(log) as errors, opened_log(output_to) as output:
            self._keeper = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", "-c", KEEPER_PROGRAM, _SOURCE, str(theirs.fileno())],
                cwd=place.folder,
                env={name: os.environ[name] for name in _INHERITED if name in os.environ},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        job.group = str(self.group or "")
        job.limits = [str(each) for each in self._limit_folders()]
        self.say(job.packed())

    def await_ready(self, log: Path) -> None:
        """Wait until the server's process waits for its go.

        Raises:
            AdapterError: It does not come to that.
        """
        said = self._control.recv(64)
        if not said.startswith(b"ready "):
            words = log_text(log, from_end=True).strip()
            raise AdapterError(f"no process can be started: {words or 'its keeper ended'}")
        self.pid = int(said.split()[1])
        info = process_info(self.pid)
        self.parent_pid = info.parent if info else 0

    def say(self, words: bytes) -> None:
        self._control.sendall(words)

    def told_calls(self) -> int | str:
        """Return the listener of the server's calls; else in a word why there is none."""
        said, handles, flags, _ = socket.recv_fds(self._control, _ANSWER_BYTES, 1)
        if handles:
            return handles[0]
        if flags & socket.MSG_CTRUNC:
            raise AdapterError("too many files are open here for its calls to be told")
        said, _, self._said = said.partition(b"\n")
        if not said.startswith(b"calls "):  # it has ended before
            self._said = said
            return "ended"
        return said.removeprefix(b"calls ").decode(errors="replace")

    def told_exit(self) -> int | None:
        """Return the exit code that the keeper tells; None if it was killed before it could."""
        try:
            self._control.settimeout(_EXIT_S)
            said = self._said or self._control.recv(64)
        except OSError:
            return None
        return os.waitstatus_to_exitcode(int(said.split()[1])) if said[:5] == b"exit " else None

    def end_all(self) -> bool:
        """Let the keeper end all that came from the server; return whether nothing is left."""
        with suppress(OSError):  # it was killed
            self.say(b"e")
        if self._keeper is not None:
            # Whoever stopped all of httpdyno stopped it, too, and it is to hear that.
            self._keeper.send_signal(signal.SIGCONT)
        # Without any child more it ends, and then there is nothing left.
        return self._has_ended(_END_S) and self._keeper is not None and not self._keeper.returncode

    def give_up(self) -> None:
        """Do without it: what had no go yet has not run."""
        self.close()
        if not self._has_ended(_END_S) and self._keeper is not None:
            self._keeper.kill()
            self._keeper.wait()
        for group in self.groups:
            end_group(group)
            remove_group(group)

    def _limit_folders(self) -> tuple[Path, ...]:
        return () if self.limited is None else self.limited.folders

    def close(self) -> None:
        self._control.close()
        self._theirs.close()

    def _has_ended(self, timeout_s: float) -> bool:
        try:
            if self._keeper is not None:
                self._keeper.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True
