"""From one server that was named to the site that it is the front of.

Who listens at a backend's address becomes a member: it is part of what is measured, and its copy
is what the front's copy reaches. Where nobody listens, that is who is configured to by its package.
All other backends are outside, and a copy cannot reach them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from httpdyno.adopt.behind import Listening, nobody
from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import Backend, Listener, Member
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.discover.contained import bounded, foreseen
from httpdyno.servers.network.address import place_of
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.site.adapter import Seat, SiteAdapter
from httpdyno.servers.site.member_user import as_own_user
from httpdyno.servers.site.seating import SeatMaker
from httpdyno.servers.site.snapshot import Found
from httpdyno.servers.site.stand_in import StandIns, stand_ins

_ANY = ("0.0.0.0", "[::]", "*", "")  # noqa: S104 - what addresses are read as
_LOCAL = ("127.0.0.1", "[::1]", "localhost")

_NOBODY = "nobody listens there: start it, or name it by `--with`"
_PATIENCE_S = 30.0
"""CPU time to read a server that somebody named; of the largest sites it is a second or two."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """A site as it was found."""

    members: tuple[Found, ...]
    """Front to back."""
    outside: tuple[Backend, ...]
    """What it connects to and no member answers at."""
    caveats: tuple[str, ...] = ()
    """In what copies of it are not what it is, in words."""
    why_outside: Mapping[str, str] = field(default_factory=dict)
    """Address of what is outside → why, with the way out."""
    notes: tuple[str, ...] = ()
    """What was taken for granted of its members, in words."""


def gather(
    named: Sequence[Member],
    adapters: Mapping[str, SiteAdapter],
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
    why: dict[str, str] = {}
    notes: list[str] = []
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
                why[backend.to] = f"{who.name} listens there, and cannot be a member: {error}"
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
        notes.append(f"{member.name} is a member since its package has it listen at {backend.to}")
    found = _with_silent(found, why)
    outside = {backend.to: backend for _, backend in _open(found)}
    return Gathered(
        members=_with_served(found),
        outside=tuple(outside.values()),
        why_outside={to: words for to, words in why.items() if to in outside},
        notes=tuple(notes),
    )


def _with_silent(found: Sequence[Found], why: Mapping[str, str]) -> list[Found]:
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
    adapters: Mapping[str, SiteAdapter],
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
            raise AdapterError(f"no private copy can be made here: {seat.detail}")
        try:
            return _with(made, gather(named, adapters, seat, listening))
        finally:
            seat.close()


def _with(made: StandIns, gathered: Gathered) -> Gathered:
    members = tuple(made.put_into(found) for found in gathered.members)
    return replace(gathered, members=members, caveats=made.caveats)


def look_at(member: Member, adapters: Mapping[str, SiteAdapter], seat: Seat | None) -> Found:
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
        least = f", as {member.user}, whose word it is" if member.user != named else ""
        raise AdapterError(
            f"{member.name} does not start as it is configured{least}: {survey.detail}",
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


def _usual(adapters: Mapping[str, SiteAdapter]) -> list[Found]:
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
