"""Child processes: run one to its end and say what it cost, or keep one until it is ended."""

import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

END_PATIENCE_S = 5.0
_MORTAL = ("setpriv", "--pdeathsig", "TERM")
"""What runs in the background ends with us, also when we are killed."""

PEAK = """
import os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""What a small process between runs: a child's largest size begins with that of who forked it."""


class BenchError(Exception):
    """A figure cannot be measured; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A child that ran to its end, and what the kernel charged for it and its own children."""

    command: tuple[str, ...]
    status: int
    """Negative: ended by that signal."""
    stdout: str
    stderr: str
    wall_s: float
    user_s: float
    system_s: float
    stolen_s: float
    """CPU time that the hypervisor took from this whole machine meanwhile."""

    @property
    def cpu_s(self) -> float:
        """User and system CPU seconds."""
        return self.user_s + self.system_s

    def checked(self) -> "Ended":
        """Return this, or raise when the program says that it failed.

        Raises:
            BenchError: With the end of what it wrote.
        """
        if self.status != 0:
            said = (self.stderr or self.stdout).strip()[-800:]
            raise BenchError(f"`{shown(self.command)}` ended with status {self.status}: {said}")
        return self

    def record(self) -> dict[str, Any]:
        """Return what belongs into the raw data: all but the text."""
        kept = asdict(self) | {"command": shown(self.command)}
        del kept["stdout"], kept["stderr"]
        return kept


def run(  # noqa: PLR0913 - each optional
    command: Sequence[str],
    *,
    cpu: int | None = None,
    timeout_s: float = 120.0,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    on_start: Callable[[int], None] | None = None,
) -> Ended:
    """Run a program to its end.

    Args:
        command: The program and its arguments.
        cpu: The core that it and its children may use; None leaves it free.
        timeout_s: It is killed after this long.
        environment: Variables to add.
        stdin: What it reads.
        on_start: Called with its process number.

    Raises:
        BenchError: It took too long, or is not there.
    """
    whole = (*pinned(cpu), *command)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        stolen_s, began_s = stolen_seconds(), time.monotonic()
        child = _spawned(whole, out, err, environment, subprocess.PIPE)
        try:
            if on_start is not None:
                on_start(child.pid)
            _feed(child, stdin)
            usage = _waited(child, timeout_s)
        except BaseException:
            # A signal that was sent to this program alone: the child does not know of it.
            _end(child)
            raise
        wall_s = time.monotonic() - began_s
        if usage is None:
            raise BenchError(f"`{shown(whole)}` took more than {timeout_s:g} s")
        out.seek(0)
        err.seek(0)
        return Ended(
            command=whole,
            status=child.returncode,
            stdout=out.read(),
            stderr=err.read(),
            wall_s=wall_s,
            user_s=usage.ru_utime,
            system_s=usage.ru_stime,
            stolen_s=stolen_seconds() - stolen_s,
        )


class Background:
    """A program that runs until it is ended, at the latest when the `with` block is left."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cpu: int | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = (*_MORTAL, *pinned(cpu), *command)
        self._output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by `end`
        try:
            self._child = _spawned(
                self.command, subprocess.PIPE, self._output, environment, subprocess.PIPE
            )
        except BaseException:
            self._output.close()
            raise

    def __enter__(self) -> "Background":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._child.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended by itself."""
        return self._child.poll() is None

    def first_line(self, timeout_s: float = 10.0) -> str:
        """Return the first line that it writes.

        Raises:
            BenchError: It wrote none in time.
        """
        pipe = self._child.stdout
        if pipe is None or not select.select([pipe], [], [], timeout_s)[0]:
            raise BenchError(f"`{shown(self.command)}` said nothing within {timeout_s:g} s")
        line: str = pipe.readline()
        if not line:
            self._child.wait(END_PATIENCE_S)
            raise BenchError(f"`{shown(self.command)}` ended: {self.errors().strip()[-800:]}")
        return line

    def rest(self, timeout_s: float) -> str:
        """Return the rest of its output, once it has ended by itself.

        Raises:
            BenchError: It went on for too long.
        """
        try:
            text, _ = self._child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            raise BenchError(f"`{shown(self.command)}` took more than {timeout_s:g} s") from error
        written: str = text
        return written

    def errors(self) -> str:
        """Return what it wrote to standard error so far."""
        self._output.seek(0)
        return self._output.read()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self.is_running:
            self._child.send_signal(number)

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it, kindly first."""
        if self._output.closed:
            return
        _end(self._child, number)
        for pipe in (self._child.stdin, self._child.stdout, self._output):
            if pipe is not None:
                pipe.close()


def pinned(cpu: int | None) -> tuple[str, ...]:
    """Return the words before a command that keep it on a core."""
    return () if cpu is None else ("taskset", "--cpu-list", str(cpu))


def shown(command: Sequence[str]) -> str:
    """Return a command as one would type it in the repository's folder."""
    here = f"{Path.cwd()}/"
    words = [word.replace(here, "") for word in command]
    return " ".join(
        word if word and not set(word) & set(" \t'\"$&;|<>{}") else repr(word) for word in words
    )


