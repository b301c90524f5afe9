"""Workers that are looked at while the engine loads their server, and what their ends cost."""

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.advice.curve import ConfiguredLife, Growth, HighWater, LifeRow, configured_lives
from httpdyno.advice.curve_fit import Life, growth, life_table
from httpdyno.advice.formula import formulas
from httpdyno.advice.formula.evaluate import work_out
from httpdyno.errors import EngineError, TargetError, UsageError
from httpdyno.experiment.trial.look import WindowLooks
from httpdyno.host.interruption import interruptions
from httpdyno.inspection.behind import MachineNow, behind_now
from httpdyno.inspection.server import (
    DEFAULT_CONNECTIONS,
    DEFAULT_DURATION,
    LoadAsked,
    meant_server,
    with_server,
)
from httpdyno.inspection.status import worker_status
from httpdyno.load.engine import LoadHandle, start_load
from httpdyno.load.message import WindowPlan
from httpdyno.load.plan import LoadPlan, load_plan, suited_threads
from httpdyno.load.requests import RequestWords, requests_from
from httpdyno.load.target import parse_url
from httpdyno.model import Closed, HistogramData, LiveLoad, Respawn, Sweep, TlsSpec, Workload
from httpdyno.reason import Reason, because
from httpdyno.report.inspect.loaded import Loaded, Times
from httpdyno.report.inspect.page import Page
from httpdyno.report.load.verdict import verdict_line
from httpdyno.report.shared import message
from httpdyno.servers.discover.error_log import error_logs
from httpdyno.servers.discover.source import run_named
from httpdyno.servers.network.probe import Patience, ask
from httpdyno.stats.histogram import can_show, quantile_s
from httpdyno.store import Store
from httpdyno.telemetry.log import LogTail
from httpdyno.telemetry.observed import (
    EVERY_S,
    FIRST_EVERY_S,
    FIRST_S,
    LoadedPool,
    Observed,
    UnderLoad,
    observed,
)
from httpdyno.telemetry.pool import MemoryBound, pool
from httpdyno.telemetry.profile.profiler import Profiler
from httpdyno.telemetry.worker import WorkerSampler
from httpdyno.units import duration_s

_PATIENCE_S = 10.0
_STATUS_EVERY_S = 1.0
_MOST_BYTES = 1 << 22
_N_ALONE = 12
"""Requests of each URL alone, for each worker: who answers is chance, and all should be met."""
_STOP_PATIENCE_S = 5.0
_HOPELESS_S, _HOPELESS = 3.0, 10
"""So many wrong answers by then for each request under way, and not one that is right: the rest of
the load would say no more."""


class Shown(Protocol):
    """Shows how far a load is."""

    def show(self, snapshot: LiveLoad | None) -> None: ...  # noqa: D102


ShownBy = Callable[[Reason, float], AbstractContextManager[Shown]]


def loaded(  # noqa: PLR0913 - a page, a load, and who is told of both
    page: Page,
    machine: MachineNow,
    asked: LoadAsked,
    shown_by: ShownBy,
    *,
    tell: Callable[[Reason], None],
    is_named: bool,
) -> Page:
    """Return the page with the one server that was meant as it is under load, and after it."""
    meant, root = meant_server(page, "--load", is_named=is_named)
    seen = meant.seen
    loaded, after = looked_under_load(
        asked,
        root.pid,
        shown_by,
        tell=tell,
        configured=configured_lives(seen.survey),
        logs=error_logs([seen]),
    )
    asked_for = loaded.look.backends if loaded.look else ()
    loaded = replace(loaded, behind=behind_now([root.pid], machine, tell, asked_for))
    now = replace(meant, loaded=loaded, observed=after or meant.observed, is_named=True)
    return with_server(page, meant, now)


