"""How many workers memory has room for, of each pool of a copy beside all else of it.

Two copies stand by at a time, so each may have half of what the machine has free. Of that, what one
pool may have is less what the rest of the copy holds: other members, and of php-fpm its other
pools. What is shared between pools is there once, by whichever of them it is counted. Where the
server that runs has a control group with a limit, what is found best has to fit in there later.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from httpdyno.advice.proposal import WorkerRoom
from httpdyno.advice.rules.facts import Facts
from httpdyno.model import Listener
from httpdyno.reason import Reason, because
from httpdyno.servers.network.listening import ListeningSocket
from httpdyno.servers.php_fpm.survey import pool_names
from httpdyno.servers.stack.names import UNIX, reached_at
from httpdyno.servers.stack.running import RunningCopy
from httpdyno.servers.stack.snapshot import Found
from httpdyno.telemetry.observed import Observed
from httpdyno.telemetry.pool import Pool, memory_bound, pool, rss_bytes, size
from httpdyno.telemetry.worker import Sample, Worker, WorkerSampler

COPIES = 2
"""An arm and the one that it is compared with."""
_ANSWERS_ITSELF = frozenset({"uvicorn", "node", "command"})
"""Kinds of which one process may be all; a parent of the others answers nothing."""
_NO_WORKER = because("adopt.no_worker_ran")
_TITLE = "php-fpm: pool "


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberSample:
    """The processes of a member, under load."""

    name: str
    kind: str
    sample: Sample
    titles: Mapping[int, str] = field(default_factory=dict)
    """Process → what it calls itself; where there are several pools."""
    pools: Sequence[str] = ()
    """By name, as knobs have them for their scope; empty where the member is one pool."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningPools:
    """What of the server that runs counts for the room of its copy."""

    largest: Mapping[str, Worker] = field(default_factory=dict)
    """Pool → its largest worker. One that has more of its own than any of the copy's stands for
    all: a copy's workers are young."""
    limit_bytes: int | None = None
    """Of its control group, less what others in there hold; None where the machine has less."""


NOT_RUNNING = RunningPools()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Split:
    """One pool of a member."""

    name: str
    roots: tuple[Worker, ...] = ()
    """What is there besides its workers."""
    workers: tuple[Worker, ...] = ()
    unknown: Reason | str = ""
    """Why nothing can be said of it."""


def rooms(
    looks: Sequence[Sequence[MemberSample]],
    free_bytes: int,
    *,
    running: Mapping[str, RunningPools] | None = None,
) -> tuple[WorkerRoom, ...]:
    """Return the room for each pool of a copy; none where nobody looked what is free.

    Of several looks the one counts at which there was room for the fewest: what a request takes is
    given back with its end.

    Args:
        looks: Each at all members of the copy.
        free_bytes: What the machine had free before the copy was there; 0 where nobody looked.
        running: Member → what is known of the server that runs.
    """
    found: dict[tuple[str, str], WorkerRoom] = {}
    for copy in looks if free_bytes else ():
        for room in _rooms(copy, free_bytes, running or {}):
            before = found.get((room.member, room.pool))
            if before is None or before.n is None or (room.n is not None and room.n < before.n):
                found[room.member, room.pool] = room
    return tuple(found.values())


def unused(looks: Sequence[Sequence[MemberSample]]) -> tuple[str, ...]:
    """Return the pools, as `php@jobs`, whose workers all slept from the first look to the last."""
    found: list[str] = []
    for members in zip(looks[0], looks[-1], strict=True) if len(looks) > 1 else ():
        name = members[0].name
        before, after = ({p: _lives(each, p) for p in each.pools} for each in members)
        slept = (p for p, lives in before.items() if lives and lives == after.get(p))
        found += [f"{name}@{pool}" for pool in slept]
    return tuple(found)


def _lives(member: MemberSample, pool: str) -> frozenset[tuple[int, float, int | None]]:
    """Return what each worker of a pool has done so far."""
    own = {pid for pid, title in member.titles.items() if title == f"{_TITLE}{pool}"}
    workers = (each for each in member.sample.workers if each.pid in own)
    return frozenset((each.pid, each.cpu_s, each.voluntary_switches) for each in workers)


