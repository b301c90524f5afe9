"""What is known of the servers that are copied, for those that run as they run."""

import os
from collections.abc import Callable, Iterator, Sequence

from httpdyno.adopt.discover import Gathered
from httpdyno.adopt.memory import (
    OwnServer,
)
from httpdyno.inspection.server import surroundings_of
from httpdyno.model import Member
from httpdyno.reason import Reason, because
from httpdyno.report.inspect.facts import facts_of
from httpdyno.servers.discover.find import Found, running
from httpdyno.servers.discover.inspection import Inspected, changed_files
from httpdyno.servers.discover.machine import Machine
from httpdyno.servers.stack.snapshot import Found as SiteFound
from httpdyno.telemetry.observed import Observed, observed
from httpdyno.telemetry.worker import is_of_memory


def own_servers(
    gathered: Gathered,
    named: Sequence[Found],
    machine: Machine,
    tell: Callable[[Reason], None],
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
            tell(because("adopt.runs", name=name, told=list(told(found, each, now))))
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


def told(found: Found, adopted: SiteFound, now: Observed) -> Iterator[Reason]:
    """Yield what of a server that runs is used, and what it is not known of."""
    pid, n = now.root_pid, len(now.workers)
    yield because("adopt.looked_at", pid=pid, n_below=n - 1)
    yield from filter(is_of_memory, now.hidden)
    if now.no_bound is not None:
        yield now.no_bound
    changed, perhaps = changed_files(found, adopted.files)
    if changed:
        yield because("adopt.began_before_change", file=changed[0])
    elif perhaps:
        yield because("adopt.changed_since", file=perhaps[0])


def _is_same(found: Found, member: Member) -> bool:
    if member.main:
        return os.path.realpath(found.member.main) == os.path.realpath(member.main)
    return bool(member.command) and found.member.command == member.command
