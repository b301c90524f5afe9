"""Seats for tests: what an adapter is told of where its copy sits."""

import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from httpdyno.model import Configuration, Level, Survey
from httpdyno.servers.instance import Insight
from httpdyno.servers.nginx import Nginx
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run_folder import new_run_root
from httpdyno.servers.site.adapter import MemberFiles, Said
from httpdyno.servers.site.text import edited_files

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
        timeout_s: float = 10.0,
    ) -> Said:
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


@dataclass(frozen=True, kw_only=True)
class OpenCopy:
    """A copy of nginx that runs at other ports, with its files elsewhere."""

    process: ServerProcess
    insight: Insight
    ports: dict[str, str]


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
    member = NGINX.at(str(main))
    assert member is not None
    files = NGINX.read(member)
    survey = NGINX.survey(member, files, None)
    assert isinstance(survey, Survey)
    changes = NGINX.change_set(survey, files, values)
    addresses = [listener.address for listener in survey.listeners]
    ports = wildcards_alike(addresses, iter(free_ports(len(addresses))))
    with new_run_root() as root:
        place = root.new_place("x")
        (place.folder / "copy").mkdir()
        seat = OpenSeat(folder=place.folder / "copy", ports={**ports, **(served or {})})
        # What is private comes last: it may rewrite the very words that a knob changed.
        changed = {**files.texts, **edited_files(files.texts, changes.edits)}
        private = NGINX.private(survey, MemberFiles(texts=changed), seat)
        for path, text in {**changed, **edited_files(changed, private)}.items():
            file = Path(seat.path(path))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)
        for folder in survey.writes:
            Path(seat.path(folder)).mkdir(parents=True, exist_ok=True)
        asked = Configuration(values=dict(values))
        launch = NGINX.launch(member, survey, seat, asked, changes)
        process = ServerProcess.spawn(
            launch.command,
            place=place,
            environment=launch.environment,
            log=place.folder / "nginx.log",
        )
        try:
            assert launch.insight is not None
            insight = launch.insight(process)
            await_workers(process, insight)
            yield OpenCopy(process=process, insight=insight, ports=ports)
        finally:
            process.stop()


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
