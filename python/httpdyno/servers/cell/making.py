"""Has a holder make namespaces and hold them, and hears what came of it."""

import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from httpdyno.servers.adapter import Place
from httpdyno.servers.cell import holder
from httpdyno.servers.cell.holder import APART, BY_USER, OWN_USERS, USERS
from httpdyno.servers.keeper import Entry
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.user_namespace import is_root_of_the_machine, outside_ids

STEPS = "steps"
"""The file of them in a holder's folder (`step.packed`)."""
NAMESPACES = ("mnt", "net", "ipc")
"""What a holder makes, in the order in which they are entered."""
MADE_S = 20.0
"""For namespaces to be made, on a machine that is very busy."""
_ANSWER_BYTES = 65_536
_LOOK_MS = 100.0
_MADE = "made"
_USERS_KEPT: list[int] = []
"""The user namespace of the first cell, which the next ones have as well: all copies' root is the
same nobody, and to make one takes as long as all else of a cell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """New namespaces, and who holds them."""

    process: ServerProcess
    is_apart: bool
    """Whether processes and a root of its own are among them."""
    has_own_users: bool
    """Whether root in them is nobody outside."""
    notices: tuple[str, ...]
    """What of the host is not in them, or otherwise than it was to be."""

    def entry(self) -> Entry:
        """Return what goes in has to know: all of the way, and nothing of whom it becomes."""
        pid = self.process.pid
        return Entry(
            namespaces=namespaces_of(pid),
            processes=f"/proc/{pid}/ns/pid_for_children" if self.is_apart else "",
            users=f"/proc/{pid}/fd/{USERS}" if self.has_own_users else "",
            mapped=() if is_root_of_the_machine() else outside_ids(),
        )


def made(
    place: Place, folder: Path, meanwhile: Callable[[], object], *, is_apart: bool = False
) -> Held | str:
    """Return who holds new namespaces; in words why there are none.

    Args:
        place: Where it runs.
        folder: Made for what it reads and says.
        meanwhile: Writes its steps there, while it comes up.
        is_apart: Whether what runs there has processes, a root and, where the kernel can do it, a
            root user of its own.

    Raises:
        AdapterError: No process can be started.
        OSError: The folder cannot be made.
    """
    folder.mkdir(mode=0o700)
    answer = folder / "answer"
    os.mkfifo(answer, 0o600)
    handle = os.open(answer, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        process = _spawned(place, answer, meanwhile, is_apart=is_apart)
        said = _answer(handle, process)
    finally:
        os.close(handle)
    if said[0] == _MADE:
        if said[1] == OWN_USERS and not _USERS_KEPT:
            path = f"/proc/{process.pid}/fd/{USERS}"
            _USERS_KEPT.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        return Held(
            process=process,
            is_apart=is_apart,
            has_own_users=said[1] == OWN_USERS,
            notices=tuple(said[2:]),
        )
    words = process.last_words().strip()
    process.stop()
    return said[1] if said[1:] else f"cannot be made: {words or 'its holder does not answer'}"


def namespaces_of(pid: int) -> tuple[str, ...]:
    """Return the files of the namespaces that a holder has, in the order to enter them."""
    return tuple(f"/proc/{pid}/ns/{kind}" for kind in NAMESPACES)


def network_held(pid: int) -> str:
    """Return the file of a holder's network namespace."""
    return f"/proc/{pid}/ns/net"


def _spawned(
    place: Place, answer: Path, meanwhile: Callable[[], object], *, is_apart: bool
) -> ServerProcess:
    options = [APART] if is_apart else []
    options += [] if is_root_of_the_machine() else [BY_USER]
    kept = next((f"/proc/{os.getpid()}/fd/{users}" for users in _USERS_KEPT), "")
    return ServerProcess.spawn(
        [holder.__name__, str(answer.with_name(STEPS)), str(answer), " ".join(options), kept],
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
