"""What is known of a server itself that a copy is of: as it runs, and what is around it."""

from dataclasses import dataclass

from httpdyno.adopt.pool_look import member_sample
from httpdyno.adopt.pool_room import MemberSample
from httpdyno.advice.rules.facts import Facts
from httpdyno.servers.site.snapshot import Found
from httpdyno.telemetry.observed import Observed
from httpdyno.telemetry.worker import Sample


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnServer:
    """As `httpdyno inspect` knows it without asking it anything."""

    facts: Facts
    """What rules may know of it; of its settings what its copy has."""
    observed: Observed | None = None
    """None where it does not run."""

    def sample(self, found: Found) -> MemberSample:
        """Return its processes as those of the member; none where it does not run."""
        seen = self.observed
        workers = seen.workers if seen else ()
        roots = (seen.root_pid,) if seen else ()
        # When that was is of no account.
        return member_sample(found, Sample(at_s=0.0, root_pids=roots, workers=workers))
