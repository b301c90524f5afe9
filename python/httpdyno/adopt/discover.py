"""From one server that was named to the site that it is the front of, and where that is loaded.

Who listens at a backend's address becomes a member: it is part of what is measured, and its copy
is what the front's copy reaches. What a user's configuration names leads by itself to servers of
that user only. Where nobody listens, the member is who is configured to by its package. All other
backends are outside, and a copy cannot reach them.

A site is loaded at the address that it was named by, or where it is seen to listen: a program of
which nobody says where it listens is started alone in a sandbox, and looked at.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import (
    Backend,
    ChangeSet,
    Configuration,
    Listener,
    Member,
    ServerSpec,
    SideCommand,
    Site,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, exited
from httpdyno.servers.command.seen import WAY_OUT_HINT
from httpdyno.servers.discover.contained import bounded, foreseen
from httpdyno.servers.discover.find import Found as FoundServer
from httpdyno.servers.discover.inspection import listening_at, named
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.discover.program import as_command
from httpdyno.servers.network.address import place_of, unix_address
from httpdyno.servers.network.listening import ListeningSocket, listening_sockets
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.stack.adapter import Seat, ServerAdapter
from httpdyno.servers.stack.beside import Beside, copy_environment, copy_variables
from httpdyno.servers.stack.copies import SITE
from httpdyno.servers.stack.environment import as_own_user
from httpdyno.servers.stack.names import (
    UNIX,
    knob_name,
    loaded_listener,
    variable_knob,
    variable_of,
)
from httpdyno.servers.stack.seats import SeatMaker
from httpdyno.servers.stack.snapshot import Found
from httpdyno.servers.stack.stand_in import StandIns, stand_ins
from httpdyno.servers.systemd import service_at
from httpdyno.study.server import whole_name

Listening = Callable[[str, str], Member | Reason | None]
"""Address of a backend, and the user whose word that is → the member that listens there; else why
it is none, and what to do; None where nobody listens there."""

_FORWARDERS = frozenset(
    (
        *("docker-proxy", "rootlessport", "slirp4netns", "pasta", "passt", "conmon"),
        *("ssh", "sshd", "autossh", "kubectl", "systemd-socket-proxyd"),
    )
)
"""Programs that only lead to somebody else, who is none of this machine or none that is seen."""


def nobody(to: str, user: str) -> None:
    """Say that nobody is known to listen anywhere."""
    del to, user


class Behind:
    """Looks who listens at the backends of a site, and keeps whom it found."""

    def __init__(self, machine: Machine, start_timeout_s: float = 20.0) -> None:
        """Look at a machine.

        Args:
            machine: What runs here.
            start_timeout_s: How long copies of what is found may take to start.
        """
        self._machine = machine
        self._start_timeout_s = start_timeout_s
        self.found: list[FoundServer] = []

    def __call__(self, to: str, user: str) -> Member | Reason | None:
        """Return the member that listens at an address, or why there is none."""
        try:
            with foreseen(to), bounded():
                servers = listening_at(Backend(to=to, protocol=""), self._machine)
        except UsageError:
            return None
        except AdapterError as error:
            return error.reason_and_hint
        if not servers:
            return None
        if why := next(self._why_none(to, servers, user), None):
            return why
        found = servers[0]
        try:
            member = self._as_member(found)
        except AdapterError as error:
            return because("adopt.listens_and", who=named(servers), why=error.reason_and_hint)
        self.found.append(found)
        return member

    def _why_none(self, to: str, servers: tuple[FoundServer, ...], user: str) -> Iterator[Reason]:
        """Yield why what listens does not become a member by itself."""
        found, who = servers[0], named(servers)
        root = found.root
        if root is None or os.getpid() in {root.pid, *(each.pid for each in found.below)}:
            yield because("adopt.is_httpdyno")
            return
        if len(servers) > 1:
            yield because("adopt.several_listen", who=who, pid=root.pid)
        if root.pid == 1:
            unit = service_at(to) or "NAME"
            yield because("adopt.held_for_a_service", who=who, unit=unit)
        if self._machine.is_copy(root.pid):
            yield because("adopt.is_a_copy", who=who)
        if found.is_elsewhere:
            yield because("adopt.is_elsewhere", who=who)
        if found.trouble:
            yield because("adopt.listens_and", who=who, why=found.trouble)
        if not _FORWARDERS.isdisjoint((Path(root.program).name, root.name)):
            yield because("adopt.only_leads_elsewhere", who=who)
        if user not in {"", "root", root.user}:
            yield because(
                "adopt.run_by_another" if root.user else "adopt.run_by_a_stranger",
                who=who,
                user=root.user,
                pid=root.pid,
            )

    def _as_member(self, found: FoundServer) -> Member:
        root = found.root
        member = structs.replace(found.member, ready_timeout_s=self._start_timeout_s)
        if root is None or any(each.name == member.kind for each in self._machine.adapters):
            return member
        return as_command(member)


_ANY = ("0.0.0.0", "[::]", "*", "")  # noqa: S104 - what addresses are read as
_LOCAL = ("127.0.0.1", "[::1]", "localhost")

_NOBODY = because("adopt.nobody_listens")
_PATIENCE_S = 30.0
"""CPU time to read a server that somebody named; of the largest sites it is a second or two."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """A site as it was found."""

    members: tuple[Found, ...]
    """Front to back."""
    outside: tuple[Backend, ...]
    """What it connects to and no member answers at."""
    caveats: tuple[Reason, ...] = ()
    """In what copies of it are not what it is."""
    why_outside: Mapping[str, Reason] = field(default_factory=dict)
    """Address of what is outside → why, with the way out."""
    notes: tuple[Reason, ...] = ()
    """What was taken for granted of its members."""


def gather(
    named: Sequence[Member],
    adapters: Mapping[str, ServerAdapter],
    seat: Seat | None,
    listening: Listening = nobody,
) -> Gathered:
    """Read the members that were named, and those that their backends lead to.

    Args:
        named: Front to back.
        adapters: By kind.
        seat: Where programs of theirs may run; None: from their files alone.
        listening: Says who listens at a backend.

    Raises:
        AdapterError: A configuration cannot be read, or the server itself refuses it.
        UsageError: One server is named twice.
    """
    # Those that were named come first; only what they leave open is looked for.
    found: list[Found] = []
    for each in named:
        if any(_is_same(each, other.member) for other in found):
            raise UsageError(f"`{each.name}` is named twice", hint="name each server once")
        found.append(look_at(_renamed(each, found), adapters, seat))
    candidates: list[Found] | None = None
    why: dict[str, Reason] = {}
    notes: list[Reason] = []
    while opened := next((each for each in _open(found) if each[1].to not in why), None):
        namer, backend = opened
        who = listening(backend.to, namer.member.user)
        if isinstance(who, Member):
            at = next((k for k, e in enumerate(found) if _is_same(e.member, who)), None)
            if at is not None:
                found[at] = _at(backend, found[at])
                continue
            try:
                found.append(_at(backend, look_at(_renamed(who, found), adapters, seat)))
            except AdapterError as error:
                why[backend.to] = because("adopt.cannot_be_member", who=who.name, why=error.reason)
            continue
        if not who and candidates is None:
            candidates = _usual(adapters)
        rests = [] if who else [e for e in candidates or () if _answers(e, backend)]
        if not rests:
            why[backend.to] = who or _NOBODY
            continue
        member = structs.replace(
            _renamed(rests[0].member, found), ready_timeout_s=namer.member.ready_timeout_s
        )
        found.append(_at(backend, look_at(member, adapters, seat)))
        notes.append(because("adopt.member_by_its_package", member=member.name, to=backend.to))
    found = _with_silent(found, why)
    outside = {backend.to: backend for _, backend in _open(found)}
    return Gathered(
        members=_with_served(found),
        outside=tuple(outside.values()),
        why_outside={to: words for to, words in why.items() if to in outside},
        notes=tuple(notes),
    )


def _with_silent(found: Sequence[Found], why: Mapping[str, Reason]) -> list[Found]:
    """Return the members; the one behind that says nothing of where it listens is at a backend.

    It is there where that is the one backend of this machine at which nobody else is.

    Args:
        found: Front to back.
        why: Address of what is outside → why.
    """
    silent = [k for k, each in enumerate(found) if k and not each.survey.listeners]
    left = {
        backend.to: backend
        for _, backend in _open(found)
        if why.get(backend.to) == _NOBODY and _is_local(backend.to)
    }
    if not (len(silent) == len(left) == 1):
        return list(found)
    [k], [backend] = silent, left.values()
    return [*found[:k], _at(backend, found[k]), *found[k + 1 :]]


def _is_local(address: str) -> bool:
    return address.startswith("unix:") or address.rpartition(":")[0] in _LOCAL


def _renamed(member: Member, found: Sequence[Found]) -> Member:
    """Return the member with a name that no other one has."""
    names = {each.member.name for each in found}
    free = (f"{member.name}-{k}" for k in range(2, 2 + len(names)))
    name = next(name for name in (member.name, *free) if name not in names)
    return structs.replace(member, name=name)


def _is_same(one: Member, other: Member) -> bool:
    """Whether both are one server, whatever they are called here."""
    return (one.kind, one.main, one.command, one.folder) == (
        *(other.kind, other.main, other.command, other.folder),
    )


def _at(backend: Backend, found: Found) -> Found:
    """Return who is known to answer at a backend, as one that listens there."""
    if _answers(found, backend):
        return found
    listeners = (*found.survey.listeners, Listener(address=backend.to))
    return replace(found, survey=structs.replace(found.survey, listeners=listeners))


def gather_running(
    named: Sequence[Member],
    adapters: Mapping[str, ServerAdapter],
    make_seat: SeatMaker,
    listening: Listening = nobody,
) -> Gathered:
    """Gather where the servers' own tests can be run, so that it is they who say what is in force.

    Behind a wall a configuration must be rewritten before its server reads it, for which it must
    have been surveyed; there the text alone says what is in force.

    Raises:
        AdapterError: A configuration cannot be read, or the server itself refuses it.
    """
    with new_run_root() as root:
        place = root.new_place("survey")
        begun = make_seat.begin(place)
        # Even a server's own test needs its keys and writes in folders of others. Root may do that.
        if begun.kind == "cell" and begun.is_root:
            as_read = Gathered(members=(), outside=())
        else:
            as_read = gather(named, adapters, None, listening)
        made = stand_ins(found.files for found in as_read.members)
        if begun.kind != "cell":
            return _with(made, as_read)
        writes = [folder for found in as_read.members for folder in found.survey.writes]
        wish = CellWish(writes=writes, hidden_files=made.contents)
        seat = make_seat.finish(begun, place, wish)
        if isinstance(seat, NotRunning):
            raise AdapterError("no private copy can be made here", why=[seat.detail])
        try:
            return _with(made, gather(named, adapters, seat, listening))
        finally:
            seat.close()


def _with(made: StandIns, gathered: Gathered) -> Gathered:
    members = tuple(made.put_into(found) for found in gathered.members)
    return replace(gathered, members=members, caveats=made.caveats)


def look_at(member: Member, adapters: Mapping[str, ServerAdapter], seat: Seat | None) -> Found:
    """Read one member and say what is in force.

    Raises:
        NotOursError: It would run as root, and several others may write what it runs.
        AdapterError: It cannot be read, or the server itself refuses it.
    """
    adapter, named = adapters[member.kind], member.user
    with foreseen(member.name), bounded(_PATIENCE_S):
        member = as_own_user(member)
        files = adapter.read(member)
        # Its own test, in a seat, takes time of other processes.
        survey = adapter.survey(member, files, seat)
    if isinstance(survey, NotRunning):
        why = because(
            "adopt.does_not_start" if member.user == named else "adopt.does_not_start_as",
            member=member.name,
            user=member.user,
            why=survey.detail,
        )
        raise AdapterError(
            why=[why],
            hint="what does not start cannot be tuned; its own test says more",
        )
    return Found(member=member, files=files, survey=survey)


def reaches(listener: Listener, address: str) -> bool:
    """Whether who connects to `address` comes to this listener."""
    if place_of(listener.address) == place_of(address):
        return True
    if address.startswith("unix:") or listener.address.startswith("unix:"):
        return False
    host, _, port = address.rpartition(":")
    own_host, _, own_port = listener.address.rpartition(":")
    return port == own_port and host in _LOCAL and own_host in (*_ANY, *_LOCAL)


def _usual(adapters: Mapping[str, ServerAdapter]) -> list[Found]:
    """Return what is configured on this machine as its packages would run it, where readable."""
    found = []
    for adapter in adapters.values():
        for member in adapter.usual():
            try:
                found.append(look_at(member, adapters, None))
            except AdapterError:  # nobody asked for it
                continue
    return found


def _open(found: Sequence[Found]) -> list[tuple[Found, Backend]]:
    """Return the backends that no member answers at, each with who names it."""
    return [
        (each, backend)
        for each in found
        for backend in each.survey.backends
        if not any(_answers(other, backend) for other in found)
    ]


def _answers(other: Found, backend: Backend) -> bool:
    return any(reaches(listener, backend.to) for listener in other.survey.listeners)


def _with_served(found: Sequence[Found]) -> tuple[Found, ...]:
    """Return the members, each told which backends it answers at."""
    named = [backend.to for each in found for backend in each.survey.backends]
    members = []
    for each in found:
        serves = tuple(
            dict.fromkeys(
                to for to in named if any(reaches(one, to) for one in each.survey.listeners)
            )
        )
        # Only what others connect to.
        own = {backend.to for backend in each.survey.backends}
        serves = tuple(to for to in serves if to not in own)
        member = structs.replace(each.member, serves=serves or each.member.serves)
        members.append(Found(member=member, files=each.files, survey=each.survey))
    return tuple(members)


def with_variables(
    gathered: Gathered, names: Collection[str], adapters: Mapping[str, ServerAdapter]
) -> Gathered:
    """Return the site, in which the named knobs `[MEMBER:]env.NAME` are known.

    Raises:
        AdapterError: One cannot be set from outside, or its value cannot be read.
    """
    members = [found.member.name for found in gathered.members]
    whole = {whole_name(name, members, ()): variable_of(name) for name in names}
    return replace(
        gathered, members=tuple(_told(found, whole, adapters) for found in gathered.members)
    )


def _told(found: Found, whole: Mapping[str, str], adapters: Mapping[str, ServerAdapter]) -> Found:
    adapter = adapters[found.member.kind]
    own: Sequence[str] = [
        variable
        for name, variable in whole.items()
        if variable and name == knob_name(found.member.name, variable_knob(variable))
    ]
    if not own:
        return found
    return replace(found, survey=adapter.with_variables(found.member, found.survey, own))


_SETTLE_S = 0.3
"""A program that opens one port may open another one right after."""
_SETTLE_UNIX_S = 2.0
"""Who has opened no port for so long after a unix socket is taken to listen there alone."""
_POLL_S = 0.02


def with_listener(
    found: Found,
    adapters: Mapping[str, ServerAdapter],
    make_seat: SeatMaker,
    before: tuple[SideCommand, ...] = (),
) -> Found:
    """Return the member with where it listens, as seen of one start.

    Args:
        found: The member.
        adapters: By kind.
        make_seat: Isolates the copy.
        before: What it needs to be run before it starts.

    Raises:
        UsageError: It listens at several ports, at none, or cannot be seen here.
        AdapterError: It does not start, or what is to be run before fails.
    """
    member = found.member
    with new_run_root() as root:
        place = root.new_place("listening")
        begun = make_seat.begin(place)
        if begun.kind != "cell":
            raise _unknown("only in a cell it would be seen", WAY_OUT_HINT)
        seat = make_seat.finish(begun, place, CellWish(is_known=False))
        if isinstance(seat, NotRunning):
            raise AdapterError("no private copy can be made here", why=[seat.detail])
        try:
            site, spec = Site(members=(member,)), ServerSpec(adapter=SITE, before=before)
            variables = copy_variables(spec, site, place, {})
            failed = Beside(spec, site, seat, place, variables).prepare("before")
            if failed:
                raise AdapterError("a private copy cannot be prepared", why=[failed.detail])
            launch = adapters[member.kind].launch(
                member, found.survey, seat, Configuration(), ChangeSet()
            )
            process = seat.spawn(
                launch.command,
                environment={
                    **copy_environment(member, seat, place, variables),
                    **launch.environment,
                },
                folder=launch.folder,
                user=launch.user,
                log=place.folder / f"{member.name}.log",
                output_to=launch.output_to,
            )
            try:
                listeners = _seen_listening(process, seat.network, member)
            finally:
                process.stop()
        finally:
            seat.close()
    if len(listeners) != 1:
        raise _unknown(f"it listens at {', '.join(listeners)}")
    return front_at(found, Listener(address=listeners[0]))


def named_listener(listeners: Sequence[Listener], host: str, port: int) -> str:
    """Return which listener who names a site by an address means, where it is not the usual one.

    Empty where it is, and where none of them answers there.

    Args:
        listeners: All that the site has.
        host: Empty is any; a path of a unix socket.
        port: 0 for a unix socket.
    """
    named = [each for each in listeners if _socket(each.address).answers_at(host, port)]
    if not named or loaded_listener(Site(members=()), listeners) in named:
        return ""
    return loaded_listener(Site(members=()), named).address


def _socket(address: str) -> ListeningSocket:
    if address.startswith(UNIX):
        return ListeningSocket(inode=0, host=address.removeprefix(UNIX), port=0)
    host, _, port = address.rpartition(":")
    host = "::" if host in {"*", ""} else host.strip("[]")
    return ListeningSocket(inode=0, host=host, port=int(port) if port.isdecimal() else -1)


def front_at(found: Found, listener: Listener) -> Found:
    """Return a member of which nobody knows where it listens, as one that listens there."""
    survey = structs.replace(found.survey, listeners=(listener,))
    return Found(member=found.member, files=found.files, survey=survey)


def _seen_listening(process: ServerProcess, network: str, member: Member) -> list[str]:
    patience_s = member.ready_timeout_s
    deadline_s = time.monotonic() + patience_s
    unix_s = None
    while (now_s := time.monotonic()) < deadline_s:
        if not process.is_alive():
            how = exited(process.exit_code, process.last_words().strip())
            raise AdapterError(why=[because("adopt.does_not_listen_yet", how=how)])
        if _ports(network):
            time.sleep(_SETTLE_S)
            return _ports(network)
        # A program may have sockets of its own before it opens its port.
        if paths := _paths(network, member.folder):
            unix_s = unix_s or now_s
            if now_s - unix_s > _SETTLE_UNIX_S:
                return paths
        time.sleep(_POLL_S)
    raise _unknown(
        f"it listened nowhere within {patience_s:g} s",
        "`--start-timeout 1m` waits longer; `--listener 8080` or `--listener unix:/PATH` names it",
    )


def _ports(network: str) -> list[str]:
    """Return the addresses that somebody listens at in a network namespace, a port once.

    It is that of the cell: the process itself may not have entered it yet.
    """
    by_port = {each.port: each.address for each in reversed(_sockets(network)) if each.port}
    return [by_port[port] for port in sorted(by_port)]


def _paths(network: str, folder: str) -> list[str]:
    """Return the unix sockets that somebody listens at in a network namespace."""
    paths = [each.host for each in _sockets(network) if not each.port]
    return [
        unix_address(os.path.join(folder or "/", path))  # noqa: PTH118 - `..` stays as it is
        for path in paths
        if not path.startswith("@")
    ]


def _sockets(network: str) -> tuple[ListeningSocket, ...]:
    return listening_sockets(Path(network).parent.parent / "net")


def _unknown(why: str, hint: str = "") -> UsageError:
    return UsageError(
        f"nobody says where the server listens, and {why}",
        hint=hint or 'name it: `--listener 8080`, in the study `listener = "8080"`',
    )
