"""Seats for tests: what an adapter is told of where its copy sits."""

import os
import signal
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from httpdyno.host.runnable import ProgramOutput
from httpdyno.model import Configuration, Level, Survey
from httpdyno.servers.adapter import Place
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.nginx.insight import workers
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.stack.adapter import Insight, Launch
from httpdyno.servers.stack.snapshot import edited_files

NGINX = Nginx()
DEADLINE_S = 20.0


@dataclass(frozen=True, kw_only=True)
class OpenSeat:
    """Sees all that is there: files lie below a folder, addresses become ports of loopback."""

    folder: Path
    ports: dict[str, str]
    """Address of theirs → `ip:port`; others are not the copy's."""
    is_root: bool = True
    kind: str = "open"

    @property
    def memory_folder(self) -> Path:
        return self.folder

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        timeout_s: float = 10.0,
    ) -> ProgramOutput:
        raise AssertionError("nothing is run here")

    def port(self, address: str) -> str:
        return self.ports.get(address, address)

    def path(self, path: str) -> str:
        return f"{self.folder}{path}"


def wildcards_alike(addresses: Iterable[str], numbers: Iterator[int]) -> dict[str, str]:
    """Map each port of `0.0.0.0` and `[::]` to one of loopback, each other address to its own."""
    found: dict[str, str] = {}
    for address in addresses:
        host, _, port = address.rpartition(":")
        key = f"any:{port}" if host in {"0.0.0.0", "[::]"} else address
        if key not in found:
            found[key] = f"127.0.0.1:{next(numbers)}"
        found[address] = found[key]
    return found


class OpenCopy:
    """A copy of nginx that runs at other ports, with its files elsewhere."""

    def __init__(self, main: Path, place: Place, served: Mapping[str, str]) -> None:
        member = NGINX.at(str(main))
        assert member is not None
        self._member = member
        self._files = NGINX.read(member)
        survey = NGINX.survey(member, self._files, None)
        assert isinstance(survey, Survey)
        self._survey = survey
        addresses = [listener.address for listener in survey.listeners]
        self.ports = wildcards_alike(addresses, iter(free_ports(len(addresses))))
        self._place = place
        (place.folder / "copy").mkdir()
        self.seat = OpenSeat(folder=place.folder / "copy", ports={**self.ports, **served})

    def start(self, values: Mapping[str, Level]) -> None:
        launch = self._launch(values)
        self.process = ServerProcess.spawn(
            launch.command,
            place=self._place,
            environment=launch.environment,
            log=self._place.folder / "nginx.log",
        )
        assert launch.insight is not None
        self.insight = launch.insight(self.process)

    def reload(self, values: Mapping[str, Level]) -> None:
        """Let it read other values, and wait until all of its workers are others."""
        before = set(workers(self.process.pid))
        assert before
        launch = self._launch(values)
        assert launch.insight is not None
        self.insight = launch.insight(self.process)
        os.kill(self.process.pid, signal.SIGHUP)
        deadline_s = time.monotonic() + DEADLINE_S
        while before & set(workers(self.process.pid)):
            assert time.monotonic() < deadline_s, self.insight.words()
            time.sleep(0.01)
        await_workers(self.process, self.insight)

    def connect(self, address: str) -> HTTPConnection:
        host, port = self.ports[address].split(":")
        return HTTPConnection(host, int(port), timeout=DEADLINE_S)

    def _launch(self, values: Mapping[str, Level]) -> Launch:
        changes = NGINX.change_set(self._survey, self._files, values)
        edits = (*changes.edits, *NGINX.private(self._survey, self._files, self.seat))
        for path, text in {
            **self._files.texts,
            **edited_files(self._files.texts, edits),
        }.items():
            file = Path(self.seat.path(path))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        asked = Configuration(values=dict(values))
        return NGINX.launch(self._member, self._survey, self.seat, asked, changes)


@contextmanager
def open_copy(
    main: Path, values: Mapping[str, Level], served: Mapping[str, str] | None = None
) -> Iterator[OpenCopy]:
    """Start a copy with these values; end it, and remove all that it was.

    Args:
        main: Their main file.
        values: Knob → level.
        served: Backend of theirs → where it is for the copy.
    """
    with new_run_root() as root:
        copy = OpenCopy(main, root.new_place("x"), served or {})
        copy.start(values)
        try:
            await_workers(copy.process, copy.insight)
            yield copy
        finally:
            copy.process.stop()


def await_workers(process: ServerProcess, insight: Insight) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while lacking := insight.lacking():
        assert process.is_alive(), insight.words()
        assert time.monotonic() < deadline_s, lacking
        time.sleep(0.01)


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [each.getsockname()[1] for each in held]
