"""What windows of equal load one after the other tell: when an event is over, what age costs; pure.

Where a study looks at windows of equal load one after the other, after a restart or whatever else
its command does, the last of them is taken for what is steady. A figure, and no claim: the spread
between starts stands beside it, each interval for itself alone.

"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from httpdyno.metrics import named
from httpdyno.model import ArmSummary, Method, Phase, PhaseFigures, Record, WorkersSeen
from httpdyno.stats.sequence import ratio_interval

WITHIN = 0.1
"""Above the last phase's latency, by which an earlier one may lie and is as good as steady."""
_FEWEST = 3
"""Phases: of two it could only be the one or the other."""
_USUAL = "p90"
"""Where the study's metric is no latency: one that a second of some load can carry."""


class SettlingPhase(Record, frozen=True):
    """How a phase before the last one compares with that."""

    name: str
    after_s: float
    """Of load, in the windows before its own."""
    ratio: float | None
    """Its latency over that of the last phase, the geometric mean over starts; None where a start
    has no such figure of it."""
    low: float | None = None
    high: float | None = None
    """By the spread over starts; None, both, where that bounds nothing."""


class Settling(Record, frozen=True):
    """From which phase on an arm's latency is that of the last phase."""

    percentile: str
    """Of the latency: `p90`."""
    within_ratio: float
    """How far above that of the last phase it may be."""
    last: str
    """The phase that is taken for steady."""
    end_s: float
    """Of load, up to the end of the last but one."""
    n_starts: int
    phases: tuple[SettlingPhase, ...]
    """Those before the last, in their order."""
    settled: str | None
    """The first phase from which on all are within that; None where not even the last but one is.
    So are the next two."""
    earliest: str | None
    """By the low ends of the intervals, each of which has its confidence for itself alone."""
    latest: str | None
    """By their high ends."""

    def after_s(self, name: str) -> float:
        """Return after how much load a phase begins."""
        return next(each.after_s for each in self.phases if each.name == name)


def settling(method: Method, metric: str, arm: ArmSummary, confidence: float) -> Settling | None:
    """Return from which phase on an arm answers as in the last one.

    Args:
        method: Of the study, with its phases.
        metric: The objective's: where it is a latency its percentile is looked at, else p90.
        arm: With what each start saw of its phases.
        confidence: Of the interval of each phase alone.

    Returns:
        None where the phases are no windows of equal load after an event, or nothing was measured.
    """
    phases = after_event(method)
    row = named(metric)
    percentile = row.percentile if row.distribution == "latency" else _USUAL
    known = {p.name: _latencies(method, arm, p.name).get(percentile, ()) for p in phases}
    if not phases or not any(_is_known(each) for each in known[phases[-1].name]):
        return None
    begun_s = [0.0, *accumulate(method.window_of(phase) for phase in phases)]
    last = known[phases[-1].name]
    before = tuple(
        _beside(phase.name, after_s, known, last, confidence)
        for phase, after_s in zip(phases[:-1], begun_s, strict=False)
    )
    return Settling(
        percentile=percentile,
        within_ratio=WITHIN,
        last=phases[-1].name,
        end_s=begun_s[len(before)],
        n_starts=sum(map(_is_known, last)),
        phases=before,
        settled=_first_of([(each.name, each.ratio) for each in before]),
        earliest=_first_of([(each.name, _low(each)) for each in before]),
        latest=_first_of([(each.name, each.high) for each in before]),
    )


def after_event(method: Method) -> Sequence[Phase]:
    """Return the phases of equal load from the last event on; empty where there are too few.

    An event is the command of a phase. Only before the last phase, which is to be steady, there
    may be a pause.
    """
    phases = list(method.phases)
    events = [number for number, phase in enumerate(phases) if phase.command is not None]
    if not events:
        return ()
    event = phases[events[-1]]
    # What comes within a window parts it in two.
    found = phases[events[-1] + (event.at_s is not None) :]
    loads = {(method.window_of(each), each.rate_per_s, each.n_requests) for each in found}
    is_one_load = len(loads) == 1 and not found[0].n_requests
    # A pause after the command is for it; a later one would be time that no window has.
    has_gap = any(phase.pause_s > 0 for phase in found[1:-1])
    return found if is_one_load and not has_gap and len(found) >= _FEWEST else ()


def _latencies(method: Method, arm: ArmSummary, name: str) -> Mapping[str, Sequence[float | None]]:
    if name == method.decides:
        return arm.start_latency_s
    seen = arm.phases.get(name)
    return {} if seen is None else seen.start_latency_s


