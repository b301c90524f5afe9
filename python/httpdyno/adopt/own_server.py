"""What is known of a server itself that a copy is of: as it runs, and what is around it."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from httpdyno.adopt.gather import Gathered
from httpdyno.adopt.pool_look import member_sample
from httpdyno.adopt.pool_room import NOT_RUNNING, RunningPools, largest_workers
from httpdyno.advice.rules.facts import Facts
from httpdyno.inspection.server import surroundings_of
from httpdyno.model import Listener, Member
from httpdyno.report.inspect.facts import facts_of
from httpdyno.servers.discover.find import Found, running
from httpdyno.servers.discover.inspection import Inspected, changed_files
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.network.listening import ListeningSocket
from httpdyno.servers.site.listener import UNIX, reached_at
from httpdyno.servers.site.snapshot import Found as SiteFound
from httpdyno.telemetry.observed import Observed, observed
from httpdyno.telemetry.pool import CONTROL_GROUP
from httpdyno.telemetry.worker import Sample


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

    def pools(self, found: SiteFound) -> RunningPools:
        """Return what of it counts for the room of its copy, which is the member."""
        seen = self.observed
        if seen is None:
            return NOT_RUNNING
        # When that was is of no account.
        sample = Sample(at_s=0.0, root_pids=(seen.root_pid,), workers=seen.workers)
        bound = seen.bound
        is_limited = bound is not None and bound.limited_by == CONTROL_GROUP
        return RunningPools(
            largest=largest_workers(member_sample(found, sample)),
            limit_bytes=bound.available_bytes if bound and is_limited else None,
        )


def own_servers(
    gathered: Gathered,
    named: Sequence[Found],
    machine: Machine,
    tell: Callable[[str], None],
) -> dict[str, OwnServer]:
    """Return what is known of each member's own server; says of which that it runs.

    Args:
        gathered: The site.
        named: The servers that a person named, which it was gathered from.
        machine: Where the others of it are looked for.
        tell: Takes which of them run, and what of that is used.
    """
    by_name = {each.member.name: each for each in named}
    is_all_named = all(each.member.name in by_name for each in gathered.members)
    others = () if is_all_named else running(machine)
    known: dict[str, OwnServer] = {}
    for each in gathered.members:
        name = each.member.name
        same = next((own for own in named if _is_same(own, each.member)), None)
        found = same or by_name.get(name) or served_by(each.member, others)
        seen = Inspected(found=found, survey=each.survey)
        now = None
        if found.root is not None:
            now = observed(found.root.pid, {socket.inode for socket in found.listens})
        facts = facts_of(seen, now, surroundings_of(seen))
        if facts is not None:
            known[name] = OwnServer(facts=facts, observed=now, listens=found.listens)
        if now is not None:
            tell(f"{name} runs: {'; '.join(told(found, each, now))}")
    return known


def served_by(member: Member, servers: Sequence[Found]) -> Found:
    """Return the server of this machine that runs with a member's configuration, else none.

    Two of them are none, for nobody knows which is meant.
    """
    same = [
        each
        for each in servers
        if each.member.kind == member.kind and not each.is_elsewhere and _is_same(each, member)
    ]
    return same[0] if len(same) == 1 else Found(member=member)


def told(found: Found, adopted: SiteFound, now: Observed) -> Iterator[str]:
    """Yield what of a server that runs is used, and what it is not known of, in words."""
    pid, n = now.root_pid, len(now.workers)
    yield f"process {pid} and {n - 1:,} below it are looked at for what is worth trying"
    yield from (words for words in now.hidden if words.startswith(("memory", "room")))
    changed, perhaps = changed_files(found, adopted.files)
    if changed:
        yield f"it began before {changed[0]} was changed, and runs with what was in it then"
    elif perhaps:
        yield f"{perhaps[0]} was changed since it began, which it may not have read"


def _is_same(found: Found, member: Member) -> bool:
    if member.main:
        return os.path.realpath(found.member.main) == os.path.realpath(member.main)
    return bool(member.command) and found.member.command == member.command
