"""strace on the processes of a server that runs, one request at a time, and off them again.

strace seizes them without stopping them; each call of theirs stops them twice, so that they are
some ten times slower meanwhile: never inside a timed window. Whatever ends strace, the kernel lets
go of what it traced and wakes it up; and the kernel ends strace when httpdyno is gone, by whatever
signal.
"""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from httpdyno.errors import AdapterError, RevertError, TargetError
from httpdyno.host.interruption import cleaning
from httpdyno.host.procfs import (
    content,
    of_process,
    stat_of,
    status_words,
    thread_ids,
)
from httpdyno.host.runnable import own_program
from httpdyno.telemetry.processes import living_pids
from httpdyno.telemetry.syscalls.count import SyscallProfile, census
from httpdyno.telemetry.syscalls.trace import trace

_ATTACH_S = 10.0
_DETACH_S = 5.0
_POLL_S = 0.005
_TRIES = 5
_GONE, _DENIED = os.strerror(errno.ESRCH), os.strerror(errno.EPERM)
"""As strace has them."""
_PROGRAM = (
    # The parent may be gone before the kernel was told to tell.
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 15, 0, 0, 0)\n"
    "if os.getppid() == int(sys.argv[1]):\n"
    "    os.execv(sys.argv[2], sys.argv[2:])\n"
)
"""`prctl(PR_SET_PDEATHSIG, SIGTERM)`: outlives exec, and costs no code between fork and exec."""
_OPTIONS = (
    *("-f", "-qq", "-y", "-s", "0", "-e", "signal=none"),
    *("-e", "abbrev=!poll,ppoll,select,pselect6"),
)
"""Threads and children too; files of descriptors; nothing of what is read and written, which may be
secret; and of what is waited for all descriptors."""
_OWN_NUMBERS = "--pidns-translation"
"""For those whose processes have other numbers than here, as in a container: both are written."""
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


class Tracer:
    """A strace that is attached: what it has written so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", calls: int, errors: int) -> None:
        self._process = process
        self._calls = calls
        self._errors = errors

    def holds(self, pids: Sequence[int]) -> bool:
        """Whether it traces all threads of some processes."""
        return not any(_lacks_tracer(thread, self._process.pid) for thread in threads_of(pids))

    def settle(self, quiet_s: float, longest_s: float) -> int:
        """Wait until nothing is written for a while; return how many lines are whole.

        Raises:
            TargetError: strace has ended.
        """
        last, since_s = os.fstat(self._calls).st_size, time.monotonic()
        end_s = since_s + longest_s
        while (now_s := time.monotonic()) < min(end_s, since_s + quiet_s):
            time.sleep(_POLL_S)
            if (size := os.fstat(self._calls).st_size) != last:
                last, since_s = size, now_s
        if self._process.poll() is not None:
            raise TargetError(f"strace ended: {_said(self._errors) or 'it did not say why'}")
        return _whole(self._calls).count(b"\n")

    def lines(self) -> list[str]:
        """Return the lines that are whole."""
        return _whole(self._calls).decode(errors="backslashreplace").split("\n")[:-1]


@contextmanager
def traced(root_pids: Sequence[int]) -> Iterator[Tracer]:
    """Trace processes, all below them and what they begin, until the block ends.

    To be used by the thread that lives longest: the kernel ends strace with the thread that began
    it.

    Raises:
        TargetError: There is no strace, it may not trace one of them, or they are gone.
        RevertError: It did not let go of them.
    """
    program = _strace()
    for _ in range(_TRIES):
        with ExitStack() as stack:
            pids = living_pids(root_pids)
            _check_free(pids)
            tracer = stack.enter_context(_attached(program, pids))
            # One that was begun before its parent was held is nobody's.
            if tracer.holds(living_pids(root_pids)):
                yield tracer
                return
    raise TargetError(
        f"strace took hold of the server {_TRIES} times, and its processes had changed meanwhile",
        hint="ask when it is quiet, or let its processes live longer",
    )


@contextmanager
def _attached(program: str, pids: Sequence[int]) -> Iterator[Tracer]:
    # Files without names: none is left, whatever happens.
    with tempfile.TemporaryFile() as written, tempfile.TemporaryFile() as told:
        calls, errors = written.fileno(), told.fileno()
        process = subprocess.Popen(  # noqa: S603 - strace, on ids of processes
            _command(program, calls, pids),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(calls,),
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", os.defpath)},
            # Ctrl-C is this process's to hear: strace goes when it is told to.
            start_new_session=True,
        )
        try:
            _await_attached(process, pids, errors)
            yield Tracer(process, calls, errors)
        finally:
            with cleaning():
                _let_go(process, pids)


def can_trace() -> bool:
    """Whether there is an strace; it may still be refused."""
    return shutil.which("strace") is not None


def require_tracing() -> None:
    """See that strace may trace what this process begins, by tracing something that waits.

    As of a server, strace is no parent of it: that is what a kernel may forbid.

    Raises:
        TargetError: There is no strace, or it may not.
    """
    waiting = [sys.executable, "-I", "-S", "-c", "open(0).read()"]
    with subprocess.Popen(  # noqa: S603 - this Python
        waiting, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            with traced([process.pid]):
                pass
        except TargetError as error:
            raise TargetError(**error.within("the objective is about system calls")) from error
        finally:
            process.kill()


def threads_of(pids: Sequence[int]) -> dict[int, int]:
    """Return the processes of all threads that there are: thread → process."""
    return {thread: pid for pid in pids for thread in thread_ids(pid)}


def _command(program: str, calls: int, pids: Sequence[int]) -> list[str]:
    words = [program, *_OPTIONS, "-o", f"/proc/self/fd/{calls}"]
    if {*map(_numbers_of, pids)} - {"", _numbers_of(os.getpid())}:
        words.append(_OWN_NUMBERS)
    for pid in pids:
        words += ["-p", str(pid)]
    return [sys.executable, "-I", "-S", "-c", _PROGRAM, str(os.getpid()), *words]


def _numbers_of(pid: int) -> str:
    """Return the namespace that a process's number is of in its own eyes; empty if not told."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")  # noqa: PTH115 - a name, and no path
    except OSError:  # it is gone, or may not be traced either
        return ""