def looked_under_load(  # noqa: PLR0913 - a load, a server, and who is told of both
    asked: LoadAsked,
    root_pid: int,
    shown_by: ShownBy,
    *,
    tell: Callable[[Reason], None],
    configured: Sequence[ConfiguredLife] = (),
    logs: Sequence[Path] = (),
) -> tuple[Loaded, Observed | None]:
    """Load the URLs and look at the server's processes meanwhile; return both, it as it is after.

    Args:
        asked: What was asked for.
        root_pid: The process that the server began as.
        shown_by: Shows the load, of which it gets a sentence and how long it takes.
        tell: Takes a line of what is done before the load.
        configured: How long its settings let a worker live.
        logs: Files that it writes its errors to.

    Raises:
        UsageError: Something makes no sense.
        TargetError: Nobody answers.
        EngineError: The engine failed.
    """
    plan = _plan(asked)
    cost = respawn_cost(asked.respawn)
    told = worker_status(asked.status) if asked.status else None
    tail = LogTail(logs)
    # Before the engine runs: whoever asks for an end is heard at once.
    steps = _alone(plan, asked.urls, root_pid, tell) if len(asked.urls) > 1 else ()
    looks = LoadedPool([root_pid])
    onlooker = WindowLooks([Profiler([root_pid])], [plan.window])
    what = because("inspection.loads", urls=asked.urls, measure_s=plan.window.measure_s)
    with interruptions() as asked_to_end, shown_by(what, plan.window.measure_s) as progress:
        looks.look(0, told() if told else None)
        handle = start_load(
            plan.workload,
            [plan.address],
            [plan.window],
            threads=plan.threads,
            seed=plan.seed,
            on_edge=onlooker.on_edge,
        )
        try:
            has_ended_early = _look_on(handle, looks, told, progress, asked_to_end)
        finally:
            handle.stop()
            handle.wait(_STOP_PATIENCE_S)
            onlooker.end_all()
    if asked_to_end:
        raise KeyboardInterrupt
    measurements = handle.measurements()
    if not measurements:
        raise EngineError(f"the engine did not stop within {_STOP_PATIENCE_S:g} s")
    [measured] = measurements
    if measured.completed == 0 or has_ended_early:
        raise TargetError(
            f"`{plan.target.url}`: {verdict_line(measured, plan.workload)}",
            hint="`httpdyno load` says more of what it answers",
        )
    served = told() if told else None
    looks.look(measured.completed + measured.n_errors, served, is_whole=True)
    after = observed(root_pid)
    seen, look = looks.seen(), onlooker.of(0, measured, plan.workload)
    found = growth(_lives(seen))
    bound = after.bound if after else None
    return Loaded(
        urls=tuple(asked.urls),
        seconds=plan.window.measure_s,
        connections=plan.workload.connections,
        n_completed=measured.completed,
        n_errors=measured.n_errors,
        seen=seen,
        growth=found,
        latency=_times(measured.latency),
        service_time=_times(measured.service_time),
        logs=tuple(str(path) for path in logs),
        log=tail.lines(),
        high_water=steps,
        lives=_table(found, bound, seen, cost, configured) if bound else (),
        respawn=cost,
        configured=tuple(configured),
        served=served or {},
        room_bytes=bound.available_bytes - bound.reserve_bytes if bound else 0,
        reserve_bytes=bound.reserve_bytes if bound else 0,
        look=look,
        bottleneck=None if look is None else bottleneck(look),
    ), after


def _plan(asked: LoadAsked) -> LoadPlan:
    targets = [parse_url(url) for url in asked.urls]
    found = requests_from(list(asked.urls), RequestWords())
    workload = Workload(
        requests=found.specs,
        steps=found.steps,
        arrival=Closed(),
        connections=asked.connections or DEFAULT_CONNECTIONS,
        timeout_s=_PATIENCE_S,
        tls=TlsSpec(server_name=targets[0].host) if targets[0].is_tls else None,
    )
    window = WindowPlan(
        arm=0, lead_in_s=0.0, measure_s=duration_s(asked.duration or DEFAULT_DURATION, "-d")
    )
    return load_plan(
        found.target,
        workload,
        window,
        seed=int.from_bytes(os.urandom(4)),
        threads=suited_threads(workload),
    )


def _look_on(
    handle: LoadHandle,
    looks: LoadedPool,
    told: Callable[[], Mapping[int, int] | None] | None,
    progress: Shown,
    asked_to_end: list[int],
) -> bool:
    """Look until the load has ended; return whether it is to end before its time.

    It is where that is asked for, and where no answer is right.
    """
    began_s = asked_at_s = time.monotonic()
    # Most is unshared by the first requests: looked at each quarter second it would be over.
    while not handle.wait(FIRST_EVERY_S if time.monotonic() - began_s < FIRST_S else EVERY_S):
        if asked_to_end:
            return True
        live = handle.live()
        if live is None:
            continue
        by_pid = None
        if told is not None and time.monotonic() - asked_at_s >= _STATUS_EVERY_S:
            asked_at_s = time.monotonic()
            by_pid = told()
        looks.look(live.completed + live.errors, by_pid)
        progress.show(live)
        is_late = time.monotonic() - began_s >= _HOPELESS_S
        if is_late and not live.completed and live.errors >= _HOPELESS * live.in_flight:
            return True
    return False


