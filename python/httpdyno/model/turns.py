"""Servers that run already, loaded in turns: what is asked, and what is claimed of them."""

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.behind import Behind
from httpdyno.model.host import HostFacts
from httpdyno.model.result import ArmSummary, Comparison, ResultWarning
from httpdyno.model.workload import Objective, Workload


class Instance(Record, frozen=True):
    """One running server."""

    url: str
    address: str
    """`ip:port`."""
    root_pid: int = 0
    """Of the process that listens there; 0 where that is not known."""
    process: str = ""
    """That process, such as `nginx 812`; empty likewise."""
    beside: tuple[str, ...] = ()
    """Processes of its unit that are not below that one, by name and pid."""
    behind: tuple[Behind, ...] = ()
    """Servers that its requests go on to, whose CPU time is in no figure."""


class TurnsPlan(Record, frozen=True):
    """All that is decided before the first request."""

    instances: tuple[Instance, ...]
    """At least two; the first one is the reference."""
    workload: Workload
    duration_s: float
    seed: int
    confidence: float = 0.95
    """That no claim is a wrong `better` or `worse`: each alone has a share of the risk."""


class TurnsOutcome(Record, frozen=True):
    """Everything that came out of loading running servers in turns."""

    plan: TurnsPlan
    host: HostFacts
    objective: Objective
    """Of each comparison."""
    comparisons: tuple[Comparison, ...]
    """Of each instance but the first with that, by its index; (n_instances - 1,). A "start" in them
    is a period: each instance's turn in it. Configurations are empty: nobody knows them."""
    began_at: str
    """UTC, ISO 8601."""
    duration_s: float
    n_periods: int
    """Whole ones: in each, every instance had a turn."""
    turn_s: float
    """The measured part of a turn; 0 where there was none."""
    warnings: tuple[ResultWarning, ...] = ()
    is_interrupted: bool = False

    @property
    def arms(self) -> tuple[tuple[Instance, ArmSummary], ...]:
        """Each instance, and what it did in its turns."""
        summaries = (self.comparisons[0].a, *(each.b for each in self.comparisons))
        return tuple(zip(self.plan.instances, summaries, strict=True))

    def with_summaries(self, summaries: "tuple[ArmSummary, ...]") -> "TurnsOutcome":
        """Return the outcome with these for its instances; (n_instances,)."""
        compared = tuple(
            msgspec.structs.replace(each, a=summaries[0], b=summary)
            for each, summary in zip(self.comparisons, summaries[1:], strict=True)
        )
        return msgspec.structs.replace(self, comparisons=compared)
