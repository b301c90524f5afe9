"""What a descriptor of a server's process is: who is at the other end of it.

A connection's two ends are known by its inode, which stays the same for as long as it is there. So
all connections are asked for only when some were met that are not known yet, and once a sample.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import IntEnum, auto
from typing import NamedTuple

from httpdyno.errors import AdapterError
from httpdyno.host.sock_diag import Connection, Diagnosis, ListeningSocket
from httpdyno.reason import Reason, because

_SOCKET, _PIPE, _EVENTS = "socket:[", "pipe:[", "anon_inode:"


class EndKind(IntEnum):
    """Of a descriptor."""

    LISTENER = auto()
    CLIENT = auto()
    """A connection that somebody made to where this server listens."""
    BACKEND = auto()
    """Any other connection."""
    SOCKET = auto()
    """One that is not connected, or of a kind that is not told."""
    PIPE = auto()
    EVENTS = auto()
    """What programs wake themselves with: eventfd, timerfd, epoll and so on."""
    FILE = auto()
    NOTHING = auto()
    """It is closed meanwhile, or may not be seen."""


class End(NamedTuple):
    """What a descriptor is."""

    kind: EndKind
    address: str = ""
    """Of a backend: `127.0.0.1:5432`, `unix:/path`, `unix` where it has no name."""


_NOTHING, _UNKNOWN_SOCKET = End(EndKind.NOTHING), End(EndKind.SOCKET)


class Ends:
    """Tells what descriptors are. Not for several threads at once; `close` it."""

    def __init__(self, networks: Collection[str]) -> None:
        """Ask some network namespaces.

        Args:
            networks: Their paths; an empty one is this process's own.
        """
        self.hidden: tuple[Reason, ...] = ()
        self._diagnoses: list[Diagnosis] = []
        self._mine: dict[int, int] = {}
        """Inodes of the sockets that the server listens at, with the part of it that does."""
        self._listening: dict[int, ListeningSocket] = {}
        self._known: dict[int, End] = {}
        self._connections: dict[int, Connection] = {}
        self._strange: set[int] = set()
        """Inodes of sockets that were asked for in vain: of other kinds, or not connected."""
        self._missed: set[int] = set()
        """Inodes of sockets that are not known and not strange."""
        self._targets: dict[tuple[int, int], str] = {}
        """What descriptors were in this sample."""
        for network in networks:
            try:
                self._diagnoses.append(Diagnosis(network))
            except AdapterError as error:
                self._hide(error)

    def close(self) -> None:
        """Ask no more."""
        for each in self._diagnoses:
            each.close()

    def begin(self) -> None:
        """Begin a sample: read the listen queues."""
        self.look_anew()
        self._listening = {
            each.inode: each
            for diagnosis in self._diagnoses
            for each in self._told_listening(diagnosis)
        }

    def look_anew(self) -> None:
        """Forget what descriptors were."""
        self._targets.clear()

    def ask(self) -> bool:
        """Ask for all connections if some were met that are not known; return whether it did."""
        if not self._missed:
            return False
        self._connections = {}
        for diagnosis in self._diagnoses:
            with suppress(AdapterError):  # the namespace's last process has ended
                self._connections.update({each.inode: each for each in diagnosis.connections()})
        self._strange |= self._missed - self._connections.keys()
        self._missed.clear()
        return True

    def queues(self) -> Iterator[tuple[int, ListeningSocket]]:
        """Yield the listening sockets, as the sample saw them, each with the part that has it."""
        for inode, part in self._mine.items():
            if inode in self._listening:
                yield part, self._listening[inode]

    def learn(self, parts: Mapping[int, int]) -> set[int]:
        """Find out where processes listen; return those that hold a client's connection.

        Args:
            parts: By process, which part of the server it is in; connections are to the first, 0.
        """
        held = {pid: set(_sockets_of(pid)) for pid in parts}
        self._strange.clear()  # they may be connected by now
        n_known = len(self._mine)
        for pid, inodes in held.items():
            for inode in inodes & self._listening.keys():
                self._mine.setdefault(inode, parts[pid])
        if len(self._mine) > n_known:
            self._known.clear()  # whose clients they are may have changed
        found = {pid for pid, inodes in held.items() if self._has_client(inodes)}
        if self.ask():
            found |= {pid for pid, inodes in held.items() if self._has_client(inodes)}
        return found

    def holds_client(self, pid: int) -> bool:
        """Return whether a process holds a client's connection that is known."""
        return self._has_client(_sockets_of(pid))

    def holds_any_client(self, pid: int) -> bool:
        """Return whether a process holds a client's connection, also one that is not known yet."""
        return self.holds_client(pid) or (self.ask() and self.holds_client(pid))

    def _has_client(self, inodes: Iterable[int]) -> bool:
        # All of them, so that those that are not known are asked for together.
        return EndKind.CLIENT in [self._socket(inode).kind for inode in inodes]

    def states(self) -> Mapping[str, int]:
        """Return how many connections at TCP ports of the server's first part are in which state.

        What it has with another part of it, such as its database, is no client's.
        """
        total: dict[str, int] = {}
        ports = self._ports(only=0)
        for diagnosis in self._diagnoses if ports else ():
            with suppress(AdapterError):
                for state, n in diagnosis.connection_states(ports).items():
                    total[state] = total.get(state, 0) + n
        return total

    def unread(self) -> int:
        """Return at how many of these connections there are bytes that no process has read."""
        total = 0
        ports = self._ports(only=0)
        for diagnosis in self._diagnoses if ports else ():
            with suppress(AdapterError):
                total += sum(diagnosis.unread(ports).values())
        return total

    def of(self, pid: int, descriptor: int) -> End:
        """Return what a process's descriptor is, as this sample saw it first."""
        target = self._targets.get((pid, descriptor))
        if target is None:
            try:
                target = os.readlink(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH115 - hot
            except OSError:
                return _NOTHING
            self._targets[pid, descriptor] = target
        if target.startswith(_SOCKET):
            return self._socket(int(target[len(_SOCKET) : -1]))
        if target.startswith(_PIPE):
            return End(EndKind.PIPE)
        return End(EndKind.EVENTS if target.startswith(_EVENTS) else EndKind.FILE)

    def _socket(self, inode: int) -> End:
        known = self._known.get(inode)
        if known is not None:
            return known
        if inode in self._listening:
            return End(EndKind.LISTENER)
        connection = self._connections.get(inode)
        if connection is None:
            if inode not in self._strange:
                self._missed.add(inode)
            return _UNKNOWN_SOCKET
        is_client = connection.port in self._ports() or connection.address in self._unix_addresses()
        found = End(EndKind.CLIENT) if is_client else End(EndKind.BACKEND, connection.peer)
        self._known[inode] = found
        return found

    def _told_listening(self, diagnosis: Diagnosis) -> tuple[ListeningSocket, ...]:
        try:
            return diagnosis.listening()
        except AdapterError as error:
            self._hide(error)
            return ()

    def _hide(self, error: AdapterError) -> None:
        found = because("telemetry.sockets", error=str(error))
        if found not in self.hidden:
            self.hidden = (*self.hidden, found)

    def _ports(self, only: int | None = None) -> frozenset[int]:
        addresses = (each.address for part, each in self.queues() if only in (None, part))
        tcp = (address for address in addresses if not address.startswith("unix:"))
        return frozenset(int(address.rpartition(":")[2]) for address in tcp)

    def _unix_addresses(self) -> frozenset[str]:
        return frozenset(each.address for _, each in self.queues())


def _sockets_of(pid: int) -> Iterator[int]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 - hot
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            target = os.readlink(f"{folder}/{name}")  # noqa: PTH115 - hot
            if target.startswith(_SOCKET):
                yield int(target[len(_SOCKET) : -1])
