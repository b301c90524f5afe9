"""What is known of a server itself that a copy is of: as it runs, and what is around it."""

from dataclasses import dataclass

from httpdyno.adopt.pool_look import member_sample
from httpdyno.adopt.pool_room import NOT_RUNNING, RunningPools, largest_workers
from httpdyno.advice.rules.facts import Facts
from httpdyno.model import Listener
from httpdyno.servers.network.listening import ListeningSocket
from httpdyno.servers.stack.listener import UNIX, reached_at
from httpdyno.servers.stack.snapshot import Found
from httpdyno.telemetry.observed import Observed
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

    def pools(self, found: Found) -> RunningPools:
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
