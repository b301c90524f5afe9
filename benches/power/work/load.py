"""Load in one of the ways: windows in turn, or of both arms at the same time."""

import math
import os
import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace

from benches.power.work.known_work import Took, between, known_work
from benches.power.work.record import Window
from benches.power.work.servers import Accounts, Server
from benches.power.work.way import CONNECTIONS_OPEN, Way
from msgspec import structs

from httpdyno.experiment.trial.cycles import LEAD_IN, LEAST_TAIL_S, SPREAD
from httpdyno.load.engine import Edge, LoadHandle, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import SPIN_S
from httpdyno.model import Constant, HistogramData, Measurement, Poisson, Workload
from httpdyno.stats.histogram import quantile_s

WINDOW_S = 0.05
LEAD_IN_S = 0.02
"""As studies have them who do not ask for others."""
BLOCKS = 5
"""Of windows in turn in each part of a start; of windows at the same time there are twice as many,
which takes as long."""
_MEET_S = 30.0
"""For two runs to meet at a window's edge, on a machine that is very busy."""


class Cores:
    """The two cores that are used: the servers' and the client's, where they are apart."""

    def __init__(self) -> None:
        self.all = tuple(sorted(os.sched_getaffinity(0)))
        self.server, self.client = self.all[0], self.all[-1]

    def of_servers(self, way: Way, *, is_swapped: bool) -> tuple[Collection[int], Collection[int]]:
        """Return each arm's; on cores of their own the arms swap from part to part."""
        if way.where in {"free", "client"}:
            return self.all, self.all
        if way.where == "apart":
            return {self.server}, {self.server}
        split = ({self.server}, {self.client})
        return (split[1], split[0]) if is_swapped else split

    def of_clients(self, way: Way, *, is_swapped: bool) -> tuple[Collection[int], Collection[int]]:
        """Return where each arm is loaded from; empty is anywhere."""
        if way.where == "free":
            return (), ()
        if way.where in {"client", "apart"}:
            return {self.client}, {self.client}
        return self.of_servers(way, is_swapped=not is_swapped)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What is to be loaded, and how."""

    way: Way
    workload: Workload
    """Of the study; the way says when requests are due."""
    cost_s: float
    """CPU seconds of a request of the slower arm."""
    cores: Cores
    draw: random.Random
    is_swapped: bool = False

    @property
    def offered(self) -> Workload:
        """The workload of each arm."""
        rate_per_s = self.way.rate_per_s(self.cost_s)
        if self.way.kind == "closed":
            return self.workload
        arrival = (Constant if self.way.kind == "constant" else Poisson)(rate_per_s=rate_per_s)
        return structs.replace(self.workload, arrival=arrival, connections=CONNECTIONS_OPEN)

    def window(self, arm: int) -> WindowPlan:
        """Return a window on an arm; in a closed loop long enough ahead for its cycles."""
        if self.way.kind != "closed":
            return WindowPlan(arm=arm, lead_in_s=LEAD_IN_S, measure_s=WINDOW_S)
        # Two arms on one core take turns with it, so that a cycle is twice as long.
        cycle_s = self.workload.connections * self.cost_s * (2 if self.way.is_together else 1)
        return WindowPlan(
            arm=arm,
            lead_in_s=max(LEAD_IN_S, LEAD_IN * cycle_s),
            measure_s=WINDOW_S,
            spread_s=SPREAD * cycle_s,
            tail_s=LEAST_TAIL_S,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """What became of a job."""

    windows: list[Window]
    latencies: list[tuple[int, HistogramData]]
    """The arm and the latencies of each window; (n_windows,)."""


@dataclass(kw_only=True)
class _Edges:
    """Reads the counters at the edges of a run's windows, and works in between."""

    servers: Sequence[Server]
    """Of each window; (n_windows,)."""
    works: bool
    work_on: Collection[int] = ()
    meet: Callable[[int], None] = lambda _window: None
    """Called before a window opens."""
    opened: list[Accounts] = field(default_factory=list)
    closed: list[Accounts] = field(default_factory=list)
    work: list[Took] = field(default_factory=list)
    """Before each window, and after the last."""

    def on_edge(self, window: int, is_opening: bool) -> None:
        """Take note of them."""
        if is_opening:
            self._work()
            self.opened.append(self.servers[window].accounts())
            self.meet(window)
            return
        self.closed.append(self.servers[window].accounts())
        if window == len(self.servers) - 1:
            self._work()

    def _work(self) -> None:
        self.work.append(known_work(self.work_on) if self.works else Took(0.0, 0.0))

    def window(self, index: int, block: int, arm: int, seen: Measurement) -> Window:
        """Return a window's record."""
        began, ended = self.opened[index], self.closed[index]
        server_cpu_s = ended.server_cpu_s - began.server_cpu_s
        own_cpu_s = ended.own_cpu_s - began.own_cpu_s
        work = between(self.work[index], self.work[index + 1])
        p50_s = quantile_s(seen.latency, 1 / 2)
        return Window(
            arm=arm,
            block=block,
            n_offered=seen.offered,
            n_right=seen.completed,
            right=seen.measured_right,
            measured_s=seen.measured_s,
            total_s=seen.total_s,
            cpu_s=server_cpu_s,
            p50_s=p50_s if math.isfinite(p50_s) else 0.0,
            client_cpu_s=seen.client_cpu_s,
            work_cpu_s=work.cpu_s,
            work_wall_s=work.wall_s,
            others_s=ended.busy_s - began.busy_s - server_cpu_s - own_cpu_s,
            steal_s=ended.steal_s - began.steal_s,
            wait_s=ended.wait_s - began.wait_s,
        )


