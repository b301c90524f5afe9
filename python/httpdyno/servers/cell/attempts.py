"""What a copy tries to reach, named as it tries: by its own calls, in a cell and behind a wall.

Each call that names an address, and behind a wall each that changes a file, waits until it was
noted, and then goes on. So it is for a rehearsal only, never where time is measured; and a call
that a signal finds waiting is done anew, or told as interrupted where its program asked for that,
as any call that waits. In a cell the packets of its loopback are watched as well: they show what a
program has sent without naming an address in a call, and they are what is left where the kernel
tells no calls.
"""

import os
import select
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from types import TracebackType
from typing import NamedTuple, Protocol, Self

from httpdyno.host.foreign_text import kept_text, readable, visible
from httpdyno.servers.address import place_of
from httpdyno.servers.calls import listener as calls
from httpdyno.servers.calls import refusal
from httpdyno.servers.calls.asked import Reach, reaches, writes
from httpdyno.servers.calls.caller import Caller
from httpdyno.servers.calls.filter import here
from httpdyno.servers.calls.listener import Call
from httpdyno.servers.cell.bounds import Bounds
from httpdyno.servers.cell.cover import is_below
from httpdyno.servers.cell.judge import (
    Verdict,
    is_connected,
    reach_behind_wall,
    reach_in_cell,
    write_behind_wall,
)
from httpdyno.servers.cell.packets import Packets
from httpdyno.servers.listening import listening
from httpdyno.servers.process import ServerProcess

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


class Watched(Protocol):
    """A seat that tells what is started in it."""

    watch: Callable[[ServerProcess], None] | None
    """Told of each process that is started; while it is there, their calls are told."""
    told: tuple[str, ...]
    """Which kinds of calls these are."""

    @property
    def kind(self) -> str:
        """`cell` or `wall`."""

    @property
    def network(self) -> str:
        """Its network namespace, as a path; empty for the host's."""

    def bounds(self) -> Bounds:
        """Return what it has for its own, and what it may reach."""


class _Note(NamedTuple):
    verdict: Verdict
    names: tuple[str, ...]


class Attempts:
    """Names what is tried in a seat while it is entered; what runs there ends before it is left."""

    def __init__(self, seat: Watched, *, kind: str = "") -> None:
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
        self._complaint = ""
        self._processes: list[ServerProcess] = []
        self._listeners: list[int] = []
        self._poller = select.epoll()
        self._lock = threading.Lock()
        self._is_over = False
        machine = here()
        self._names = {number: name for name, number in machine.numbers.items()} if machine else {}
        self._refused = refusal.names(machine.name) if machine else {}
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
    def complaint(self) -> str:
        """Why calls are not told, in words; empty where they are."""
        return self._complaint

    def refused(self) -> tuple[str, ...]:
        """Return what was tried and did not succeed, in the order of the tries.

        As in `tcp 10.0.0.5:5432`, `unix:/run/db.sock`, `write /srv/shop/cache`.
        """
        return self._told("refused")

    def reached(self) -> tuple[str, ...]:
        """Return what of the outside was reached, or was sent a datagram."""
        return self._told("reached")

    def _told(self, verdict: Verdict) -> tuple[str, ...]:
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
            _shown(f"{kind} {to}".lstrip() + _asked(note.names))
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
            self._complaint = process.calls

    def _serve(self) -> None:
        while not self._is_over:
            for listener, events in self._poller.poll(_WAIT_S):
                if events & select.EPOLLIN:
                    try:
                        with self._lock:
                            self._hear(listener)
                    except Exception as error:  # whatever it is, others wait to be heard
                        self._complaint = self._complaint or f"a call could not be told: {error}"
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
                self._complaint = self._complaint or f"a call could not be read: {error}"
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


def _asked(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    return f" (for the name{'s' * (len(names) > 1)} {', '.join(names)})"


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