def _alone(
    plan: LoadPlan, urls: Sequence[str], root_pid: int, tell: Callable[[Reason], None]
) -> tuple[HighWater, ...]:
    """Ask for one URL after the other, and return what each left in the workers."""
    found, before = [], _own_bytes(root_pid)
    for url, request in zip(urls, plan.workload.requests, strict=True):
        n = _N_ALONE * max(1, before[0])
        tell(because("inspection.asks_alone", url=url, n=n))
        for _ in range(n):
            answer = ask(
                plan.address,
                request.path,
                Patience(_PATIENCE_S),
                body_patience=Patience(_PATIENCE_S),
                most_bytes=_MOST_BYTES,
                host=plan.target.authority,
                is_tls=plan.target.is_tls,
            )
            if not answer.status:
                raise TargetError(f"`{url}`", why=[answer.why] if answer.why else ())
        after = _own_bytes(root_pid)
        found.append(HighWater(url=url, n_requests=n, before_bytes=before[1], after_bytes=after[1]))
        before = after
    return tuple(found)


def _own_bytes(root_pid: int) -> tuple[int, int]:
    """Return how many workers there are, and what is their own together."""
    together = pool(WorkerSampler([root_pid]).read())
    if together.uss_bytes is None:
        raise UsageError("the memory of its processes may not be seen", hint="`sudo` shows it")
    return together.n_workers, together.uss_bytes


def _times(taken: HistogramData) -> Times:
    p50_s, p99_s = (quantile_s(taken, q) if can_show(taken, q) else None for q in (0.5, 0.99))
    return Times(p50_s=p50_s, p99_s=p99_s)


def _lives(seen: UnderLoad) -> list[Life]:
    return [
        Life(
            n_requests=[each.n_requests for each in readings],
            private_bytes=[each.uss_bytes for each in readings],
            resident_bytes=[each.rss_bytes for each in readings],
        )
        for readings in seen.of_workers().values()
    ]


def _table(
    found: Growth,
    bound: MemoryBound,
    seen: UnderLoad,
    cost: Respawn | None,
    configured: Sequence[ConfiguredLife] = (),
) -> tuple[LifeRow, ...]:
    if found.curve is None:
        return ()
    # The curve is that of the mean; the largest worker decides what fits.
    ends = [(each[0], each[-1]) for each in seen.of_workers().values()]
    # A status page counts from a worker's beginning, the curve from when it was first seen.
    beyond = max(
        (
            last.uss_bytes - found.curve.at(last.n_requests - first.n_requests)
            for first, last in ends
        ),
        default=0.0,
    )
    return life_table(
        room_bytes=bound.available_bytes - bound.reserve_bytes,
        # The parent is one more process that the kernel keeps something for.
        once_bytes=bound.once_bytes + bound.kernel_bytes,
        curve=found.curve,
        cost=cost,
        beyond_bytes=max(0.0, beyond) + bound.kernel_bytes,
        configured=configured,
    )


def respawn_cost(words: Sequence[str]) -> Respawn | None:
    """Return what respawning costs; None where nothing was said, or the rates tell none.

    Args:
        words: `N=RATE` as `httpdyno formula respawn` takes them, or `run:ID` of a stored sweep
            over the lives of workers.

    Raises:
        UsageError: They make no sense, or that run measured no such cost.
        StoreError: There is no such run.
    """
    if not words:
        return None
    run_id = run_named(words)
    if run_id is not None:
        return _stored(run_id)
    try:
        worked = work_out(formulas()["respawn"], {"seen": list(words)})
    except UsageError as error:
        text = str(error).replace("--seen", "--respawn")
        raise UsageError(text, hint=error.hint.replace("--seen", "--respawn")) from error
    figures = {each.name: each.value for each in worked.figures}
    if not math.isfinite(figures["spawn"]):
        return None
    return Respawn(serve_s=figures["serve"], spawn_s=figures["spawn"])


def _stored(run_id: str) -> Respawn:
    with Store.open() as store:
        # A load or a pair of turns has no outcome of a study.
        is_of_study = store.command(run_id) not in {"load", "turns"}
        outcome = store.outcome(run_id) if is_of_study else None
    if outcome is None or outcome.sweep is None:
        raise _no_cost_of(f"run {run_id} is no sweep with a result")
    return _of(outcome.sweep, run_id)


def _no_cost_of(run: str) -> UsageError:
    return UsageError(
        run,
        hint="name a run that swept how many requests a worker serves, such as one of `httpdyno "
        "study run respawn`, or give rates: `--respawn 20=8.9,5000=28`",
    )


def _of(sweep: Sweep, run_id: str) -> Respawn:
    pool = sweep.pool
    if pool is not None and pool.births is not None:
        return pool.births
    why = f": {message.text(pool.reason)}" if pool is not None and pool.reason else ""
    raise _no_cost_of(
        f"run {run_id} swept `{sweep.knob}`, which shows no cost of replacing workers{why}"
    )
