"""The sandbox of namespaces: made by a holder, entered by the members of a site, gone with them."""

import os
import select
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpdyno
from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import folders_below
from httpdyno.host.rights import is_root_of_the_machine, outside_ids
from httpdyno.host.runnable import account
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.keeper import Entry
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import make_copy_folders
from httpdyno.servers.sandbox import holder
from httpdyno.servers.sandbox.holder import APART, BY_USER, OWN_USERS, USERS, packed
from httpdyno.servers.sandbox.mount import SHOW_OWNERS
from httpdyno.servers.sandbox.mount_plan import FOLDER, CannotError, Plan, planned
from httpdyno.servers.sandbox.sandbox import (
    Bounds,
    CellWish,
    OpenSandbox,
)
from httpdyno.servers.sandbox.syscall_filter import REACH

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
) -> Held | Reason:
    """Return who holds new namespaces, or why there are none.

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
        )
    words = process.last_words().strip()
    process.stop()
    if said[1:]:
        return step_failed(said[1:])
    if not words:
        return because("sandbox.holder_is_silent")
    return because("sandbox.cannot_be_made", words=words)


def step_failed(said: Sequence[str]) -> Reason:
    """Return why no namespaces are made, of what `holder.written` says."""
    step, at, error = said
    if step == SHOW_OWNERS:
        return because(
            "sandbox.cannot_show_owners" if at else "sandbox.cannot_show_its_owners",
            kind=at,
            error=error,
        )
    if at:
        return because("sandbox.cannot_at", step=step, at=at, error=error)
    return because("sandbox.cannot", step=step, error=error)


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
    """Wait for what the holder says: `made`, or `no` and why."""
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


SOURCE = str(Path(httpdyno.__file__).parent.parent)
"""Where programs of httpdyno's own find their modules."""


class CellSeat(OpenSandbox):
    """A sandbox of namespaces: paths and ports in it are theirs."""

    def __init__(self, place: Place, plan: Plan, held: Held, bounds: Bounds) -> None:
        super().__init__(place, "cell", (REACH,))
        self.network = network_held(held.process.pid)
        self._outputs = place.folder / FOLDER
        self._plan = plan
        self._held = held
        self._bounds = bounds

    def bounds(self) -> Bounds:
        """Return what it may reach of the outside."""
        return self._bounds

    def port(self, address: str) -> str:
        """Return where the copy listens in place of an address of theirs: at the same."""
        return address

    def path(self, path: str) -> str:
        """Return what the copy writes in place of a path of theirs: the same."""
        return path

    def _entry(self, user: str) -> Entry:
        if not self._held.process.is_alive():
            raise AdapterError("the cell is gone: its holder has ended")
        entry = self._held.entry()
        entry.owner = account(user) if user and self.is_root else ()
        return entry

    def written(self) -> tuple[str, ...]:
        """Return the files, as paths of theirs, that were written, made or removed in the cell."""
        found = []
        for folder, layer in self._plan.written.items():
            for path in _files(layer):
                theirs = os.path.join(folder, path.relative_to(layer))  # noqa: PTH118
                found_there = path.lstat()
                is_hidden = theirs in self._plan.hidden and stat.S_ISCHR(found_there.st_mode)
                is_unused = theirs in self._plan.logs and not found_there.st_size
                if not is_hidden and not is_unused:
                    found.append(theirs)
        return tuple(sorted(found))

    def close(self) -> None:
        """Give it up; idempotent. What was started in it is ended before, by itself.

        Raises:
            RevertError: Its holder could not be ended.
        """
        self._held.process.finish_stop(graceful_s=MADE_S)


def open_cell(place: Place, wish: CellWish) -> CellSeat | NotRunning:
    """Make a cell in a place.

    Returns:
        `NotRunning` with status `refused` where a wish cannot be had or the kernel does not let
        a cell be made; the place is still the caller's to remove.

    Raises:
        AdapterError: No process can be started.
    """
    plans: list[Plan] = []
    make_copy_folders(place)
    try:
        # The plan takes about as long as the start of an interpreter.
        held = made(
            place,
            place.folder / FOLDER,
            lambda: plans.append(_written(place, wish)),
            is_apart=True,
        )
    except CannotError as error:
        return _refused(error.why)
    except OSError as error:
        return _refused(_no_layers(error))
    if isinstance(held, Reason):
        return _refused(held)
    (plan,) = plans
    bounds = Bounds(
        doors=tuple(door.to for door in wish.doors),
        folders=(str(place.copy_folder), str(place.copy_memory_folder)),
    )
    return CellSeat(place, plan, held, bounds)


def _refused(why: Reason) -> NotRunning:
    return NotRunning(status="refused", detail=because("sandbox.refused", kind="cell", why=why))


def _written(place: Place, wish: CellWish) -> Plan:
    """Make the layers, and write down for the holder what it does with them.

    Raises:
        CannotError: A wish cannot be had, or the layers cannot be made.
    """
    try:
        plan = planned(place, wish)
        (place.folder / FOLDER / STEPS).write_bytes(packed(plan.steps))
    except OSError as error:
        raise CannotError(_no_layers(error)) from error
    return plan


def _no_layers(error: OSError) -> Reason:
    return because("sandbox.no_layers", error=error.strerror, path=error.filename)


def _files(layer: Path) -> list[Path]:
    """Return all in a layer that is no folder."""
    found = []
    for folder, _, names in folders_below(layer):
        found += [Path(folder, name) for name in names]
    return found
