"""The sandbox of namespaces: made by a holder, entered by the members of a site, gone with them."""

import os
import select
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpdyno
from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import folders_below
from httpdyno.host.rights import is_root_of_the_machine, outside_ids
from httpdyno.model import LimitValues
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.keeper import Entry
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import make_copy_folders
from httpdyno.servers.sandbox import confinement, holder
from httpdyno.servers.sandbox.holder import APART, BY_USER, OWN_USERS, USERS, packed
from httpdyno.servers.sandbox.mount_plan import FOLDER, CannotError, Plan, planned
from httpdyno.servers.sandbox.sandbox import (
    Bounds,
    CellWish,
    Limits,
    Said,
    numbered,
    owner,
    said_by,
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


SOURCE = str(Path(httpdyno.__file__).parent.parent)
"""Where programs of httpdyno's own find their modules."""


class CellSeat:
    """A cell in a place. What runs in it was started by it; it ends with `close`."""

    kind = "cell"

    def __init__(
        self,
        place: Place,
        plan: Plan,
        held: Held,
        notices: tuple[str, ...],
        bounds: Bounds,
    ) -> None:
        self.watch: Callable[[ServerProcess], None] | None = None
        """Told of each process that is started; while it is there, their calls are told."""
        self.told: tuple[str, ...] = (REACH,)
        """Which kinds of calls these are."""
        self.notices = notices
        """What of the host could not be kept out or taken over, as in `read-only /boot (…)`."""
        self._place = place
        self._plan = plan
        self._held = held
        self._holder = held.process
        self._bounds = bounds

    def bounds(self) -> Bounds:
        """Return what it may reach of the outside."""
        return self._bounds

    @property
    def is_root(self) -> bool:
        """Whether what runs in it is root of the machine, and may become their users."""
        return is_root_of_the_machine()

    @property
    def folder(self) -> Path:
        """The folder of the copy's own, the same path in and out of the cell; on disk."""
        return self._place.copy_folder

    @property
    def memory_folder(self) -> Path:
        """The same on a RAM-backed file system."""
        return self._place.copy_memory_folder

    @property
    def network(self) -> str:
        """The file of its network namespace, for `setns`; there until it is closed."""
        return network_held(self._holder.pid)

    def port(self, address: str) -> str:
        """Return where the copy listens in place of an address of theirs: at the same."""
        return address

    def path(self, path: str) -> str:
        """Return what the copy writes in place of a path of theirs: the same."""
        return path

    def spawn(  # noqa: PLR0913 - what there is to say of a process
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        log: Path,
        output_to: Path | None = None,
        limits: Limits | None = None,
        within: LimitValues | None = None,
    ) -> ServerProcess:
        """Start a process in the cell, in the foreground.

        Args:
            command: Program and arguments.
            environment: The whole environment.
            folder: Where it runs, as seen in the cell.
            user: Whom it runs as, with that user's groups; empty is as this process. Who is not
                root of the machine can only run it as himself.
            log: Where its errors go, in the place.
            output_to: Where its output goes when that is to be apart from its errors.
            limits: Where they are not this process's.
            within: What it and all that comes from it may take at most.

        Raises:
            AdapterError: It cannot be started, or there is no such user or limit.
        """
        if not self._holder.is_alive():
            raise AdapterError("the cell is gone: its holder has ended")
        entry = self._held.entry()
        entry.owner = owner(user) if user and self.is_root else ()
        entry.limits = numbered(limits or {})
        entry.told = self.told if self.watch else ()
        entry.confined_by = confinement.__name__
        process = ServerProcess.spawn(
            command,
            place=self._place,
            environment=environment,
            log=log,
            output_to=output_to,
            folder=folder,
            entry=entry,
            limits=within,
        )
        if self.watch:
            self.watch(process)
        return process

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        timeout_s: float = 10.0,
    ) -> Said:
        """Run a program in the cell to its end as that user, all that came from it too.

        Raises:
            AdapterError: It cannot be run, or does not end in time.
        """
        return said_by(
            command,
            lambda errors, output: self.spawn(
                command,
                environment=environment,
                folder=folder,
                user=user,
                log=errors,
                output_to=output,
            ),
            self._place.folder / FOLDER,
            timeout_s=timeout_s,
        )

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
        """Give the cell up; idempotent. What was started in it is ended before, by itself.

        Raises:
            RevertError: Its holder could not be ended.
        """
        self._holder.finish_stop(graceful_s=MADE_S)


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
        return NotRunning(status="refused", detail=f"cell: cannot {error}")
    except OSError as error:
        return NotRunning(status="refused", detail=f"cell: cannot {_no_layers(error)}")
    if isinstance(held, str):
        return NotRunning(status="refused", detail=f"cell: {held}")
    (plan,) = plans
    bounds = Bounds(
        doors=tuple(door.to for door in wish.doors),
        folders=(str(place.copy_folder), str(place.copy_memory_folder)),
    )
    return CellSeat(place, plan, held, (*plan.notices, *held.notices), bounds)


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


def _no_layers(error: OSError) -> str:
    return f"make its layers: {error.strerror} ({error.filename})"


def _files(layer: Path) -> list[Path]:
    """Return all in a layer that is no folder."""
    found = []
    for folder, _, names in folders_below(layer):
        found += [Path(folder, name) for name in names]
    return found
