"""What a copy tries to reach, named as it tries: by its own calls, in a sandbox of either kind.

Each call that names an address, and behind Landlock each that changes a file, waits until it was
noted, and then goes on. So all are noted in a smoke test only, never where time is measured; and a
call that a signal finds waiting is done anew, or told as interrupted where its program asked for
that, as any call that waits. In namespaces the packets of the loopback are watched as well. There
every address is local, so each attempt to reach anything outside comes by: a SYN that nobody takes,
a datagram that nobody reads. They show what a program has sent without naming an address in a call,
and they are what is left where the kernel tells no calls.

A copy that is measured is told of after its windows (`Refusals`), by the kernel's counters of its
own network, which cost nothing: a connection that nobody took, a datagram that nobody read. Of unix
sockets there are none, so each call that names one waits until it was noted; and of the first only
it is read whom they name. A member that reaches others by unix sockets at each request would wait
at each, so it is not listened to.
"""

import os
import select
import socket
import stat
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from httpdyno.host.foreign_text import kept_text, readable, visible
from httpdyno.reason import Reason, because
from httpdyno.servers.network.address import place_of, within
from httpdyno.servers.network.listening import listening
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.sandbox import syscall as calls
from httpdyno.servers.sandbox import syscall_filter
from httpdyno.servers.sandbox.overlay import is_below
from httpdyno.servers.sandbox.sandbox import OpenSandbox
from httpdyno.servers.sandbox.syscall import DNS, Call, Caller, Reach, asked_name, reaches, writes
from httpdyno.servers.sandbox.syscall_filter import REACH_FILE, here
from httpdyno.servers.sandbox.verdict import (
    Verdict,
    is_connected,
    reach_behind_wall,
    reach_in_cell,
    write_behind_wall,
)

_ETH_P_ALL = 3
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP = 6, 17
_SYN, _ACK = 0x02, 0x10
_PACKET_WAIT_MS = 100
_LARGEST_BYTES = 65_536
_IPV4_BYTES, _IPV6_BYTES = 20, 40


class Packet(NamedTuple):
    """What matters of one packet."""

    kind: str
    """`tcp` or `udp`."""
    source: str
    """`ip:port`."""
    to: str
    flags: int
    """Of TCP; 0 for a datagram."""
    asked: str
    """The name that a name server was asked for; empty for all else."""


class Packets:
    """Watches a network namespace from `begin` on; needs rights over that."""

    def __init__(self, network: str) -> None:
        self._socket = within(network, _listener)
        self._asked: dict[tuple[str, str], str] = {}
        self._answered: set[tuple[str, str]] = set()
        self._is_over = False
        self._thread = threading.Thread(target=self._watch, name="packets", daemon=True)

    def begin(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def close(self) -> None:
        """Watch no more."""
        self._finish()
        self._socket.close()

    def refused(self) -> dict[tuple[str, str], str]:
        """End the watching; return what nobody answered at, in the order of the tries.

        By `tcp` or `udp` and `ip:port`, with the name that a name server was asked for.
        """
        self._finish()
        return {key: name for key, name in self._asked.items() if key not in self._answered}

    def _finish(self) -> None:
        """Read what is there already, then no more; idempotent."""
        self._is_over = True
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while not self._is_over or poller.poll(0):
            if not poller.poll(_PACKET_WAIT_MS):
                continue
            content, (_, protocol, *_) = self._socket.recvfrom(_LARGEST_BYTES)
            packet = parsed(protocol, content)
            if packet is None:
                continue
            if packet.kind == "tcp":
                if packet.flags & (_SYN | _ACK) == _SYN:
                    self._asked.setdefault((packet.kind, packet.to), "")
                elif packet.flags & (_SYN | _ACK) == _SYN | _ACK:
                    self._answered.add((packet.kind, packet.source))
            # An answer comes from where somebody was asked.
            elif (packet.kind, packet.source) in self._asked:
                self._answered.add((packet.kind, packet.source))
            else:
                self._asked.setdefault((packet.kind, packet.to), packet.asked)


def parsed(protocol: int, content: bytes) -> Packet | None:
    """Return what matters of a packet; None for what is neither TCP nor UDP, or cut off. Pure."""
    if protocol == _IPV4 and len(content) >= _IPV4_BYTES:
        head = (content[0] & 0x0F) * 4
        kind, family, addresses = content[9], socket.AF_INET, (content[12:16], content[16:20])
    elif protocol == _IPV6 and len(content) >= _IPV6_BYTES:
        head, kind, family = _IPV6_BYTES, content[6], socket.AF_INET6
        addresses = (content[8:24], content[24:40])
    else:
        return None
    body = content[head:]
    if kind not in {_TCP, _UDP} or len(body) < 14:  # noqa: PLR2004 - up to TCP's flags
        return None
    ports = struct.unpack(">HH", body[:4])
    source, to = (
        _written(family, address, port) for address, port in zip(addresses, ports, strict=True)
    )
    if kind == _TCP:
        return Packet("tcp", source, to, body[13], "")
    asked = asked_name(body[8:]) if ports[1] == DNS else ""
    return Packet("udp", source, to, 0, asked)


def _listener() -> socket.socket:
    return socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ETH_P_ALL))


