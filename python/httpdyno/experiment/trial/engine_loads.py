"""The engine's loads of the arms of some starts: one for all of them, or one for each window."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from httpdyno.experiment.trial.bench import start_seed
from httpdyno.load.engine import Edge, LoadHandle, LoadsInTurn, RunningLoad, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import SPIN_S, suited_threads
from httpdyno.model import Measurement, Workload
from httpdyno.reason import Reason, because


def said(words: str) -> tuple[Reason, ...]:
    """Return what a server or a program says in its own words; nothing of no words."""
    return (because("experiment.said", words=words),) if words else ()


class Place(NamedTuple):
    """One server of several starts."""

    start: int
    """Which of the requests."""
    arm: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmLoads:
    """Starts loads on servers that are up."""

    workloads: Sequence[Workload]
    """What each arm is asked; (n_arms,)."""
    addresses: Mapping[Place, str]
    networks: Mapping[Place, str]
    cpus: Sequence[int]
    seed: tuple[int, int, int]
    """The plan's seed, the comparison, the first start."""

    def start(
        self, up: Sequence[Place], plan: Sequence[WindowPlan], part: int, on_edge: Edge | None
    ) -> RunningLoad:
        """Start windows on places; of different workloads each is a load of its own.

        Args:
            up: The places, by the number that windows have for them.
            plan: The windows.
            part: Of the start, by which it draws.
            on_edge: Called at the edges, with the number of the window.
        """
        loads = [self.workloads[place.arm] for place in up]
        if all(load == loads[0] for load in loads):
            return self.engine_load(up, plan, (part,), on_edge, loads[0])

        def start_one(number: int) -> LoadHandle:
            window = plan[number]
            edge = None if on_edge is None else partial(_of_window, on_edge, number)
            place, alone = up[window.arm], replace(window, arm=0)
            return self.engine_load([place], [alone], (part, number), edge, loads[window.arm])

        starts = [partial(start_one, number) for number in range(len(plan))]
        return LoadsInTurn(starts, [window.arm for window in plan])

    def engine_load(
        self,
        up: Sequence[Place],
        plan: Sequence[WindowPlan],
        parts: tuple[int, ...],
        on_edge: Edge | None,
        workload: Workload,
    ) -> LoadHandle:
        """Start windows of one workload on places."""
        shares = bool(self.cpus) and workload.is_open_loop
        return start_load(
            workload,
            [self.addresses[place] for place in up],
            plan,
            # Never two on one core while others are free.
            threads=len(self.cpus) or suited_threads(workload),
            cpus=self.cpus,
            seed=start_seed(*self.seed, *parts),
            # Only the arms of a start draw alike.
            streams=[place.start for place in up],
            networks=[self.networks.get(place, "") for place in up],
            spin_s=SPIN_S if shares else 0.0,
            on_edge=on_edge,
        )


def _of_window(on_edge: Edge, number: int, _window: int, is_opening: bool) -> None:
    on_edge(number, is_opening)


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """An arm that gave no right answer in a whole window: its silence would eat the budget."""

    place: Place
    measurement: Measurement


@contextmanager
def stopped_on_error(handle: RunningLoad) -> Iterator[None]:
    """Stop a load where whoever waits for it cannot go on."""
    try:
        yield
    except BaseException:
        handle.stop()
        handle.wait(math.inf)
        raise
