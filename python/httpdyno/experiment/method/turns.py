"""Running servers that were loaded in turns, looked at one by one when all turns are done.

Servers that run already, loaded in turns over connections that stand the whole time.

They are neither started nor ended here, and nothing of them is changed. A pilot shows how long
their cycles are; then each has a turn in every period, so that what else happens hits all.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from msgspec import structs

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.errors import TargetError, UsageError
from httpdyno.experiment.decide.evidence import arm_summary
from httpdyno.experiment.decide.turns_claim import (
    FEWEST_PERIODS,
    FEWEST_TO_CHECK,
    periods_of,
    turns_claim,
)
from httpdyno.experiment.decide.warning import warnings_of, window_warnings
from httpdyno.experiment.trial.bench import block_order
from httpdyno.experiment.trial.budget import time_to_type
from httpdyno.experiment.trial.cycles import (
    PILOT_TAIL_S,
    CycleMoments,
    WindowChoice,
    choose_windows,
)
from httpdyno.experiment.trial.look import MoreLoad, doubt_of, seen_under, stretches_within_s
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import (
    Configuration,
    HostFacts,
    Instance,
    Measurement,
    Objective,
    ResultWarning,
    StartRecord,
    TrialStatus,
    TurnsOutcome,
    WindowRecord,
    Workload,
)
from httpdyno.reason import Reason, because
from httpdyno.telemetry.account import account_found
from httpdyno.telemetry.collector import Collector, WindowTelemetry, server_collectors
from httpdyno.units import format_duration

PILOT_RATIO = 0.05
"""Of the time: each instance is loaded once before anything is counted, together for so long."""
PILOT_S = (0.2, 2.0)
"""Of one instance, at least and at most."""
MOST_PERIODS = 120
WANTED_PERIODS = 60
LEAD_IN_S = 0.05
LEAST_TURN_S = 0.05
_POLL_S = 0.05
_PATIENCE_S = 5.0
_TAIL_REQUESTS = 5
"""So many requests of a turn are to lie beyond the percentile that decides."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """One of the servers that run."""

    url: str
    address: str
    root_pid: int = 0
    """Of the process that listens there; 0 where that is not known."""
    process: str = ""
    beside: tuple[str, ...] = ()
    """Processes of its unit that are not below that one, by name and pid."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnsPlan:
    """All that is decided before the first request."""

    servers: tuple[Server, ...]
    """At least two; the first one is the reference."""
    workload: Workload
    duration_s: float
    seed: int
    threads: int
    host: HostFacts
    cpus: tuple[int, ...] = ()
    confidence: float = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnDone:
    """How far it is, after a turn."""

    n_turns: int
    of_turns: int
    n_instances: int


@dataclass(kw_only=True)
class _Run:
    """One run under way."""

    plan: TurnsPlan
    watch: Callable[[TurnDone], None]
    asked_to_end: Callable[[], bool]
    records: list[WindowRecord] = field(default_factory=list)


def objective_of(plan: TurnsPlan) -> Objective:
    """Return what decides, known before there are data.

    A closed loop's throughput; of an open loop, whose rate is given, the highest latency percentile
    that a turn holds enough requests for.
    """
    if not plan.workload.is_open_loop:
        return Objective(metric="throughput_per_s", confidence=plan.confidence)
    rate_per_s = getattr(plan.workload.arrival, "rate_per_s", 0.0)
    n = rate_per_s * _open_turn_s(plan)
    for metric, beyond in (("latency_p99_s", 0.01), ("latency_p90_s", 0.1)):
        if n * beyond >= _TAIL_REQUESTS:
            return Objective(metric=metric, confidence=plan.confidence)
    return Objective(metric="latency_p50_s", confidence=plan.confidence)


def run_turns(
    plan: TurnsPlan, watch: Callable[[TurnDone], None], asked_to_end: Callable[[], bool]
) -> TurnsOutcome:
    """Load the servers in turns; return what came out, also when an end was asked for.

    Args:
        plan: What is done.
        watch: Told after every turn.
        asked_to_end: Whether somebody wants it to end now; what is whole by then counts.

    Raises:
        TargetError: A server gives no right answer at all.
        UsageError: The time does not hold the fewest periods.
        EngineError: The engine failed.
    """
    began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
    began_s = time.monotonic()
    run = _Run(plan=plan, watch=watch, asked_to_end=asked_to_end)
    moments = _pilot(run)
    choice = _choice(plan, moments, plan.duration_s - (time.monotonic() - began_s))
    if not asked_to_end():
        _play(run, choice)
    n = len(plan.servers)
    periods = periods_of(run.records, n)
    objective = objective_of(plan)
    # Bonferroni: each candidate's claim may err with its share of the risk.
    confidence = 1 - (1 - plan.confidence) / (n - 1)
    claims = tuple(
        turns_claim(
            periods,
            candidate,
            objective=objective,
            workload=plan.workload,
            confidence=confidence,
        )
        for candidate in range(1, n)
    )
    return TurnsOutcome(
        instances=tuple(
            Instance(
                url=server.url,
                address=server.address,
                summary=arm_summary(periods, arm, Configuration()),
                process=server.process,
            )
            for arm, server in enumerate(plan.servers)
        ),
        claims=claims,
        metric=objective.metric,
        confidence=plan.confidence,
        margin_ratio=objective.margin_ratio,
        workload=plan.workload,
        host=plan.host,
        began_at=began_at,
        duration_s=time.monotonic() - began_s,
        n_periods=len(periods),
        turn_s=choice.measure_s,
        seed=plan.seed,
        threads=plan.threads,
        warnings=_warnings(plan, periods),
        is_interrupted=asked_to_end(),
    )