def _written(family: socket.AddressFamily, address: bytes, port: int) -> str:
    host = socket.inet_ntop(family, address)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_WAIT_S = 0.1
_OUTCOME_S, _BRIEF_OUTCOME_S = 0.02, 0.002
"""For a connection to a unix socket, which is taken or refused at once."""
_LOOK_S = 0.001
_MOST_BRIEFLY = 100
"""While time is measured, of so many calls it is read whom they name."""
_MOST = 1000
"""As many are told apart; a program may try endlessly many."""
_RANKS: tuple[Verdict, ...] = ("unsure", "refused", "own", "reached")
"""Of several tries the last of these is told: who waits for a member is refused until it is up."""
_NAME_SERVICE = ("unix:/var/run/nscd/socket", "unix:/run/nscd/socket")
"""Where the C library looks first for each user and host, and does without: no try of theirs."""


class _Note(NamedTuple):
    verdict: Verdict
    names: tuple[str, ...]


class Attempts:
    """Names what is tried in a seat while it is entered; what runs there ends before it is left."""

    def __init__(self, seat: OpenSandbox, *, kind: str = "") -> None:
        """Take what is watched.

        Args:
            seat: What is tried in it.
            kind: The only kind of calls that is told, while time is measured; empty for all.
        """
        self._seat = seat
        self._is_brief = bool(kind)
        if kind:
            seat.told = (kind,)
        self._n_heard = 0
        is_seen = seat.kind == "cell" and not self._is_brief
        self._packets = Packets(seat.network) if is_seen else None
        self._notes: dict[tuple[str, str], _Note] = {}
        self._missed: dict[tuple[str, str], str] = {}
        """Unix sockets where nobody was, by the paths that they have for us."""
        self._complaint: Reason | None = None
        self._processes: list[ServerProcess] = []
        self._listeners: list[int] = []
        self._poller = select.epoll()
        self._lock = threading.Lock()
        self._is_over = False
        machine = here()
        self._names = {number: name for name, number in machine.numbers.items()} if machine else {}
        self._refused = syscall_filter.names(machine.name) if machine else {}
        self._thread = threading.Thread(target=self._serve, name="attempts", daemon=True)

    def __enter__(self) -> Self:
        if self._packets is not None:
            self._packets.begin()
        self._seat.watch = self._follow
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._seat.watch = None
        self._is_over = True
        self._thread.join()
        for listener in self._listeners:
            with suppress(OSError):  # all that was told by it has ended
                calls.close(listener)
        self._poller.close()
        if self._packets is not None:
            self._packets.close()

    @property
    def complaint(self) -> Reason | None:
        """Why calls are not told; None where they are."""
        return self._complaint

    def refused(self) -> tuple[str | Reason, ...]:
        """Return what was tried and did not succeed, in the order of the tries.

        As in `tcp 10.0.0.5:5432`, `unix:/run/db.sock`, `write /srv/shop/cache`.
        """
        return self._told("refused")

    def reached(self) -> tuple[str | Reason, ...]:
        """Return what of the outside was reached, or was sent a datagram."""
        return self._told("reached")

    def _told(self, verdict: Verdict) -> tuple[str | Reason, ...]:
        # Who was answered may have tried something just before, that is still being noted.
        with self._lock:
            notes, missed = dict(self._notes), dict(self._missed)
        if self._packets is not None:
            for (kind, to), name in self._packets.refused().items():
                note = notes.get((kind, to), _Note("refused", ()))
                names = dict.fromkeys((*note.names, *([name] if name else ())))
                notes[kind, to] = note._replace(names=tuple(names))
        own = {place_of(to) for (_, to), note in notes.items() if note.verdict == "own"}
        # Who looks whether anybody is there before he listens there himself, as php-fpm.
        own |= {place_of(to) for (_, to), path in missed.items() if self._is_own_socket(path)}
        own |= {place_of(each) for each in self._listened_at()}
        return tuple(
            _asked(_shown(f"{kind} {to}".lstrip()), note.names)
            for (kind, to), note in notes.items()
            if note.verdict == verdict
            # Its own sockets by another path, before anybody listened there.
            and not (verdict == "refused" and (to in _NAME_SERVICE or place_of(to) in own))
        )

    def _listened_at(self) -> Iterator[str]:
        """Yield the unix sockets that the copy listens at now, of a cell; it ends in a moment."""
        if self._seat.kind == "cell":
            yield from (each.address for each in listening(self._pids(), with_unix=True))

    def _is_own_socket(self, path: str) -> bool:
        """Whether there is a socket now that only the copy can have put there."""
        folders = [os.path.realpath(each) for each in self._seat.bounds().folders]
        if self._seat.kind == "cell" or not any(is_below(path, each) for each in folders):
            return False
        with suppress(OSError):
            return stat.S_ISSOCK(os.lstat(path).st_mode)
        return False

    def _follow(self, process: ServerProcess) -> None:
        """Listen to a process that was started; called in the thread that started it."""
        self._processes.append(process)
        if isinstance(process.calls, int):
            self._listeners.append(process.calls)
            self._poller.register(process.calls, select.EPOLLIN)
        else:
            # An empty one is of who has ended before.
            words = process.calls
            self._complaint = because("sandbox.calls_not_told", error=words) if words else None

    def _serve(self) -> None:
        while not self._is_over:
            for listener, events in self._poller.poll(_WAIT_S):
                if events & select.EPOLLIN:
                    try:
                        with self._lock:
                            self._hear(listener)
                    except Exception as error:  # whatever it is, others wait to be heard
                        why = because("sandbox.call_not_told", error=str(error))
                        self._complaint = self._complaint or why
                else:  # All that were told by it have ended.
                    self._poller.unregister(listener)

    def _hear(self, listener: int) -> None:
        try:
            call = calls.received(listener)
        except OSError:  # it waits no more
            return
        if call.number not in self._names:
            # By which it would get out: never let on, whatever becomes of telling it.
            with suppress(OSError):
                calls.refuse(listener, call)
            self._note(("call", self._refused.get(call.number, str(call.number))), "refused")
            return
        self._n_heard += 1
        if self._is_brief and self._n_heard > _MOST_BRIEFLY:
            with suppress(OSError):
                calls.go_on(listener, call)
            return
        with ExitStack() as stack:
            unsure: list[tuple[Reach, socket.socket | None]] = []
            try:
                caller = stack.enter_context(closing(Caller(call.thread)))
                unsure = list(self._noted(caller, listener, call, stack))
            except Exception as error:  # whatever it is, the copy goes on
                why = because("sandbox.call_not_read", error=str(error))
                self._complaint = self._complaint or why
            finally:
                with suppress(OSError):
                    calls.go_on(listener, call)
            for reach, shared in unsure:
                key = self._key(reach)
                if not (self._is_brief and key in self._notes):
                    patience_s = _BRIEF_OUTCOME_S if self._is_brief else _OUTCOME_S
                    self._note(key, _outcome(shared, patience_s), reach.name)

    def _noted(
        self, caller: Caller, listener: int, call: Call, stack: ExitStack
    ) -> Iterator[tuple[Reach, socket.socket | None]]:
        """Note what a call tries; yield those whose outcome is to be seen, with their sockets."""
        name = self._names[call.number]
        bounds = self._seat.bounds()
        is_cell = self._seat.kind == "cell"
        if name not in {"connect", "sendto", "sendmsg", "sendmmsg"}:
            for write in list(writes(caller, call, name)):
                verdict, path = write_behind_wall(caller, write, bounds)
                self._note(("write", path), verdict)
            return
        for reach in list(reaches(caller, call, name)):
            verdict = (
                reach_in_cell(caller, reach, bounds)
                if is_cell
                else reach_behind_wall(caller, reach, bounds, self._pids)
            )
            if not calls.is_waiting(listener, call):
                return
            if verdict == "unsure":
                shared = caller.socket(reach.handle) if reach.is_connect else None
                yield reach, stack.enter_context(closing(shared)) if shared else None
            else:
                self._note(self._key(reach), verdict, reach.name)
                if verdict == "refused" and reach.to.text.startswith("unix:/"):
                    own = caller.own_file(caller.absolute(reach.to.host))
                    self._missed[self._key(reach)] = os.path.realpath(own)

    def _note(self, key: tuple[str, str], verdict: Verdict, name: str = "") -> None:
        """Note one; what was reached once was reached, and what is its own is not told."""
        before = self._notes.get(key)
        if before is None:
            if len(self._notes) < _MOST:
                self._notes[key] = _Note(verdict, (name,) if name else ())
            return
        names = dict.fromkeys((*before.names, *([name] if name else ())))
        most = max(before.verdict, verdict, key=_RANKS.index)
        self._notes[key] = _Note(most, tuple(names))

    def _key(self, reach: Reach) -> tuple[str, str]:
        kind = "" if reach.to.family == "unix" else reach.kind
        return kind, self._seat.bounds().theirs(reach.to.text)

    def _pids(self) -> Iterable[int]:
        return [each.pid for process in self._processes for each in process.members()]


