"""What is in force in a running uvicorn, as its processes and the kernel show it."""

from collections.abc import Mapping
from pathlib import Path

from httpdyno.host.sock_diag import listening_sockets
from httpdyno.model import Effective, Level, level_text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.seen import process_texts
from httpdyno.servers.network.listening import accepting
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.staging import last_lines
from httpdyno.servers.uvicorn.knob import KNOBS, told

SOURCE = "its processes, the kernel and its command line"
_REFUSES = frozenset({1, 2, 3})
"""An exception, a flag that click does not take, and uvicorn's own STARTUP_FAILURE."""
_LIBRARIES = {"loop": ("uvloop", "asyncio"), "http": ("httptools", "h11")}
"""What it is where the library is mapped, and where it is not."""


class UvicornInsight:
    """What is seen of uvicorn from outside."""

    def __init__(
        self,
        process: ServerProcess,
        address: str,
        levels: Mapping[str, Level],
        network: str = "",
    ) -> None:
        self._process = process
        self._address = address
        self._levels = {name: level for name, level in levels.items() if name in KNOBS}
        self._network = network

    def words(self) -> str:
        """Return the end of its log."""
        return last_lines(self._process.last_words())

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited by itself, with a code of its own."""
        return exit_code in _REFUSES and "Error" in words

    def lacking(self) -> str:
        """Return how many of its workers do not accept connections yet."""
        said = self._told().get("workers")
        wanted = int(said) if said and said.isdigit() else 1
        accept = len(self._workers())
        return f"{accept} of {wanted} workers are up" if accept < wanted else ""

    def effective(self) -> Effective | NotRunning:
        """Return what is seen, compared with what was asked."""
        workers, values = self._workers(), self._told()
        values["workers"] = str(len(workers))
        if sockets := [s for s in listening_sockets(self._network) if s.address == self._address]:
            values["backlog"] = str(sockets[0].backlog)
        asked = {name: level_text(level) for name, level in self._levels.items()}
        for name, (library, without) in _LIBRARIES.items():
            is_mapped = bool(workers) and all(_has_mapped(each, f"/{library}/") for each in workers)
            values[name] = library if is_mapped else without
            # What it chooses by itself is what was asked for; and an application may well use a
            # library that the server does not.
            if asked.get(name) == "auto" or (asked.get(name) == without and is_mapped):
                asked[name] = values[name]
        return Effective(values=values, asked=asked, source=SOURCE)

    def _told(self) -> dict[str, str]:
        root = process_texts(self._process.pid)
        return told(root.arguments, root.environment) if root else {}

    def _workers(self) -> list[int]:
        """Return the processes that accept connections."""
        return [each.pid for each in self._process.members() if accepting(each.pid)]


def _has_mapped(pid: int, part: str) -> bool:
    try:
        return part in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
