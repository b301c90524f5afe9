"""A seat behind a wall: no namespaces, but rules of the kernel that keep writes and TCP in.

Their configuration is rewritten into the place, and each of their addresses is one of ours. What a
wall cannot keep from a copy is said in `limits_of_wall`. An open seat is the same without rules.

A wall has no overlays: access(2) says what file modes say while Landlock refuses the write, and
sockets and FIFOs are reached. The smoke test reports that. A wall knows where all members listen
before any is edited, so who connects to the loopback comes to the member that listens there. A unix
socket whose path would pass the kernel's 107 bytes gets a short one.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import Rights, folders_below
from httpdyno.host.runnable import account
from httpdyno.model import Door
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.keeper import Entry
from httpdyno.servers.network.address import SOCKET_PATH_BYTES, HeldPort
from httpdyno.servers.run.folder import held_own, let_through, make_copy_folders
from httpdyno.servers.run.root import ROOT_VARIABLE
from httpdyno.servers.sandbox import landlock_rules
from httpdyno.servers.sandbox.sandbox import (
    SHARED_MEMORY,
    Bounds,
    CellWish,
    OpenSandbox,
)
from httpdyno.servers.sandbox.syscall_filter import REACH, WRITE

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
_EVERY_ADDRESS = ("", "*", "0.0.0.0", "[::]", "::")  # noqa: S104 - as theirs are written
_LOOPBACK = ("127.0.0.1", "[::1]")
_LOCALHOST = "localhost"
_UNIX = "unix:"
_EVERYBODYS = 0o1777
_LAST_OF_NETWORK = 254


class WallSeat(OpenSandbox):
    """A sandbox without namespaces; of kind `open` without rules."""

    def __init__(
        self, place: Place, kind: Literal["wall", "open"], listening: Iterable[str] = ()
    ) -> None:
        """Take where it is, and the addresses of theirs that its members listen at."""
        super().__init__(place, kind, (REACH, WRITE))
        self._listening = {_host_and_port(a) for a in listening if not a.startswith(_UNIX)}
        self._sockets: dict[str, str] = {}
        self._ports: dict[tuple[str, str], HeldPort] = {}
        self._hosts: dict[str, str] = {}
        self._reached: set[int] = set()
        self._doors: set[str] = set()
        self._printed: set[str] = set()
        """Files that members print to."""

    def bounds(self) -> Bounds:
        """Return what it has for its own, and what it may reach of the outside."""
        return Bounds(
            doors=tuple(self._doors),
            folders=(*self._writable(), *self._printed),
            addresses={
                held.address: f"{host or '127.0.0.1'}:{port}"
                for (host, port), held in self._ports.items()
            },
            paths={
                **{own: theirs for theirs, own in self._sockets.items()},
                f"{self.folder}/theirs": "",
                str(self.memory_folder): SHARED_MEMORY,
            },
        )

    def port(self, address: str) -> str:
        """Return where the copy listens in place of `ip:port` or `unix:/path` of theirs.

        What a door leads to is where it was.
        All addresses that mean every one of the machine are one; each other has a host of its
        own, so that servers that are told apart by address stay apart. Who connects to an address
        of the loopback comes to who listens there, else to who listens everywhere.
        A socket's folder is there at once; where its path would be longer than the kernel takes,
        it has a short one, which `path` says from then on too.

        Raises:
            AdapterError: There is no free port, there are more hosts than can be had, or no path
                is short enough.
        """
        if address in self._doors:
            return address
        if address.startswith(_UNIX):
            return f"{_UNIX}{self._socket(address.removeprefix(_UNIX))}"
        host, port = self._met(*_host_and_port(address))
        if (host, port) not in self._ports:
            self._ports[host, port] = HeldPort(self._host(host))
        return self._ports[host, port].address

    def path(self, path: str) -> str:
        """Return what the copy writes in place of a path of theirs."""
        theirs = os.path.normpath("/" + path.lstrip("/"))
        if theirs in self._sockets:
            return self._sockets[theirs]
        if theirs.startswith(f"{SHARED_MEMORY}/"):
            return f"{self.memory_folder}{theirs.removeprefix(SHARED_MEMORY)}"
        return f"{self.folder}/theirs{theirs}"

    def reach(self, door: Door) -> None:
        """Let the copy connect to a TCP port.

        Raises:
            AdapterError: It is no such door, or leads elsewhere.
        """
        if door.through not in {"", door.to}:
            raise AdapterError(f"wall: cannot lead {door.to} through {door.through}")
        self._doors.add(door.to)
        if not door.to.startswith(_UNIX):
            self._reached.add(int(door.to.rpartition(":")[2]))

    def put(self, files: Mapping[str, bytes], rights: Mapping[str, Rights] | None = None) -> None:
        """Write files of theirs where the copy has them.

        Args:
            files: Path of theirs → content.
            rights: Path of theirs → whose it is; of root's copies the same hold, whose members
                may be other users.
        """
        for path, content in files.items():
            own = Path(self.path(path))
            own.parent.mkdir(parents=True, exist_ok=True)
            known = (rights or {}).get(path) if self.is_root else None
            if known is not None:
                own.touch(mode=0o600)
            own.write_bytes(content)
            if known is not None:
                os.chown(own, known.user_id, known.group_id)
                own.chmod(known.mode)

    def _entry(self, user: str) -> Entry:
        del user  # it becomes that by its rules
        return Entry()

    def _rules(self, user: str, outputs: Sequence[Path]) -> list[str]:
        rules = [f"owner={' '.join(map(str, account(user)))}"] if user else []
        if self.kind == "wall":
            ports = [held.number for held in self._ports.values()]
            # What it prints to it may open again, as `/dev/stderr`.
            self._printed |= {str(each) for each in outputs}
            rules += [f"write={path}" for path in (*self._writable(), *self._printed)]
            rules += [f"bind={port}" for port in ports]
            rules += [f"connect={port}" for port in (*ports, *sorted(self._reached))]
        return rules

    def _variables(self, user: str) -> Mapping[str, str]:
        return {"TMPDIR": str(self._temporary(user))} if self.kind == "wall" else {}

    def written(self) -> tuple[str, ...]:
        """Return the files, as paths of theirs, that are in the place in their stead."""
        top = self.folder / "theirs"
        found = [Path(folder, name) for folder, _, names in folders_below(top) for name in names]
        return tuple(sorted(f"/{path.relative_to(top)}" for path in found))

    def close(self) -> None:
        """Give its ports back; idempotent. What was started in it is ended before, by itself."""
        for port in self._ports.values():
            port.release()

    def _writable(self) -> tuple[str, ...]:
        return (str(self.folder), str(self.memory_folder), *_DEVICES)

    def _met(self, host: str, port: str) -> tuple[str, str]:
        """Return where theirs listen whom one comes to there; the same where none of them does."""
        if host != _LOCALHOST and host not in _LOOPBACK:
            return host, port
        hosts = _LOOPBACK if host == _LOCALHOST else (host,)
        known = [each for each in (*hosts, "") if (each, port) in self._listening]
        return next(iter(known), hosts[0]), port

    def _socket(self, path: str) -> str:
        theirs = os.path.realpath("/" + path.lstrip("/"))  # by whatever links theirs are led there
        found = Path(self.path(theirs))
        if len(os.fsencode(found)) > SOCKET_PATH_BYTES:
            folder = min(self.folder, self.memory_folder, key=lambda each: len(os.fsencode(each)))
            found = folder / "u" / f"{len(self._sockets)}.sock"
            if len(os.fsencode(found)) > SOCKET_PATH_BYTES:
                raise AdapterError(
                    f"{self.kind}: `{found}` is longer than the {SOCKET_PATH_BYTES} bytes that the "
                    "kernel takes for a unix socket",
                    hint=f"Set {ROOT_VARIABLE} to a folder with a shorter path.",
                )
            self._sockets[theirs] = str(found)
            if self.is_root:  # who connects may be another user
                let_through(folder, is_apart=False)
        found.parent.mkdir(parents=True, exist_ok=True)
        return str(found)

    def _temporary(self, user: str) -> Path:
        """Return a folder for what would be written in `/tmp`, which nobody may behind a wall."""
        with held_own(self.folder, "tmp") as handle:
            if user:
                os.fchmod(handle, _EVERYBODYS)
                let_through(self.folder, is_apart=False)
        return self.folder / "tmp"

    def _host(self, host: str) -> str:
        if host in {"", _LOOPBACK[0]}:
            # A program that is told its port alone listens there. Ports tell them apart.
            return _LOOPBACK[0]
        if host not in self._hosts:
            number = 2 + len(self._hosts)
            if number > _LAST_OF_NETWORK:
                raise AdapterError(f"no address of 127.0.0.0/24 is left for `{host}`")
            self._hosts[host] = f"127.0.0.{number}"
        return self._hosts[host]


def _host_and_port(address: str) -> tuple[str, str]:
    host, _, port = address.rpartition(":")
    return ("" if host in _EVERY_ADDRESS else host), port


def open_wall(
    place: Place,
    wish: CellWish,
    *,
    kind: Literal["wall", "open"] = "wall",
    seat: WallSeat | None = None,
) -> WallSeat | NotRunning:
    """Make a seat without namespaces in a place.

    Args:
        place: Where it is.
        wish: What the copy sees there and may reach.
        kind: `open` keeps it from nothing.
        seat: One that is begun: its addresses were asked for already.

    Returns:
        `NotRunning` with status `refused` where a wish cannot be had.
    """
    if kind == "wall" and not landlock_rules.version():
        return _refused(kind, because("sandbox.no_landlock"))
    for name in wish.sysctls:
        return _refused(kind, because("sandbox.cannot_set", name=name))
    seat = seat or WallSeat(place, kind)
    try:
        make_copy_folders(place)
        if seat.is_root:  # what runs here may be another user
            let_through(seat.folder, is_apart=False)
        for door in wish.doors:
            seat.reach(door)
        for folder in wish.writes:
            Path(seat.path(folder)).mkdir(parents=True, exist_ok=True)
        seat.put({**wish.hidden_files, **wish.files}, wish.rights)
    except AdapterError as error:
        return NotRunning(status="refused", detail=error.reason)
    except OSError as error:
        why = because("sandbox.cannot_write", path=error.filename, error=error.strerror)
        return _refused(kind, why)
    return seat


def _refused(kind: str, why: Reason) -> NotRunning:
    return NotRunning(status="refused", detail=because("sandbox.refused", kind=kind, why=why))


def limits_of_wall() -> Reason:
    """Return what a wall does not keep from a copy on this kernel."""
    # Rules are of connect(2), and of TCP alone.
    has_tcp = landlock_rules.keeps_tcp()
    ways = [
        because("sandbox.of_files"),
        because("sandbox.of_some_tcp" if has_tcp else "sandbox.of_tcp"),
        because("sandbox.of_udp"),
        because("sandbox.of_unix_sockets"),
        because("sandbox.of_owners"),
    ]
    if not landlock_rules.keeps_processes():
        ways += [because("sandbox.of_signals"), because("sandbox.of_abstract_sockets")]
    return because("sandbox.wall_lets_through", ways=ways)


LIMITS_OF_OPEN = because("sandbox.open_keeps_nothing")
"""What is to be known of an open seat."""
