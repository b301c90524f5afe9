"""Servers that run already, compared in turns, and looked at one by one when all turns are done.

Each has a turn in every block of their one start, so that what else happens hits all. The time that
was asked for ends it: nobody looks at the figures before.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from msgspec import structs

from httpdyno.advice.bottleneck import bottleneck
from httpdyno.experiment.decide.turns_claim import FEWEST_TO_CHECK, periods_of, turns_comparison
from httpdyno.experiment.decide.warning import warnings_of, window_warnings
from httpdyno.experiment.trial.bench import Bench, StartRequest, block_order
from httpdyno.experiment.trial.look import MoreLoad, doubt_of, seen_under, stretches_within_s
from httpdyno.load.plan import suited_threads
from httpdyno.model import (
    ArmSummary,
    Configuration,
    Instance,
    Objective,
    TurnsOutcome,
    TurnsPlan,
    WindowRecord,
)
from httpdyno.reason import Reason, because

PILOT_RATIO = 0.03
"""Of the time: each instance is loaded once before anything is counted, together for so long, or up
to twice as long: that is drawn."""
PILOT_S = (0.13, 1.0)
"""Of one instance, at least and at most; likewise. In less, one delay on a busy machine passes for
what cycles are like: windows become so long that short times hold too few."""
WANTED_PERIODS = 60
LEAD_IN_S = 0.05
LEAST_TURN_S = 0.05
_TAIL_REQUESTS = 5
"""So many requests of a turn are to lie beyond the percentile that decides."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnDone:
    """How far it is, after a turn."""

    n_turns: int
    of_turns: int
    n_instances: int


def objective_of(plan: TurnsPlan) -> Objective:
    """Return what decides each comparison, known before there are data.

    A closed loop's throughput; of an open loop, whose rate is given, the highest latency percentile
    that a turn holds enough requests for. Each may err with its share of the risk (Bonferroni).
    """
    confidence = 1 - (1 - plan.confidence) / (len(plan.instances) - 1)
    if not plan.workload.is_open_loop:
        return Objective(metric="throughput_per_s", confidence=confidence)
    rate_per_s = getattr(plan.workload.arrival, "rate_per_s", 0.0)
    n = rate_per_s * _turn_s(plan)
    for metric, beyond in (("latency_p99_s", 0.01), ("latency_p90_s", 0.1)):
        if n * beyond >= _TAIL_REQUESTS:
            return Objective(metric=metric, confidence=confidence)
    return Objective(metric="latency_p50_s", confidence=confidence)


def run_turns(
    plan: TurnsPlan,
    bench: Bench,
    watch: Callable[[TurnDone], None],
    asked_to_end: Callable[[], bool],
) -> TurnsOutcome:
    """Load the servers in turns; return what came out, also when an end was asked for.

    Args:
        plan: What is done.
        bench: Of its servers.
        watch: Told after every turn.
        asked_to_end: Whether somebody wants it to end now; what is whole by then counts.

    Raises:
        TargetError: A server gives no right answer at all.
        UsageError: The time does not hold the fewest periods.
        EngineError: The engine failed.
    """
    n, request = len(plan.instances), _request(plan)
    n_done = 0

    def count(_: WindowRecord) -> None:
        nonlocal n_done
        n_done += 1
        watch(TurnDone(n_turns=n_done, of_turns=n * len(request.order), n_instances=n))

    [start] = bench.measure_starts([request], count)
    periods, objective = periods_of(start), objective_of(plan)
    return TurnsOutcome(
        plan=plan,
        host=bench.host(),
        objective=objective,
        comparisons=tuple(
            turns_comparison(periods, each, objective=objective, workload=plan.workload)
            for each in range(1, n)
        ),
        began_at=start.began_at,
        duration_s=start.duration_s,
        n_periods=len(periods),
        turn_s=fmean([w.measurement.measured_s for w in start.windows] or [0.0]),
        warnings=(*warnings_of(_about_instances(plan, len(periods))), *window_warnings([start])),
        is_interrupted=asked_to_end(),
    )


def _request(plan: TurnsPlan) -> StartRequest:
    n, draws = len(plan.instances), {"seed": plan.seed, "comparison": 0, "start": 0}
    return StartRequest(
        comparison=0,
        start=0,
        arms=(Configuration(),) * n,
        order=block_order(n, WANTED_PERIODS, **draws),
        window_s=_turn_s(plan),
        lead_in_s=LEAD_IN_S,
        warm_up_s=min(max(PILOT_S[0], _load_s(plan) * PILOT_RATIO / n), PILOT_S[1]),
        limit_s=_load_s(plan),
        windows_s=_load_s(plan) * (1 - 2 * PILOT_RATIO),
    )


def _load_s(plan: TurnsPlan) -> float:
    """Return the time of the turns: all in all is what was asked for, and looks are of that."""
    looked_at, stretches_s = _looks_of(plan)
    return plan.duration_s - len(looked_at) * sum(stretches_s)


def _turn_s(plan: TurnsPlan) -> float:
    turn_s = _load_s(plan) / (len(plan.instances) * WANTED_PERIODS)
    return max(LEAST_TURN_S, turn_s - LEAD_IN_S)


def _about_instances(plan: TurnsPlan, n_periods: int) -> Iterator[Reason]:
    yield because("experiment.instances_only", n=len(plan.instances))
    if 0 < n_periods < FEWEST_TO_CHECK:
        yield because("experiment.unchecked_periods", n=n_periods, fewest=FEWEST_TO_CHECK)
    pids = [each.root_pid for each in plan.instances if each.root_pid]
    if len({*pids}) < len(pids):
        yield because("experiment.one_process")
    for each in plan.instances:
        if each.beside:
            yield because("experiment.outside_tree", processes=each.beside, url=each.url)


def with_looks(
    outcome: TurnsOutcome, is_over: Callable[[], bool], say: Callable[[Reason], None]
) -> TurnsOutcome:
    """Return the outcome with a look at each server whose processes are known.

    Nobody looks where that took long beside the turns, or at two URLs of one process, which
    could not be told apart.

    Args:
        outcome: What the turns came to, which stays as it is.
        is_over: Whether an end is asked for: those that come after it are not looked at.
        say: Told of each stretch of load before it begins.
    """
    plan = outcome.plan
    looked_at, stretches_s = _looks_of(plan)

    def seen(instance: Instance, summary: ArmSummary) -> ArmSummary:
        if instance.root_pid not in looked_at or is_over() or not summary.throughput_per_s:
            return summary
        load = MoreLoad(
            address=instance.address,
            workload=plan.workload,
            threads=suited_threads(plan.workload),
            seed=plan.seed,
        )
        try:
            look = seen_under(load, [instance.root_pid], stretches_s, is_over, say)
        except Exception as error:  # what was not seen loses no comparison, and is told
            say(because("experiment.not_seen", url=instance.url, words=repr(error)))
            return summary
        if look is None or doubt_of(look, instance.address, stretches_s):
            return summary
        return structs.replace(summary, look=look, bottleneck=bottleneck(look))

    if not stretches_s:
        return outcome
    return outcome.with_summaries(tuple(seen(*each) for each in outcome.arms))


def _looks_of(plan: TurnsPlan) -> tuple[Sequence[int], tuple[float, ...]]:
    """Return the processes that are looked at, and how long each look takes at most."""
    pids = [each.root_pid for each in plan.instances if each.root_pid]
    looked_at = [each for each in pids if pids.count(each) == 1]
    return looked_at, stretches_within_s(plan.duration_s, len(looked_at)) if looked_at else ()
