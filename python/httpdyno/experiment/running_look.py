"""Servers that run already, looked at under a little more of a load when all is measured.

Who looks takes time of the cores, so it is never while anything is timed. The stretch of load that
comes for it has connections of its own: what was measured is over by then, and has none of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from httpdyno.experiment.looking import STRETCHES_S, looks_in, wants_longer
from httpdyno.load.engine import Edge, LoadHandle, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.target import UNIX
from httpdyno.model import Look, Workload
from httpdyno.telemetry.profile.profiler import Profiler
from httpdyno.units import format_duration


class Planned(Protocol):
    """What plans of load tests and of turns have in common."""

    @property
    def workload(self) -> Workload:
        """What servers are offered."""

    @property
    def threads(self) -> int:
        """That send."""

    @property
    def cpus(self) -> tuple[int, ...]:
        """Which they are kept on; empty leaves them free."""

    @property
    def seed(self) -> int:
        """Of all that is random."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MoreLoad:
    """What a running server is loaded with while it is looked at."""

    address: str
    workload: Workload
    threads: int = 1
    cpus: tuple[int, ...] = ()
    seed: int = 0
    spin_s: float = 0.0

    @classmethod
    def of(cls, plan: Planned, address: str, *, spin_s: float = 0.0) -> "MoreLoad":
        """Return more of what one of a plan's servers was loaded with.

        Args:
            plan: Of what was measured.
            address: The server's.
            spin_s: Polling before each due time, where the plan has that.
        """
        return cls(
            address=address,
            workload=plan.workload,
            threads=plan.threads,
            cpus=plan.cpus,
            seed=plan.seed,
            spin_s=spin_s,
        )

    def start(self, window: WindowPlan, on_edge: Edge) -> LoadHandle:
        """Begin to load it."""
        return start_load(
            self.workload,
            [self.address],
            [window],
            threads=self.threads,
            cpus=self.cpus,
            seed=self.seed,
            spin_s=self.spin_s,
            on_edge=on_edge,
        )


def seen_under(
    load: MoreLoad,
    root_pids: Sequence[int],
    stretches_s: Sequence[float],
    is_over: Callable[[], bool],
    say: Callable[[str], None],
) -> Look | None:
    """Return what was seen of a server, for longer where that is to be; None at an end before.

    Args:
        load: What it is loaded with.
        root_pids: The processes whose trees it is.
        stretches_s: How long each look takes; the second only where the first was too short.
        is_over: Whether an end is asked for.
        say: Told of each stretch before it begins.
    """
    look = None
    for load_s in stretches_s:
        more = format_duration(load_s)
        say(f"{more} more of the same load, in no figure, to look at the server meanwhile")
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=load_s)
        found = looks_in(
            [Profiler(root_pids)],
            [window],
            partial(load.start, window),
            [load.workload],
            is_over,
        )
        look = found.get(0)
        if look is None or is_over():
            return None
        if not wants_longer(look):
            break
    return look


def doubt_of(look: Look, address: str, stretches_s: Sequence[float]) -> str:
    """Return why nothing is to be said of who answered; empty where nothing speaks against it."""
    # A container's port is forwarded by the kernel, while a proxy of it listens there too.
    if not (look.cpu_s or look.connections or address.startswith(UNIX)):
        return f"who listens at `{address}` was idle, so somebody else answers for it"
    if wants_longer(look) and len(stretches_s) < len(STRETCHES_S):
        seconds = format_duration(look.seconds)
        return f"its workers come and go, or are so many, that {seconds} say nothing"
    return ""
