"""Where the servers of the bench run: a folder, free ports, processes that end with it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.model import Workload

PROGRAMS = Path(__file__).with_name("programs")
READY_S = 10.0
_LOOK_S = 0.01


class NotBuiltError(Exception):
    """This machine does not have what the case needs."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """A server that answers, and how it is loaded."""

    pids: tuple[int, ...]
    """Of its roots."""
    port: int
    workload: Workload
    client_cpus: tuple[int, ...] = ()
    """The cores that the load is kept on; empty leaves it free."""

    @property
    def address(self) -> str:
        """Where it is asked."""
        return f"127.0.0.1:{self.port}"


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder of its own, which everybody may look into, and what has to be undone."""

    folder: Path
    stack: ExitStack = field(default_factory=ExitStack)

    def python(self, program: str, *arguments: object, port: int) -> int:
        """Start one of the bench's programs; its process id, once it listens."""
        command = [sys.executable, "-S", str(PROGRAMS / program), *map(str, arguments)]
        return self.started(command, port=port)

    def started(
        self, command: Sequence[str], *, port: int | None, environment: Mapping[str, str] = {}
    ) -> int:
        """Start a server; its process id, once it listens.

        Raises:
            NotBuiltError: It does not come up.
        """
        log = self.folder / f"{Path(command[0]).name}.log"
        # A session each, as daemons have one: the kernel schedules by session (autogroup).
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env={**os.environ, **environment},
                start_new_session=True,
            )
        self.stack.callback(ended, process)
        deadline_s = time.monotonic() + READY_S
        while port is not None and not listens(port):
            if process.poll() is not None or time.monotonic() > deadline_s:
                words = log.read_text(errors="replace").strip()[-400:]
                raise NotBuiltError(f"{command[0]} does not come up: {words}")
            time.sleep(_LOOK_S)
        return process.pid


def free_port() -> int:
    """Return a port that nobody has just now."""
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        port: int = held.getsockname()[1]
        return port


def listens(port: int) -> bool:
    """Whether somebody listens; nothing is connected, as that would be a client."""
    wanted = f"0100007F:{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1] == wanted and line.split()[3] == "0A" for line in lines)


def ended(process: "subprocess.Popen[bytes]") -> None:
    """End a server with all that it started, which is in its session."""
    process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(READY_S / 2)
    # Who is left, of those whose parent went before them too, is in its session's one group.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
