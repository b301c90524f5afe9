"""What `httpdyno inspect` shows: each server as it was seen, and whether they can be copied.

Pure: what is looked at comes in as it was seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from httpdyno.advice.rules.facts import KeptWorkers, Measured
from httpdyno.reason import Reason
from httpdyno.report.inspect.facts import NOTHING_KNOWN, Asked, Surroundings
from httpdyno.report.inspect.finding import Finding, findings
from httpdyno.report.inspect.loaded import Loaded
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.telemetry.observed import Observed


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A server that was looked at."""

    seen: Inspected
    observed: Observed | None = None
    """Its processes; None where it does not run."""
    is_named: bool = False
    """Somebody asked for this one: then each of its processes is shown."""
    backends: tuple[tuple[str, str], ...] = ()
    """(backend, what serves it here); the second is empty where nothing here does."""
    surroundings: Surroundings = NOTHING_KNOWN
    asked: Asked | None = None
    """None where nobody asked for a census."""
    loaded: Loaded | None = None
    """What was seen under load; None where nobody asked for one."""
    told: Mapping[int, int] = field(default_factory=dict)
    """Requests by worker since it began, by its pid; empty where no page was asked."""

    kept: KeptWorkers | None = None
    """What its workers were at, without a load of ours; None where no page was asked."""

    @property
    def served(self) -> Mapping[int, int]:
        """The same, after a load where there was one."""
        return self.loaded.served if self.loaded else self.told

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What its owner should know."""
        measured = self.loaded.measured if self.loaded else Measured(kept=self.kept)
        return findings(self.seen, self.observed, self.surroundings, self.asked, measured)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """All that is shown."""

    servers: tuple[Server, ...]
    now_s: float
    """Unix time."""
    isolation: str = ""
    """The best isolation of a private copy that is possible here; empty: none, or not known."""
    isolation_reason: Reason | None = None
    """How it can be had, or why no better one."""
    passed_over: tuple[tuple[str, int], ...] = ()
    """User → how many more processes were not looked at, since that user's took too long."""