def _shown(text: str) -> str:
    """Return what a program named as a text that can be stored, and that steers no terminal."""
    return visible(readable(kept_text(os.fsencode(text)))).replace("\n", "\\u000a")


def _asked(to: str, names: Iterable[str]) -> str | Reason:
    shown = [_shown(name) for name in names]
    if not shown:
        return to
    return because(
        "sandbox.asked_for_names" if shown[1:] else "sandbox.asked_for_name", to=to, names=shown
    )


def _outcome(shared: socket.socket | None, patience_s: float) -> Verdict:
    """Return whether somebody took it; a datagram's receiver was there."""
    if shared is None:
        return "reached"
    deadline_s = time.monotonic() + patience_s
    while not is_connected(shared):
        if time.monotonic() > deadline_s:
            return "refused"
        time.sleep(_LOOK_S)
    return "reached"


_TOLD = ("AttemptFails", "NoPorts", "Udp6NoPorts", "ListenOverflows")


class Refusals:
    """Of one cell, from before anything runs in it until all has ended."""

    def __init__(self, seat: OpenSandbox) -> None:
        self._attempts = Attempts(seat, kind=REACH_FILE)
        self._counts = Path(seat.network).parent.parent / "net"
        self._before: dict[str, int] = {}
        self._attempts.__enter__()

    def begin(self) -> None:
        """Count from now on: whoever waits for a copy is refused himself until it is up."""
        self._before = self._read()

    def told(self) -> tuple[str | Reason, ...]:
        """Return what was tried, such as `unix:/run/redis.sock`; what the kernel counts, as such.

        While the copy runs.
        """
        now = self._read()
        more = {name: n - self._before.get(name, n) for name, n in now.items()}
        found = [*self._attempts.refused()]
        # Where more come than are accepted, it is the load that goes away unanswered.
        if more.get("AttemptFails", 0) > 0 and not more.get("ListenOverflows", 0):
            found.append(because("sandbox.untaken"))
        if more.get("NoPorts", 0) > 0 or more.get("Udp6NoPorts", 0) > 0:
            found.append(because("sandbox.unread"))
        return tuple(found)

    def close(self) -> None:
        """Listen no more; what ran in the cell has ended."""
        self._attempts.__exit__(None, None, None)

    def _read(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for table in ("snmp", "snmp6", "netstat"):
            with suppress(OSError):  # a kernel without IPv6, or a cell that is gone
                text = (self._counts / table).read_text(encoding="ascii")
                found |= counters(text)
        return found


def counters(text: str) -> dict[str, int]:
    """Return the counters that are told, of a table as the kernel writes it. Pure."""
    found: dict[str, int] = {}
    lines = text.splitlines()
    for names, values in pairwise(lines):
        head, _, rest = names.partition(":")
        # Of protocols in two lines only those that are meant; of IPv6 a name and a value a line.
        if head in {"Tcp", "Udp", "TcpExt"} and values.startswith(f"{head}:"):
            pairs = zip(rest.split(), values.partition(":")[2].split(), strict=False)
            found |= {name: int(n) for name, n in pairs if name in _TOLD and n.isdecimal()}
    for line in lines:
        name, _, value = line.partition(" ")
        if name in _TOLD:
            found[name] = int(value)
    return found
