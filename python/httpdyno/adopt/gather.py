"""From one server that was named to the site that it is the front of.

A backend that another server of this machine answers at makes that server a member: it is part of
what is measured, and its copy is what the front's copy reaches. All other backends are outside, and
a copy cannot reach them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import Backend, Listener, Member
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.cell.wish import CellWish
from httpdyno.servers.run_folder import new_run_root
from httpdyno.servers.site.adapter import Seat, SiteAdapter
from httpdyno.servers.site.member_user import as_own_user
from httpdyno.servers.site.seating import SeatMaker
from httpdyno.servers.site.snapshot import Found
from httpdyno.servers.site.stand_in import StandIns, stand_ins
from httpdyno.servers.source.contained import bounded, foreseen

_ANY = ("0.0.0.0", "[::]", "*", "")  # noqa: S104 - what addresses are read as
_LOCAL = ("127.0.0.1", "[::1]", "localhost")

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


def gather(
    named: Sequence[Member], adapters: Mapping[str, SiteAdapter], seat: Seat | None
) -> Gathered:
    """Read the members that were named, and those that their backends lead to.

    Args:
        named: Front to back.
        adapters: By kind.
        seat: Where programs of theirs may run; None: from their files alone.

    Raises:
        AdapterError: A configuration cannot be read, or the server itself refuses it.
    """
    waiting = list(named)
    found: list[Found] = []
    candidates: list[Found] | None = None
    while waiting:
        each = look_at(waiting.pop(0), adapters, seat)
        found.append(each)
        if waiting:
            continue
        # Those that were named come first; only what they leave open is looked for.
        for backend in _open(found):
            if candidates is None:
                candidates = _usual(adapters)
            new = next((other for other in candidates if _answers(other, backend)), None)
            if new is not None and new.member not in waiting:
                waiting.append(new.member)
    outside = {backend.to: backend for backend in _open(found)}
    return Gathered(members=_with_served(found), outside=tuple(outside.values()))


def gather_running(
    named: Sequence[Member], adapters: Mapping[str, SiteAdapter], make_seat: SeatMaker
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
            as_read = gather(named, adapters, None)
        made = stand_ins(found.files for found in as_read.members)
        if begun.kind != "cell":
            return _with(made, as_read)
        writes = [folder for found in as_read.members for folder in found.survey.writes]
        wish = CellWish(writes=writes, hidden_files=made.contents)
        seat = make_seat.finish(begun, place, wish)
        if isinstance(seat, NotRunning):
            raise AdapterError(f"no private copy can be made here: {seat.detail}")
        try:
            return _with(made, gather(named, adapters, seat))
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
    if listener.address == address:
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


def _open(found: Sequence[Found]) -> list[Backend]:
    """Return the backends that no member answers at."""
    return [
        backend
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
