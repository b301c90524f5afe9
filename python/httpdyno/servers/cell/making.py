"""Has a holder make namespaces and hold them, and hears what came of it."""

import os
import select
import time
from collections.abc import Callable
from pathlib import Path

from httpdyno.servers.adapter import Place
from httpdyno.servers.cell import holder
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.user_namespace import is_root_of_the_machine

STEPS = "steps"
"""The file of them in a holder's folder (`step.packed`)."""
NAMESPACES = ("mnt", "net", "ipc")
"""What a holder makes, in the order in which they are entered."""
MADE_S = 20.0
"""For namespaces to be made, on a machine that is very busy."""
_ANSWER_BYTES = 65_536
_LOOK_MS = 100.0
_MADE = "made"


def made(
    place: Place, folder: Path, meanwhile: Callable[[], object]
) -> tuple[ServerProcess, tuple[str, ...]] | str:
    """Return who holds new namespaces, and what of the host is not in them; in words why not.

    Args:
        place: Where it runs.
        folder: Made for what it reads and says.
        meanwhile: Writes its steps there, while it comes up.

    Raises:
        AdapterError: No process can be started.
        OSError: The folder cannot be made.
    """
    folder.mkdir(mode=0o700)
    answer = folder / "answer"
    os.mkfifo(answer, 0o600)
    handle = os.open(answer, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        process = _spawned(place, answer, meanwhile)
        said = _answer(handle, process)
    finally:
        os.close(handle)
    if said[0] == _MADE:
        return process, tuple(said[1:])
    words = process.last_words().strip()
    process.stop()
    return said[1] if said[1:] else f"cannot be made: {words or 'its holder does not answer'}"


def namespaces_of(pid: int) -> tuple[str, ...]:
    """Return the files of the namespaces that a holder has, in the order to enter them."""
    return tuple(f"/proc/{pid}/ns/{kind}" for kind in NAMESPACES)


def network_held(pid: int) -> str:
    """Return the file of a holder's network namespace."""
    return f"/proc/{pid}/ns/net"


def _spawned(place: Place, answer: Path, meanwhile: Callable[[], object]) -> ServerProcess:
    options = "" if is_root_of_the_machine() else "userxattr"
    return ServerProcess.spawn(
        [holder.__name__, str(answer.with_name(STEPS)), str(answer), options],
        place=place,
        environment={},
        log=answer.with_name("holder.log"),
        is_module=True,
        meanwhile=meanwhile,
    )


def _answer(handle: int, process: ServerProcess) -> list[str]:
    """Wait for what the holder says: `made` and notices, or `no` and why."""
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    deadline_s = time.monotonic() + MADE_S
    while time.monotonic() < deadline_s:
        is_alive = process.is_alive()
        if poller.poll(_LOOK_MS) and (said := os.read(handle, _ANSWER_BYTES)):
            return said.decode(errors="replace").split("\0")
        if not is_alive:
            break
    return ["no"]