def _pilot(run: _Run) -> list[CycleMoments]:
    """Load each server once; return what is seen of its cycles."""
    plan = run.plan
    n = len(plan.servers)
    each_s = min(max(PILOT_S[0], plan.duration_s * PILOT_RATIO / n), PILOT_S[1])
    tail_s = 0.0 if plan.workload.is_open_loop else min(PILOT_TAIL_S, plan.workload.timeout_s)
    windows = [
        WindowPlan(arm=arm, lead_in_s=0.0, measure_s=each_s, tail_s=tail_s) for arm in range(n)
    ]
    seen: list[Measurement] = []
    _follow(run, windows, 0, None, lambda _, measurement: seen.append(measurement))
    for server, measurement in zip(plan.servers, seen, strict=False):
        if measurement.completed == 0 and measurement.offered > 0:
            raise TargetError(
                f"`{server.url}` gave no right answer to {measurement.offered:,} requests: "
                f"{_what_came(measurement)}",
                hint="see it alone with `httpdyno load`; `--expect-status` says what is right",
            )
    return [CycleMoments.of([each.cycles] if each.cycles else []) for each in seen]


def _what_came(measurement: Measurement) -> str:
    kinds = {name.replace("_", " "): n for name, n in measurement.errors.items() if n}
    kinds |= {f"status {name}": n for name, n in measurement.statuses.items() if n}
    return ", ".join(f"{name} {n:,} times" for name, n in kinds.items()) or "nothing came"


def _open_turn_s(plan: TurnsPlan) -> float:
    turn_s = plan.duration_s / (len(plan.servers) * WANTED_PERIODS)
    return max(LEAST_TURN_S, turn_s - LEAD_IN_S)


def _choice(plan: TurnsPlan, moments: Sequence[CycleMoments], left_s: float) -> WindowChoice:
    """Return the turns: as many as the time holds, and as long as their cycles ask for."""
    n, turn_s = len(plan.servers), _open_turn_s(plan)
    if plan.workload.is_open_loop:
        choice = WindowChoice(
            n_blocks=MOST_PERIODS,
            spread_s=0.0,
            lead_in_s=LEAD_IN_S,
            measure_s=turn_s,
            tail_s=0.0,
            cycle_s=0.0,
            window_s=LEAD_IN_S + turn_s,
        )
    else:
        choice = choose_windows(
            moments,
            n_users=plan.workload.connections,
            n_blocks=WANTED_PERIODS,
            window_s=turn_s,
            lead_in_s=LEAD_IN_S,
            limit_s=left_s,
        )
    n_periods = min(MOST_PERIODS, int(left_s / (n * choice.window_s)))
    if n_periods < FEWEST_PERIODS and left_s > 0:
        needed_s = FEWEST_PERIODS * n * choice.window_s / (1 - PILOT_RATIO)
        raise UsageError(
            f"{format_duration(plan.duration_s)} hold {n_periods} periods of "
            f"{n} turns, and nothing is claimed of fewer than {FEWEST_PERIODS}",
            hint=f"these servers take about `-d {time_to_type(needed_s)}`",
        )
    return replace(choice, n_blocks=n_periods)


def _play(run: _Run, choice: WindowChoice) -> None:
    plan = run.plan
    order = block_order(len(plan.servers), choice.n_blocks, seed=plan.seed, comparison=0, start=0)
    turns = [(block, arm) for block, arms in enumerate(order) for arm in arms]
    windows = [
        WindowPlan(
            arm=arm,
            lead_in_s=choice.lead_in_s,
            measure_s=choice.measure_s,
            spread_s=choice.spread_s,
            tail_s=choice.tail_s,
        )
        for _, arm in turns
    ]
    telemetry = WindowTelemetry(
        [_collectors(server, plan) for server in plan.servers], [arm for _, arm in turns]
    )

    def keep(index: int, measurement: Measurement) -> None:
        block, arm = turns[index]
        run.records.append(
            WindowRecord(
                comparison=0,
                start=0,
                block=block,
                arm=arm,
                measurement=measurement.lean(),
                telemetry=telemetry.of(index),
            )
        )
        run.watch(TurnDone(n_turns=index + 1, of_turns=len(turns), n_instances=len(plan.servers)))

    _follow(run, windows, 1, telemetry.on_edge, keep)