def _strace() -> str:
    try:
        return own_program("strace")
    except AdapterError as error:
        amid = error.within(
            "system calls are seen by strace",
            hint="`apt-get install strace`, or what your system calls it",
        )
        raise TargetError(**amid) from error


def _check_free(pids: Sequence[int]) -> None:
    if not pids:
        raise TargetError("the server's processes are gone")
    for pid in pids:
        if tracer := _tracer_of(pid):
            raise TargetError(
                f"process {pid} is traced already, by process {tracer}",
                hint="one at a time: end that debugger or strace first",
            )


def _await_attached(process: "subprocess.Popen[bytes]", pids: Sequence[int], errors: int) -> None:
    end_s = time.monotonic() + _ATTACH_S
    while any(_lacks_tracer(thread, process.pid) for thread in threads_of(pids)):
        if process.poll() is not None and _GONE in _said(errors):
            return  # all of them ended since they were listed
        if process.poll() is not None or time.monotonic() > end_s:
            raise _refused(_said(errors))
        time.sleep(_POLL_S)
    # strace tells of those that it could not have, and goes on with the others.
    if (said := _said(errors)) and _GONE not in said:
        raise _refused(said)


def _refused(said: str) -> TargetError:
    if _DENIED not in said:
        return TargetError(f"the server could not be traced: {said or 'strace did not begin'}")
    if os.geteuid() == 0:
        return TargetError(
            f"the server may not be traced by this user: {said}",
            hint="this root may not trace, as in many containers: it takes CAP_SYS_PTRACE",
        )
    is_kept = content(os.fsencode(_YAMA)).strip() not in (b"", b"0")
    return TargetError(
        f"the server may not be traced by this user: {said}",
        hint="with root's rights it may: `sudo httpdyno …`"
        + (f" ({_YAMA} keeps others' children from being traced)" if is_kept else ""),
    )


