"""Both servers of a start: brought up, put on cores, asked for their accounts, ended."""

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from httpdyno.catalog import open_study
from httpdyno.host.interruption import cleaning
from httpdyno.model import Study
from httpdyno.registry import load_target
from httpdyno.report.shared.message import joined, text
from httpdyno.servers.adapter import NotRunning, Running
from httpdyno.servers.run.folder import RunRoot
from httpdyno.servers.run.live_process import children_of
from httpdyno.telemetry.account import ProcessTree

STUDIES = {"gunicorn": "gunicorn", "apache": "prefork"}
"""The folder of each server's study."""
_READY_S = 20.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """The bench cannot measure here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Accounts:
    """Counters at an instant, in seconds."""

    server_cpu_s: float
    wait_s: float
    """For which the server's processes stood in the queue for a core."""
    busy_s: float
    """CPU time of all processes of the machine; in hundredths of a second."""
    steal_s: float
    own_cpu_s: float
    """This process's, the load engine's included."""


class Server:
    """One arm of a start."""

    def __init__(self, running: Running) -> None:
        self.address = running.addresses[0]
        self._trees = [ProcessTree(pid) for pid in running.root_pids]
        self._pids = sorted({*running.root_pids, *children_of(running.root_pids)})

    def keep_on(self, cpus: Collection[int]) -> None:
        """Have its processes run on these cores alone; those that they fork later do, too."""
        for pid in self._pids:
            os.sched_setaffinity(pid, cpus)

    def accounts(self) -> Accounts:
        """Read the counters."""
        # Documentation/filesystems/proc.rst, "Miscellaneous kernel statistics".
        fields = [int(each) for each in _first_line("/proc/stat").split()[1:]]
        user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = fields
        return Accounts(
            server_cpu_s=sum(tree.read().cpu_s for tree in self._trees),
            wait_s=sum(_waited_s(pid) for pid in self._pids),
            busy_s=(user + nice + system + irq + softirq) / _TICKS_PER_S,
            steal_s=steal / _TICKS_PER_S,
            own_cpu_s=time.process_time(),
        )


class ServerKind:
    """A server whose requests take as much work as it is told."""

    def __init__(self, name: str, root: RunRoot) -> None:
        self.study: Study = open_study(str(Path(__file__).parent / STUDIES[name]))
        self._adapter = load_target(self.study)
        if missing := self._adapter.missing(self.study.server):
            raise BenchError(joined(missing))
        self._root = root

    @property
    def version(self) -> str:
        """The server's own version line."""
        return self._adapter.version()

    @property
    def units(self) -> int:
        """What a request works if nothing is planted."""
        return int(self.study.start_configuration().values["units"])

    @contextmanager
    def running(self, units: Sequence[int]) -> Iterator[list[Server]]:
        """Bring up a server for each amount of work; end them all.

        Raises:
            BenchError: One does not come up.
        """
        running: list[Running] = []
        try:
            for each in units:
                running.append(self._spawned(each))
            _all(running, lambda one: _ready(one, one.await_ready(_READY_S)))
            yield [Server(one) for one in running]
        finally:
            with cleaning():
                _all(running, lambda one: one.stop())

    def _spawned(self, units: int) -> Running:
        configuration = self.study.start_configuration().replaced("units", units)
        place = self._root.new_place(f"units-{units}")
        folder = Path(self.study.folder)
        spawned = self._adapter.spawn(self.study.server, folder, configuration, place)
        if isinstance(spawned, NotRunning):
            raise BenchError(f"the server was {spawned.status}: {text(spawned.detail)}")
        return spawned


def _ready(running: Running, answer: object) -> None:
    if isinstance(answer, NotRunning):
        raise BenchError(
            f"the server {answer.status}: {text(answer.detail)} {running.last_words()}"
        )


def _all(running: Sequence[Running], do: Callable[[Running], None]) -> None:
    """Do it for all at the same time."""
    with ThreadPoolExecutor(max_workers=max(1, len(running))) as pool:
        for done in [pool.submit(do, one) for one in running]:
            done.result()


def _waited_s(pid: int) -> float:
    """Return for how long a process stood in the queue so far; 0 where the kernel keeps no note."""
    try:
        return int(_first_line(f"/proc/{pid}/schedstat").split()[1]) / 1e9
    except OSError:
        return 0.0


def _first_line(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, 256).split(b"\n", 1)[0]
    finally:
        os.close(handle)