def loaded(job: Job, servers: Sequence[Server]) -> Loaded:
    """Load both arms in the way of the job; the first window of each arm does not count."""
    placed = job.cores.of_servers(job.way, is_swapped=job.is_swapped)
    for server, cpus in zip(servers, placed, strict=True):
        server.keep_on(cpus)
    return _together(job, servers) if job.way.is_together else _in_turn(job, servers)


def alone(job: Job, server: Server, units: int) -> Loaded:
    """Load one server, which is asked for so much work; the first window does not count."""
    server.keep_on(job.cores.of_servers(job.way, is_swapped=False)[0])
    n = BLOCKS + 1
    edges = _Edges(servers=[server] * n, works=False)
    job = replace(job, workload=_asking_for(job.workload, units))
    with _run(job, [server.address], [job.window(0)] * n, 0, edges.on_edge) as handle:
        handle.wait(math.inf)
        seen = handle.measurements()
    return Loaded(
        windows=[edges.window(index, index - 1, 0, seen[index]) for index in range(1, n)],
        latencies=[(0, each.latency) for each in seen[1:]],
    )


def _asking_for(workload: Workload, units: int) -> Workload:
    requests = [structs.replace(each, path=f"/?{units}") for each in workload.requests]
    return structs.replace(workload, requests=tuple(requests))


def turn_order(n_blocks: int, draw: random.Random) -> list[int]:
    """Return the arm of each window: one of each that does not count, then the blocks.

    AB BA, from a random side: each two blocks are balanced against a drift.
    """
    arms = [0, 1]
    for block in range(n_blocks):
        arms += arms[:-3:-1] if block % 2 else draw.sample((0, 1), 2)
    return arms


def _in_turn(job: Job, servers: Sequence[Server]) -> Loaded:
    arms = turn_order(BLOCKS, job.draw)
    placed = job.cores.of_servers(job.way, is_swapped=job.is_swapped)[0]
    edges = _Edges(
        servers=[servers[arm] for arm in arms],
        works=True,
        work_on=placed if job.way.where == "apart" else (),
    )
    plan = [job.window(arm) for arm in arms]
    with _run(job, [each.address for each in servers], plan, 0, edges.on_edge) as handle:
        handle.wait(math.inf)
        seen = handle.measurements()
    kept = range(2, len(arms))
    return Loaded(
        windows=[edges.window(n, n // 2 - 1, arms[n], seen[n]) for n in kept],
        latencies=[(arms[n], seen[n].latency) for n in kept],
    )


def _together(job: Job, servers: Sequence[Server]) -> Loaded:
    n = 2 * BLOCKS + 1
    first = [job.draw.randrange(2) for _ in range(n)]
    # Due at the same instants, one arm would always wait for the other.
    half_gap_s = 0.5 / job.way.rate_per_s(job.cost_s) if job.way.kind == "constant" else 0.0
    door = threading.Barrier(2)

    def meet(arm: int) -> Callable[[int], None]:
        def wait(window: int) -> None:
            door.wait(_MEET_S)
            if arm != first[window]:
                time.sleep(half_gap_s)

        return wait

    plan = [job.window(0)] * n
    edges = [
        _Edges(servers=[each] * n, works=False, meet=meet(arm)) for arm, each in enumerate(servers)
    ]
    with ExitStack() as stack:
        handles: list[LoadHandle] = []
        try:
            for arm, each in enumerate(servers):
                run = _run(job, [each.address], plan, arm, edges[arm].on_edge)
                handles.append(stack.enter_context(run))
            for handle in handles:
                handle.wait(math.inf)
        except BaseException:
            # Who waits for a run that does not come is let go before it is waited for.
            door.abort()
            raise
    windows, latencies = [], []
    for arm, handle in enumerate(handles):
        for index, seen in enumerate(handle.measurements()[1:], start=1):
            windows.append(edges[arm].window(index, index - 1, arm, seen))
            latencies.append((arm, seen.latency))
    return Loaded(windows=windows, latencies=latencies)


@contextmanager
def _run(
    job: Job, addresses: Sequence[str], plan: Sequence[WindowPlan], client: int, on_edge: Edge
) -> Iterator[LoadHandle]:
    """Start a run of the engine; on an error end it."""
    cpus = tuple(job.cores.of_clients(job.way, is_swapped=job.is_swapped)[client])
    handle = start_load(
        job.offered,
        addresses,
        plan,
        cpus=cpus,
        seed=job.draw.randrange(1 << 48),
        spin_s=SPIN_S if job.way.where == "apart" and job.way.kind != "closed" else 0.0,
        on_edge=on_edge,
    )
    try:
        yield handle
    except BaseException:
        handle.stop()
        with suppress(threading.BrokenBarrierError):
            handle.wait(math.inf)
        raise