def _collectors(server: Server, plan: TurnsPlan) -> tuple[Collector, ...]:
    # Where two URLs lead to one process its time cannot be told apart.
    pids = [each.root_pid for each in plan.servers]
    known = server.root_pid and pids.count(server.root_pid) == 1
    return server_collectors(account_found([server.root_pid] if known else []))


def _follow(
    run: _Run,
    windows: Sequence[WindowPlan],
    part: int,
    on_edge: Callable[[int, bool], None] | None,
    keep: Callable[[int, Measurement], None],
) -> None:
    """Have the engine run windows; hand on each as it ends, until an end is asked for."""
    plan = run.plan
    handle = start_load(
        plan.workload,
        [server.address for server in plan.servers],
        windows,
        threads=plan.threads,
        cpus=plan.cpus,
        seed=plan.seed + part,
        on_edge=on_edge,
    )
    n_seen, is_over = 0, False
    try:
        while not is_over and not run.asked_to_end():
            is_over = handle.wait(_POLL_S)
            for measurement in handle.measurements()[n_seen:]:
                keep(n_seen, measurement)
                n_seen += 1
    finally:
        if not is_over:
            handle.stop()
            handle.wait(_PATIENCE_S)


def _warnings(plan: TurnsPlan, periods: Sequence[StartRecord]) -> tuple[ResultWarning, ...]:
    complete: TrialStatus = "complete"
    whole = StartRecord(
        comparison=0,
        start=0,
        began_at="",
        duration_s=0.0,
        statuses=(complete,) * len(plan.servers),
        windows=tuple(window for period in periods for window in period.windows),
    )
    return (*warnings_of(_about_instances(plan, len(periods))), *window_warnings([whole]))


def _about_instances(plan: TurnsPlan, n_periods: int) -> Iterator[Reason]:
    yield because("experiment.instances_only", n=len(plan.servers))
    if 0 < n_periods < FEWEST_TO_CHECK:
        yield because("experiment.unchecked_periods", n=n_periods, fewest=FEWEST_TO_CHECK)
    pids = [server.root_pid for server in plan.servers if server.root_pid]
    if len({*pids}) < len(pids):
        yield because("experiment.one_process")
    for each in plan.servers:
        if each.beside:
            yield because("experiment.outside_tree", processes=each.beside, url=each.url)


def looks_s(plan: TurnsPlan) -> float:
    """Return how much of the time of a plan its looks take at most."""
    looked_at, stretches_s = _looks_of(plan)
    return len(looked_at) * sum(stretches_s)


def with_looks(
    outcome: TurnsOutcome,
    plan: TurnsPlan,
    is_over: Callable[[], bool],
    say: Callable[[str], None],
) -> TurnsOutcome:
    """Return the outcome with a look at each server whose processes are known.

    Nobody looks where that took long beside the turns, or at two URLs of one process, which
    could not be told apart.

    Args:
        outcome: What the turns came to, which stays as it is.
        plan: Theirs.
        is_over: Whether an end is asked for: those that come after it are not looked at.
        say: Told of each stretch of load before it begins.
    """
    looked_at, stretches_s = _looks_of(plan)
    if not stretches_s:
        return outcome

    def seen(instance: Instance, server: Server) -> Instance:
        if server.root_pid not in looked_at or is_over() or not instance.summary.throughput_per_s:
            return instance
        load = MoreLoad.of(plan, server.address)
        try:
            look = seen_under(load, [server.root_pid], stretches_s, is_over, say)
        except Exception as error:  # what was not seen loses no comparison, and is told
            say(f"`{server.url}` was not looked at: {error!r}")
            return instance
        if look is None or doubt_of(look, server.address, stretches_s):
            return instance
        summary = structs.replace(instance.summary, look=look, bottleneck=bottleneck(look))
        return structs.replace(instance, summary=summary)

    return structs.replace(outcome, instances=tuple(map(seen, outcome.instances, plan.servers)))


def _looks_of(plan: TurnsPlan) -> tuple[list[int], tuple[float, ...]]:
    """Return the processes that are looked at, and how long each look takes."""
    pids = [each.root_pid for each in plan.servers if each.root_pid]
    looked_at = [each for each in pids if pids.count(each) == 1]
    return looked_at, stretches_within_s(plan.duration_s, len(looked_at)) if looked_at else ()