def _beside(
    name: str,
    after_s: float,
    known: Mapping[str, Sequence[float | None]],
    last: Sequence[float | None],
    confidence: float,
) -> SettlingPhase:
    logs = []
    own = known[name]
    for number, steady_s in enumerate(last):
        if steady_s is None or not _is_known(steady_s):
            continue
        own_s = own[number] if number < len(own) else None
        if own_s is None or not _is_known(own_s):
            # Nobody was answered in it: left out, it would look better than it was.
            return SettlingPhase(name=name, after_s=after_s, ratio=None)
        logs.append(math.log(own_s / steady_s))
    interval = ratio_interval(logs, confidence=confidence)
    ratio = math.exp(math.fsum(logs) / len(logs))
    if interval is None or math.isinf(interval.high):
        return SettlingPhase(name=name, after_s=after_s, ratio=ratio)
    return SettlingPhase(
        name=name, after_s=after_s, ratio=ratio, low=interval.low, high=interval.high
    )


def _low(phase: SettlingPhase) -> float | None:
    if phase.ratio is None:
        return None
    return 0.0 if phase.low is None else phase.low


def _is_known(latency_s: float | None) -> bool:
    return latency_s is not None and 0 < latency_s < math.inf


def _first_of(ratios: Sequence[tuple[str, float | None]]) -> str | None:
    """Return the first name from which on all ratios are within; None where the last is not."""
    settled = None
    for name, ratio in reversed(ratios):
        if ratio is None or ratio > 1 + WITHIN:
            break
        settled = name
    return settled


# A pool's memory at several ages, and how many of its workers would fit at each; pure.
#
# That number is the memory bound's own (`telemetry/pool.py`): by the largest worker, since
# as many as the mean would allow need not fit.

ROOM_BYTES = float(1 << 30)
"""T of n = (T − P) / u(r): a round figure, of which another machine's is a multiple."""
_FEWEST_AGES = 3
"""Ages below which there is no curve to see."""


class Age(Record, frozen=True):
    """A pool once it has answered so many requests."""

    phase: str
    n_requests: float
    """To all of its processes since the turn began, the mean over turns."""
    n_asked: int
    """Those with which its phase was to end: there are fewer where its time was over before."""
    pss_bytes: float
    """Of all, what they share counted once."""
    once_bytes: int | None
    """P: what is there once, however many workers there are, and what the kernel keeps for the
    parent. None where it is not known, as the next."""
    each_bytes: int | None
    """u(r): what the largest worker has for itself alone, and what the kernel keeps for it."""
    n_fit: int | None
    """Workers that there is room for in `ROOM_BYTES`, were all of that age; None without the two,
    and where no worker has anything for itself."""


def ages(method: Method, arm: ArmSummary) -> tuple[Age, ...]:
    """Return an arm's memory after each phase, where all of them end with a number of requests.

    A start has one turn only, and no warm-up: in a second turn, or after some load, a process is
    older than its phase. Empty for other studies, and where memory was not read.
    """
    phases = method.phases
    is_counted = len(phases) >= _FEWEST_AGES and all(phase.n_requests for phase in phases)
    if not is_counted or method.blocks_per_start != 1 or method.warm_up_s > 0:
        return ()
    return tuple(_ages(method, arm))


def _ages(method: Method, arm: ArmSummary) -> Iterator[Age]:
    n_requests, n_asked = 0.0, 0
    program = _program(arm)
    for phase in method.phases:
        seen: ArmSummary | PhaseFigures | None = arm.phases.get(phase.name)
        if phase.name == method.decides:
            seen = arm
        if seen is None or seen.pss_bytes is None:
            return
        n_requests += seen.requests_per_turn
        n_asked += phase.n_requests
        workers = next((each for each in seen.workers if each.program == program), None)
        once_bytes, each_bytes, n_fit = _room(workers)
        yield Age(
            phase=phase.name,
            n_requests=n_requests,
            n_asked=n_asked,
            pss_bytes=seen.pss_bytes,
            once_bytes=once_bytes,
            each_bytes=each_bytes,
            n_fit=n_fit,
        )


def _room(workers: WorkersSeen | None) -> tuple[int | None, int | None, int | None]:
    """Return P, u(r) and n."""
    if workers is None or workers.once_bytes is None:
        return None, None, None
    kernel_bytes = workers.kernel_bytes
    return (
        workers.once_bytes + kernel_bytes,
        workers.largest_uss_bytes + kernel_bytes,
        workers.n_within(ROOM_BYTES),
    )


def _program(arm: ArmSummary) -> str:
    """Return the program whose workers have the most for themselves: all else is in P."""
    own = {each.program: each.n * each.median_uss_bytes for each in arm.workers}
    return max(own, key=lambda program: own[program], default="")