def _let_go(process: "subprocess.Popen[bytes]", pids: Sequence[int]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(_DETACH_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    held = [pid for pid in pids if _tracer_of(pid) == process.pid]
    if held:
        raise RevertError(
            f"strace ended and process {held[0]} is still traced",
            hint=f"see `grep TracerPid /proc/{held[0]}/status`",
        )


def _lacks_tracer(thread: int, tracer: int) -> bool:
    now = stat_of(thread)
    return now is not None and not now.has_ended and _tracer_of(thread) != tracer


def _tracer_of(thread: int) -> int:
    found = status_words(of_process(thread, b"status"), b"TracerPid")
    return int(found[0]) if found else 0


def _said(errors: int) -> str:
    """Return the first that strace said of what went wrong."""
    lines = _whole(errors).decode(errors="replace").splitlines()
    return lines[0].partition("strace: ")[2] or lines[0] if lines else ""


def _whole(file: int) -> bytes:
    """Return a file's content, wherever others write in it."""
    return os.pread(file, os.fstat(file).st_size, 0)


N_REQUESTS = 20
_WARM_PER_PROCESS = 3
"""Requests before the first that counts: caches of code and of files belong to a process."""
_FEWEST_WARM = 5
_MOST_WARM = 100
_REST_S = 0.3
_QUIET_S = 0.03
"""Nothing is written for so long: a request's log and the end of its connection are over."""
_EDGE_S = 0.5
"""Those that write without rest are waited for so long at the edge of a load."""
_N_EDGES = 2
_LONGEST_S = 2.0
"""A server that never rests is waited for so long. A lingering close takes as long."""


def census_of(
    root_pids: Sequence[int], ask: Callable[[], None], n: int = N_REQUESTS
) -> SyscallProfile:
    """Return the system calls of requests to a server.

    Args:
        root_pids: The processes that it began as; all below them are traced, and what they begin.
        ask: Sends one request and reads the answer; it says where and from where.
        n: So many requests are counted; some others come before, so that the server is warm.

    Raises:
        TargetError: There is no strace, it may not trace, or the server's processes are gone.
        RevertError: It did not let go of them.
    """
    n_warm = min(_MOST_WARM, max(_FEWEST_WARM, _WARM_PER_PROCESS * len(living_pids(root_pids))))
    for _ in range(n_warm):
        ask()
    with traced(root_pids) as tracer:
        process_of = threads_of(living_pids(root_pids))
        # The first after strace took hold: calls that it broke into are begun again.
        began_s = time.monotonic()
        time.sleep(_REST_S)
        marks = [tracer.settle(_QUIET_S, _QUIET_S)]
        rest_s = time.monotonic() - began_s
        for _ in range(n):
            ask()
            marks.append(tracer.settle(_QUIET_S, _LONGEST_S))
        lines = tracer.lines()
    parts = [lines[begin:end] for begin, end in zip([0, *marks], marks, strict=False)]
    return census(trace(parts), process_of, rest_s=rest_s)


class Edges:
    """Where a load's counted part begins and ends in what a tracer writes."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self.marks: list[int] = []
        """Whole lines at the edges that came so far: (begin, end)."""

    def on_edge(self, _window: int, _is_opening: bool) -> None:
        """See what was written so far as that of before; nothing may be in flight."""
        # strace may be gone: who opened the trace is told so when it is read.
        with suppress(TargetError):
            self.marks.append(self._tracer.settle(_QUIET_S, _EDGE_S))


def census_between(
    root_pids: Sequence[int], load: Callable[[Callable[[int, bool], None]], None]
) -> SyscallProfile | None:
    """Return the system calls of all that a server did between the edges of a load, as one request.

    Args:
        root_pids: The processes that it began as; all below them are traced, and what they begin.
        load: Loads it and calls what it is given at both edges of what counts; the server is warm.

    Returns:
        None where the load did not come to its end.

    Raises:
        TargetError: There is no strace, it may not trace, or the server's processes are gone.
        RevertError: It did not let go of them.
    """
    with traced(root_pids) as tracer:
        process_of = threads_of(living_pids(root_pids))
        edges = Edges(tracer)
        load(edges.on_edge)
        tracer.settle(0.0, 0.0)
        lines = tracer.lines()
    if len(edges.marks) != _N_EDGES:
        return None
    begin, end = edges.marks
    return census(trace([lines[:begin], lines[begin:end]]), process_of)
