"""What a server has less of while somebody looks at it, and after somebody did: A/A of windows.

One server, one load. Windows come in pairs, one that is looked at and one that is not, in an order
that is drawn for each pair; several pairs make a batch, and a batch gives one ratio of each figure.
Nothing is in flight at a window's edges, where the watcher is told what holds and the server's CPU
time is read. Whether it is to look or to rest, the watcher is woken as often.
"""

import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benches.eyes.server import Running
from benches.eyes.watcher import Child

from httpdyno.errors import HttpdynoError
from httpdyno.experiment.trial.look import LOOK_S, WindowLooks
from httpdyno.load.engine import Edge, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import CorePlan
from httpdyno.model import Measurement, RequestSpec, Workload
from httpdyno.servers.run.live_process import child_pids
from httpdyno.telemetry.account import ProcessTree
from httpdyno.telemetry.profile.profiler import Profiler

_PATH = "/index.html"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How a batch is loaded."""

    n_pairs: int
    window_s: float
    connections: int
    cores: CorePlan
    before_s: float = LOOK_S
    """Of load before a window, in which an onlooker may look."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """What came of one."""

    measured: Measurement
    cpu_s: float
    """Of the server."""


@dataclass(frozen=True, kw_only=True)
class Logs:
    """Logarithms of windows that were looked at over those that were not."""

    throughput: float
    cost: float
    """CPU time per request."""


def put_apart(server: Running, cores: CorePlan) -> None:
    """Keep the server on cores that the load is not on, where it is to have some."""
    for pid in (server.pid, *child_pids(server.pid)) if cores.server else ():
        os.sched_setaffinity(pid, cores.server)


def watched(server: Running, watcher: Child, shape: Shape, draw: random.Random) -> Logs:
    """Return the ratios of a batch in which a watcher looks while windows are measured."""
    looks = drawn(shape.n_pairs, draw)
    plan = [_window(shape.window_s) for _ in looks]

    def on_edge(window: int, is_opening: bool) -> None:
        watcher.tell(looks=looks[window] and is_opening)

    return logs_of(_loaded(server, shape, plan, on_edge), looks)


def looked_before(server: Running, shape: Shape, draw: random.Random) -> Logs:
    """Return the ratios of a batch in which an onlooker looked right before windows."""
    looks = drawn(shape.n_pairs, draw)
    plan = [_window(seconds) for _ in looks for seconds in (shape.before_s, shape.window_s)]
    onlookers = [each for one in looks for each in (Profiler([server.pid]) if one else None, None)]
    watch = WindowLooks(onlookers, plan)
    try:
        seen = _loaded(server, shape, plan, watch.on_edge)
    finally:
        watch.end_all()
    return logs_of(seen[1::2], looks)


def drawn(n_pairs: int, draw: random.Random) -> list[bool]:
    """Return which windows are looked at: the first is not and does not count, then come pairs."""
    return [False, *(each for _ in range(n_pairs) for each in draw.sample((True, False), 2))]


def logs_of(windows: Sequence[Window], looks: Sequence[bool]) -> Logs:
    """Return the ratios of totals, without the first window: in that connections are made."""
    on, off = (
        [each for each, one in list(zip(windows, looks, strict=True))[1:] if one is kind]
        for kind in (True, False)
    )
    return Logs(
        throughput=math.log(_per_s(on) / _per_s(off)), cost=math.log(_cost_s(on) / _cost_s(off))
    )


def _per_s(windows: Sequence[Window]) -> float:
    right = sum(each.measured.measured_right for each in windows)
    return right / sum(each.measured.measured_s for each in windows)


def _cost_s(windows: Sequence[Window]) -> float:
    return sum(each.cpu_s for each in windows) / sum(each.measured.completed for each in windows)


def _window(seconds: float) -> WindowPlan:
    return WindowPlan(arm=0, lead_in_s=0.0, measure_s=seconds)


def _loaded(
    server: Running, shape: Shape, plan: Sequence[WindowPlan], beside: Callable[[int, bool], None]
) -> list[Window]:
    """Load the server; `beside` is called at each edge, outside of what is measured."""
    tree, used_s = ProcessTree(server.pid), [0.0] * len(plan)

    def on_edge(window: int, is_opening: bool) -> None:
        if is_opening:
            beside(window, True)
            used_s[window] -= tree.read().cpu_s
        else:
            used_s[window] += tree.read().cpu_s
            beside(window, False)

    seen = _measured(server, shape, plan, on_edge)
    if errors := [each.errors for each in seen if each.errors]:
        raise HttpdynoError(f"not all answers are right: {errors[0]}")
    return [Window(measured=each, cpu_s=used) for each, used in zip(seen, used_s, strict=True)]


def _measured(
    server: Running, shape: Shape, plan: Sequence[WindowPlan], on_edge: Edge
) -> list[Measurement]:
    handle = start_load(
        Workload(requests=(RequestSpec(path=_PATH),), connections=shape.connections),
        [f"127.0.0.1:{server.port}"],
        plan,
        cpus=shape.cores.client,
        on_edge=on_edge,
    )
    try:
        handle.wait()
    finally:
        handle.stop()
        handle.wait()
    return handle.measurements()