def stolen_seconds() -> float:
    """Return the CPU time that the hypervisor took from this machine since it started."""
    return _machine_seconds()[7]


def others_seconds() -> float:
    """Return the CPU time of all processes since the start but for us and our ended children."""
    user, nice, system, _idle, _waiting, irq, softirq, *_ = _machine_seconds()
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ours = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return user + nice + system + irq + softirq - ours


def running_seconds(pid: int) -> float:
    """Return the CPU time of a process that has not ended, with that of its ended children."""
    # The name, which comes second, may hold anything but is the last thing in parentheses.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _machine_seconds() -> list[float]:
    first = Path("/proc/stat").read_text().splitlines()[0].split()
    return [int(each) / os.sysconf("SC_CLK_TCK") for each in first[1:]]


def resident_bytes(pid: int) -> int:
    """Return the resident set of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def peak_bytes(command: Sequence[str], *, cpu: int | None = None) -> int:
    """Run a program to its end; return the largest resident set that it had.

    The kernel's figure for a child begins with what its parent was when it was forked, and we are
    large: so a small process stands between.

    Raises:
        BenchError: It failed.
    """
    ended = run([sys.executable, "-S", "-c", PEAK, *command], cpu=cpu).checked()
    return int(ended.stderr.splitlines()[-1]) * 1024


def parsed(ended: Ended) -> dict[str, Any]:
    """Return the JSON object that a program wrote.

    Raises:
        BenchError: It failed, or wrote something else.
    """
    try:
        found = json.loads(ended.checked().stdout)
    except json.JSONDecodeError as error:
        raise BenchError(f"`{shown(ended.command)}` wrote no JSON: {error}") from error
    if not isinstance(found, dict):
        raise BenchError(f"`{shown(ended.command)}` wrote JSON that is no object")
    return found


def _spawned(
    command: Sequence[str],
    out: Any,
    err: Any,
    environment: Mapping[str, str] | None,
    stdin: int,
) -> "subprocess.Popen[str]":
    try:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=out,
            stderr=err,
            text=True,
            env={**os.environ, **(environment or {})},
        )
    except OSError as error:
        raise BenchError(f"`{command[0]}` cannot be run: {error.strerror}") from error


def _feed(child: "subprocess.Popen[str]", text: str) -> None:
    if child.stdin is None:
        return
    try:
        child.stdin.write(text)
        child.stdin.close()
    except BrokenPipeError:
        # It ended without reading; its status tells.
        pass


def _end(child: "subprocess.Popen[str]", number: signal.Signals = signal.SIGTERM) -> None:
    """End a child, which may end what it began itself before it has to."""
    child.send_signal(number)
    try:
        child.wait(END_PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _waited(child: "subprocess.Popen[str]", timeout_s: float) -> resource.struct_rusage | None:
    """Reap a child with its resource usage; None after killing one that took too long."""
    descriptor = os.pidfd_open(child.pid)
    try:
        is_in_time = bool(select.select([descriptor], [], [], timeout_s)[0])
    finally:
        os.close(descriptor)
    if not is_in_time:
        child.kill()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage if is_in_time else None