def _rooms(
    copy: Sequence[MemberSample], free_bytes: int, running: Mapping[str, RunningPools]
) -> Iterator[WorkerRoom]:
    for member in copy:
        own = running.get(member.name, NOT_RUNNING)
        for split in _pools(member):
            inside = {each.pid for each in (*split.roots, *split.workers)}
            beside = _held_bytes([member], inside)
            limit = None if own.limit_bytes is None else max(0, own.limit_bytes - beside)
            seen = WorkerRoom(
                member=member.name,
                pool=split.name,
                unknown=split.unknown,
                free_bytes=free_bytes,
                n_copies=COPIES,
                held_bytes=_held_bytes(copy, inside),
            )
            at_s, grown = member.sample.at_s, own.largest.get(split.name)
            yield seen if split.unknown else _bounded(seen, split, at_s, grown, limit)


def largest_workers(member: MemberSample) -> dict[str, Worker]:
    """Return the worker of each pool that has the most of its own, where that may be seen."""
    return {
        split.name: max(split.workers, key=size)
        for split in _pools(member)
        if split.workers and not any(each.lacks_memory for each in split.workers)
    }


def _bounded(
    room: WorkerRoom, split: _Split, at_s: float, grown: Worker | None, limit_bytes: int | None
) -> WorkerRoom:
    """Return the room of a pool with the bound, or with why there is none."""
    seen = pool(
        Sample(
            at_s=at_s,
            root_pids=tuple(each.pid for each in split.roots),
            workers=(*split.roots, *split.workers),
        )
    )
    is_of_running = bool(grown and seen.largest and size(grown) > size(seen.largest))
    if is_of_running:
        seen = replace(seen, largest=grown)
    own_bytes = (seen.pss_bytes or 0) - (seen.file_pss_bytes or 0)
    bound = memory_bound(
        seen,
        # It adds what the pool has itself, and that is in what was free before.
        available_bytes=max(0, room.free_bytes // COPIES - room.held_bytes) - own_bytes,
        limit_bytes=limit_bytes,
    )
    largest = seen.largest
    if bound is None or largest is None:
        return structs.replace(room, unknown=_unseen(seen, (*split.roots, *split.workers)))
    return structs.replace(
        room,
        n=bound.n,
        unknown="" if bound.n is not None else because("adopt.no_memory_of_its_own"),
        available_bytes=bound.available_bytes,
        reserve_bytes=bound.reserve_bytes,
        once_bytes=bound.once_bytes,
        each_bytes=bound.each_bytes,
        kernel_bytes=bound.kernel_bytes,
        age_s=largest.age_s,
        is_of_running=is_of_running,
        is_by_limit=bound.limited_by == "control group",
    )


def _unseen(seen: Pool, workers: Sequence[Worker]) -> Reason | str:
    if seen.pss_bytes is not None:
        return because("adopt.file_pages_unseen")
    barred = (each.hidden[0] for each in workers if each.lacks_memory and each.hidden)
    return next(barred, because("adopt.memory_not_read"))


def _pools(member: MemberSample) -> Iterator[_Split]:
    """Yield the pools of a member, each with its parent."""
    living = [each for each in member.sample.workers if not each.is_zombie]
    roots = tuple(each for each in living if each.pid in member.sample.root_pids)
    below = tuple(each for each in living if each.pid not in member.sample.root_pids)
    if not member.pools:
        yield _one_pool(member, roots, below)
        return
    named = {each.pid: _pool_of(member, each.pid) for each in below}
    is_known = all(name in member.pools for name in named.values())
    for name in member.pools:
        own = tuple(each for each in below if named[each.pid] == name)
        if not is_known:
            yield _Split(name=name, unknown=because("adopt.whose_processes"))
        elif not own:
            yield _Split(name=name, unknown=_NO_WORKER)
        else:
            yield _Split(name=name, roots=roots, workers=own)


def _one_pool(member: MemberSample, roots: tuple[Worker, ...], below: tuple[Worker, ...]) -> _Split:
    if not below:
        if member.kind in _ANSWERS_ITSELF and roots:
            # What a further one would be is what this one is.
            return _Split(name="", workers=roots)
        return _Split(name="", unknown=_NO_WORKER)
    names = list(dict.fromkeys(each.name for each in below))
    if len(names) == 1:
        return _Split(name="", roots=roots, workers=below)
    # Such as Apache's rotatelogs: what helps has another name than who was forked.
    forked = {each.name for each in roots}
    own = tuple(each for each in below if each.name in forked)
    if not own:
        return _Split(name="", unknown=because("adopt.several_kinds", names=names))
    return _Split(name="", roots=roots, workers=own)


def _pool_of(member: MemberSample, pid: int) -> str:
    title = member.titles.get(pid, "")
    return title.removeprefix(_TITLE).rstrip() if title.startswith(_TITLE) else ""


def _held_bytes(copy: Sequence[MemberSample], inside: Collection[int]) -> int:
    """Return what all but a pool holds: shares, and of who is not seen all that it may."""
    outside = (w for each in copy for w in each.sample.workers if w.pid not in inside)
    return sum(w.memory.pss_bytes if w.memory else rss_bytes(w) for w in outside)


class PoolLooks:
    """At one copy, as often as somebody asks."""

    def __init__(
        self,
        members: Sequence[Found],
        free_bytes: int,
        running: Mapping[str, RunningPools] | None = None,
    ) -> None:
        """Look at nothing yet.

        Args:
            members: All of the site, front to back.
            free_bytes: What the machine has free before the copy is there; 0 where nobody knows.
            running: Member → what is known of the server that runs.
        """
        self._members = tuple(members)
        self._free_bytes = free_bytes
        self._running = running
        self._looks: list[tuple[MemberSample, ...]] = []

    def look(self, running: RunningCopy) -> None:
        """Take note of the copy's processes now."""
        if not self._free_bytes:
            return
        pairs = zip(self._members, running.root_pids, strict=True)
        self._looks.append(
            tuple(member_sample(each, WorkerSampler([pid]).read()) for each, pid in pairs)
        )

    def rooms(self) -> tuple[WorkerRoom, ...]:
        """Return how many workers of each pool memory has room for, by all looks."""
        return rooms(self._looks, self._free_bytes, running=self._running)

    def unused(self) -> tuple[str, ...]:
        """Return the pools of which no worker did anything between the first look and the last."""
        return unused(self._looks)


def member_sample(found: Found, sample: Sample) -> MemberSample:
    """Return a member's processes, which were read just now, with what they call themselves."""
    member = found.member
    pools = pool_names(found.survey) if member.kind == "php-fpm" else ()
    several = pools if len(pools) > 1 else ()
    return MemberSample(
        name=member.name,
        kind=member.kind,
        sample=sample,
        titles=_titles(each.pid for each in sample.workers) if several else {},
        pools=several,
    )


def _titles(pids: Iterable[int]) -> dict[int, str]:
    found = {}
    for pid in pids:
        with suppress(OSError):  # it ended meanwhile
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
            found[pid] = title.rstrip(b"\0 ").decode(errors="replace")
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnServer:
    """As `httpdyno inspect` knows it without asking it anything."""

    facts: Facts
    """What rules may know of it; of its settings what its copy has."""
    observed: Observed | None = None
    """None where it does not run."""
    listens: tuple[ListeningSocket, ...] = ()
    """Where its processes listen."""

    def address_of(self, listener: Listener) -> str:
        """Return where it answers itself for one of its copy's listeners; empty: nowhere here."""
        address = reached_at(listener.address)
        host, port = address.removeprefix(UNIX), 0
        if host == address:
            host, _, number = address.rpartition(":")
            host, port = host.strip("[]"), int(number)
        return address if any(each.answers_at(host, port) for each in self.listens) else ""

    def pools(self, found: Found) -> RunningPools:
        """Return what of it counts for the room of its copy, which is the member."""
        seen = self.observed
        if seen is None:
            return NOT_RUNNING
        # When that was is of no account.
        sample = Sample(at_s=0.0, root_pids=(seen.root_pid,), workers=seen.workers)
        bound = seen.bound
        is_limited = bound is not None and bound.limited_by == "control group"
        return RunningPools(
            largest=largest_workers(member_sample(found, sample)),
            limit_bytes=bound.available_bytes if bound and is_limited else None,
        )
