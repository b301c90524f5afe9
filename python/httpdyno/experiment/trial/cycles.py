"""Users' cycles: how long windows are for them, and what they say of the throughput.

Whether what was counted agrees with Little's law; pure.

Users over the mean length of their cycles is their rate, whatever the distribution (Little, A proof
for the queuing formula L = λW, 1961). The credited throughput and this one come from different
things, answers by their share in the window and lengths of the cycles that began there; where they
disagree, the load was not stationary, or somebody's figures are wrong. What that does to a claim of
the throughput is in `experiment.decide.evidence`.

A warm-up of random length keeps a server's own period out of step with the windows of all starts. A
gunicorn that replaces its worker every 60 requests, one window a start, was credited with 208/s;
its cycles make 190/s, in the long run 193/s. The law tells the two apart, after 82 starts.

How long the windows of a start must be for its latencies; pure.

What is measured of a closed loop is credited by cycles (`model.measurement.Cycles`), which has no
bias once the loop is stationary: when what a user is doing at the window's first instant does not
depend on when it began. Users begin spread over time, and load for a while before: both are told in
multiples of the mean length of the cycle that a random instant falls into, E[C²] / E[C]. It is the
cycle's length where all are alike, twice the mean where they are exponential, and the long ones'
length where few are long; so it says how long it takes to forget how one began.

What a run knows of its configurations' cycles, and for how many of them it has users settle.

How long windows must be follows from the cycles that were seen (above), which is right
for a loop whose cycles do not hang on one another. Where a server takes longer to come to rest than
its cycles say, because a neighbour of the machine does something or the server's own period beats
with them, the throughput by Little's law differs from the credited one and the interval is wider by
as much (`decide/evidence.py`). More starts of the same kind would differ alike. So users then
settle for twice as long, and windows are longer; what was measured stays in, and weighs less the
longer the later windows are. It costs that comparison its time, and no other one: a server that
comes to rest late in one seldom does in the next, and where nothing is to be claimed, as in a
calibration, nothing is refused.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from httpdyno.experiment.trial.bench import CALIBRATION_INDEX
from httpdyno.load.message import WindowPlan
from httpdyno.model import Cycles, StartRecord, WindowRecord
from httpdyno.reason import Reason, because
from httpdyno.stats.spread import stdev

TOLERANCE = 0.02
"""The largest disagreement that chance need not explain."""

FRESH_TOLERANCE = 0.05
"""Windows that begin with the load are not steady, so the law does not hold in them: instead the
last cycle of every user may be wrong, and all of them together must be no more than this."""

CHANCE = 3.0
"""So many standard errors more are put down to chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LittleCheck:
    """One arm's throughput by two ways, over some starts."""

    name: str
    """Of the arm."""
    credited_per_s: float
    by_cycles_per_s: float
    """0 where no cycle was seen to begin."""
    chance: float
    """Three standard errors of the logarithm of their ratio."""
    open_ratio: float
    """What cycles without an end might have added to the credit, over the credit."""
    is_whole: bool
    """Every window had its cycles followed."""
    fresh_ratio: float | None = None
    """Of windows that begin with the load, as the study wants them: users over right answers."""

    @property
    def log_ratio(self) -> float:
        """Log of credited over the other; infinite where there is nothing to compare."""
        if self.credited_per_s <= 0 or self.by_cycles_per_s <= 0:
            return math.inf
        return math.log(self.credited_per_s / self.by_cycles_per_s)

    @property
    def is_unsteady(self) -> bool:
        """Whether the two differ by more than chance does, in windows that are to be steady."""
        is_comparable = self.is_whole and self.fresh_ratio is None and self.by_cycles_per_s > 0
        return is_comparable and abs(self.log_ratio) > TOLERANCE + self.chance

    @property
    def off_log(self) -> float:
        """By how much the logarithm of the credit may be off, as far as the two tell.

        0 where all is well; infinite where nothing tells how far it is off.
        """
        if self._unsized is not None:
            return math.inf
        unsteady = abs(self.log_ratio) if self.is_unsteady else 0.0
        return unsteady + (math.log1p(self.open_ratio) if self._is_open else 0.0)

    @property
    def complaints(self) -> tuple[Reason, ...]:
        """What is wrong; empty where all is well."""
        unsized = self._unsized
        return tuple(self._sized) if unsized is None else (unsized,)

    @property
    def _is_open(self) -> bool:
        return self.open_ratio > TOLERANCE

    @property
    def _unsized(self) -> Reason | None:
        """What is wrong that tells nothing of how far the credit is off."""
        if not self.is_whole:
            return because("experiment.cycles_not_followed", name=self.name)
        if self.by_cycles_per_s <= 0:
            return because("experiment.no_cycle_began", name=self.name)
        if self.fresh_ratio is not None and self.fresh_ratio > FRESH_TOLERANCE:
            return because(
                "experiment.too_few_answers_a_user", name=self.name, within=FRESH_TOLERANCE
            )
        return None

    @property
    def _sized(self) -> Iterator[Reason]:
        """What is wrong by so much."""
        if self._is_open:
            yield because("experiment.open_requests", name=self.name, ratio=self.open_ratio)
        if self.is_unsteady:
            yield because(
                "experiment.credited_apart",
                name=self.name,
                credited_per_s=self.credited_per_s,
                by_cycles_per_s=self.by_cycles_per_s,
            )


def little_check(starts: Sequence[StartRecord], arm: int) -> LittleCheck | None:
    """Return the check of an arm; None where no window is credited (open loop), or none is there.

    The totals over all starts are compared, because a ratio of few cycles is biased; the spread
    of the starts' own ratios tells what chance does.
    """
    rows = [[w for w in start.windows if w.arm == arm] for start in starts]
    windows = [window for row in rows for window in row]
    if not any(window.measurement.cycles for window in windows):
        return None
    credited, by_cycles = _rates(windows)
    logs = [math.log(a / b) for a, b in map(_rates, rows) if a > 0 and b > 0]
    cycles = [w.measurement.cycles for w in windows if w.measurement.cycles is not None]
    credit = math.fsum(each.credit for each in cycles)
    open_credit = math.fsum(each.open_credit for each in cycles)
    return LittleCheck(
        name=_name(starts[0], arm),
        credited_per_s=credited,
        by_cycles_per_s=by_cycles,
        chance=CHANCE * stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0,
        open_ratio=open_credit / credit if credit > 0 else math.inf,
        is_whole=len(cycles) == len(windows),
        fresh_ratio=_fresh_ratio(cycles),
    )


def _name(start: StartRecord, arm: int) -> str:
    """Return what an arm is called: two are a and b, the levels of a sweep say what they are."""
    n_arms = len(start.statuses)
    if n_arms <= len("ab"):
        return "ab"[arm]
    return start.configurations[arm].label() if start.configurations else f"arm {arm + 1}"


def _fresh_ratio(cycles: Sequence[Cycles]) -> float | None:
    fresh = [each for each in cycles if each.is_fresh]
    if not fresh:
        return None
    credit = math.fsum(each.credit for each in fresh)
    return sum(each.n_users for each in fresh) / credit if credit > 0 else math.inf


def _rates(windows: Sequence[WindowRecord]) -> tuple[float, float]:
    """Return the credited throughput of some windows, and that of their users' cycles."""
    measured_s = math.fsum(w.measurement.measured_s for w in windows)
    pairs = [(w.measurement, w.measurement.cycles) for w in windows]
    begun_s = math.fsum(cycles.begun_s for _, cycles in pairs if cycles)
    if measured_s <= 0 or begun_s <= 0:
        return 0.0, 0.0
    right = sum(cycles.begun_right for _, cycles in pairs if cycles)
    # Who waits from before the window until after it takes no part in the cycles that are seen.
    users_s = math.fsum(
        (cycles.n_users - cycles.n_starved) * seen.measured_s for seen, cycles in pairs if cycles
    )
    credited = math.fsum(seen.measured_right for seen, _ in pairs)
    return credited / measured_s, users_s / measured_s * right / begun_s


SPREAD = 1.0
"""Users begin within so many of these lengths. Over one, cycles of one length are at even phase."""

LEAD_IN = 2.0
"""They load for so many more before anything is measured. Bias of the credit over a window of four
lengths then (`research/lead-in`, two seeds, to 0.1 %): none for constant cycles, up to 0.2 % for
exponential ones, 0.6 % for lognormal ones of σ = 1, 0.1 % for one in five that takes six times as
long as the others, 0.9 % for one in twenty that takes 21 times as long. With a lead-in of 1 it
is 1.0 % for the lognormal and −1.6 % for the last ones. The two arms of a ratio have most of it in
common."""

ENTERED = 1.0
"""Where users come in slowly, they load for so many of these lengths after the last one's first
cycle. An event loop that takes one connection a round, and in it answers all who are in already,
has the last of 16 users in after 0.5 s where cycles take 0.07 s (uvicorn with uvloop does). Until
then those who are in have a faster server than they will have."""

CYCLES_PER_VARIATION = 50.0
"""Times the squared coefficient of variation, that is how many cycles a start must hold of an arm:
the logarithm of a total of n of them is too low by that square over 2 n, so by 1 % at most, and by
less in a ratio."""

TAIL = 4.0
"""Load goes on for at most so many of these lengths after the measured part; it ends as soon as
each user has begun another step."""

LEAST_TAIL_S = 0.5
_LEAST_S = 0.01
PILOT_TAIL_S = 2.0
"""Of the warm-up, from which cycles are known: a cycle that lasts longer is taken for as long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CycleMoments:
    """What is known of an arm's cycles; sums add up."""

    n: float = 0.0
    sum_s: float = 0.0
    sum_s2: float = 0.0
    entrance_s: float = math.inf
    """How long the longest first cycle of a user was, where none was as long later on: the least
    that was seen, since a fresh server does some things once. Infinite: never seen."""

    @classmethod
    def of(cls, seen: Iterable[Cycles]) -> "CycleMoments":
        """Return those of all cycles that began in some windows."""
        known = list(seen)
        return cls(
            n=math.fsum(each.begun for each in known),
            sum_s=math.fsum(each.begun_s for each in known),
            sum_s2=math.fsum(each.begun_s2 for each in known),
            entrance_s=min(map(_entrance_s, known), default=math.inf),
        )

    def __add__(self, other: "CycleMoments") -> "CycleMoments":
        return CycleMoments(
            n=self.n + other.n,
            sum_s=self.sum_s + other.sum_s,
            sum_s2=self.sum_s2 + other.sum_s2,
            entrance_s=min(self.entrance_s, other.entrance_s),
        )

    def settling_for(self, times: float) -> "CycleMoments":
        """Return moments by which users take so many times as long to forget how they began."""
        return replace(self, sum_s2=self.sum_s2 * times)

    @property
    def mean_s(self) -> float:
        """Mean length; 0 where none is known."""
        return self.sum_s / self.n if self.n else 0.0

    @property
    def met_s(self) -> float:
        """Mean length of the cycle that a random instant falls into."""
        return self.sum_s2 / self.sum_s if self.sum_s else 0.0

    @property
    def variation(self) -> float:
        """Squared coefficient of variation."""
        return max(0.0, self.met_s / self.mean_s - 1) if self.mean_s else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowChoice:
    """The windows of a start: all alike, so that what they do to the arms is the same."""

    n_blocks: int
    spread_s: float
    lead_in_s: float
    measure_s: float
    tail_s: float
    cycle_s: float
    """The mean cycle of the slowest arm."""
    window_s: float
    """What one window is expected to take from its first request to its last answer."""
    met_s: float = 0.0
    """Of the most uneven arm, the mean cycle that a random instant falls into."""

    def entrance(self, arm: int) -> WindowPlan:
        """Return a window that shows how users of an arm come in, which is short otherwise."""
        return WindowPlan(
            arm=arm,
            lead_in_s=self.lead_in_s,
            measure_s=max(self.spread_s, _LEAST_S),
            spread_s=self.spread_s,
            tail_s=self.tail_s,
        )


def choose_windows(  # noqa: PLR0913 - what is known, and what was asked for
    arms: Sequence[CycleMoments],
    *,
    n_users: int,
    n_blocks: int,
    window_s: float,
    lead_in_s: float,
    limit_s: float = math.inf,
) -> WindowChoice:
    """Return windows that are long enough for these cycles, and no shorter than what was asked.

    Longer windows are fewer: a start measures each arm for as long as asked, or as long as its
    cycles demand. The slowest and the most variable arm decide for all.

    Args:
        arms: What is known of each arm's cycles; (n_arms,).
        n_users: Users of the closed loop.
        n_blocks: The most windows of each arm.
        window_s: The measured part that was asked for.
        lead_in_s: The lead-in that was asked for.
        limit_s: Where all windows of all arms take longer, they are as few as the cycles allow;
            that may still take longer.
    """
    met_s = max((arm.met_s for arm in arms), default=0.0)
    spread_s = SPREAD * met_s
    entered_s = [arm.entrance_s + ENTERED * met_s for arm in arms if arm.entrance_s < math.inf]
    lead_s = max(lead_in_s, LEAD_IN * met_s, *entered_s)
    # After the measured part each user ends its cycle, and what it began meanwhile.
    around_s = spread_s + lead_s + 2 * met_s
    least_s = max(window_s, met_s)
    varied_s = max(
        (CYCLES_PER_VARIATION * arm.variation * arm.mean_s / n_users for arm in arms), default=0.0
    )
    # No more windows than have a measured part as long as what is lost around it.
    worthwhile_s = max(least_s, around_s - lead_in_s)

    def number(whole_s: float) -> int:
        return min(n_blocks, max(1, int(whole_s / worthwhile_s + 1e-9)))

    whole_s = max(n_blocks * window_s, varied_s)
    n = number(whole_s)
    if len(arms) * (n * around_s + max(n * least_s, whole_s)) > limit_s:
        whole_s = varied_s
        n = number(whole_s)
    measure_s = max(least_s, whole_s / n)
    return WindowChoice(
        n_blocks=n,
        spread_s=spread_s,
        lead_in_s=lead_s,
        measure_s=measure_s,
        tail_s=max(LEAST_TAIL_S, TAIL * met_s),
        cycle_s=max((arm.mean_s for arm in arms), default=0.0),
        window_s=around_s + measure_s,
        met_s=met_s,
    )


def _entrance_s(cycles: Cycles) -> float:
    # Users that begin all at once, as in the warm-up, come in at once.
    # With few cycles chance makes one, too, and lead-ins a little longer than they need be.
    is_slow = not cycles.is_fresh and cycles.first_s > cycles.later_s
    return cycles.first_s if is_slow else math.inf


LONGER = 2.0
"""Each time."""
MOST = 4.0
"""What takes longer than that has no steady throughput, and the law says so in the claim."""
_FEWEST = 3
"""Starts of which chance is known well enough."""


class KnownCycles:
    """By a configuration's label; of starts that nothing disturbed."""

    def __init__(self) -> None:
        self._moments: dict[str, CycleMoments] = {}
        self._settling: dict[str, float] = {}
        self._unjudged: dict[str, list[StartRecord]] = {}
        """What was measured since the last time that windows became longer."""
        self._comparison: int | None = None

    def has(self, labels: Sequence[str]) -> bool:
        """Whether something is known of each."""
        return self._moments.keys() >= set(labels)

    def settling(self, label: str) -> float:
        """Return how many times as long as its cycles say users settle; from 1 to `MOST`."""
        return self._settling.get(label, 1.0)

    def of(self, labels: Sequence[str]) -> dict[int, CycleMoments]:
        """Return by the arm's number what windows are to be chosen by, where something is known."""
        return {
            number: self._moments[label].settling_for(self.settling(label))
            for number, label in enumerate(labels)
            if label in self._moments
        }

    def add(self, labels: Sequence[str], seen: Mapping[int, CycleMoments]) -> None:
        """Add what starts of these arms show of their cycles."""
        for number, moments in seen.items():
            label = labels[number]
            self._moments[label] = self._moments.get(label, CycleMoments()) + moments

    def judge(self, labels: Sequence[str], starts: Sequence[StartRecord]) -> None:
        """Have users of an arm settle for longer where its starts contradict Little's law."""
        for start in starts:
            if start.comparison != self._comparison:
                self._comparison = start.comparison
                self._unjudged, self._settling = {}, {}
            for label in dict.fromkeys(labels):
                self._unjudged.setdefault(label, []).append(start)
        if self._comparison == CALIBRATION_INDEX:
            return
        for number, label in enumerate(labels):
            unjudged = self._unjudged.get(label, [])
            if len(unjudged) < _FEWEST:
                continue
            check = little_check(unjudged, number)
            if check is not None and check.is_unsteady:
                self._settling[label] = min(MOST, LONGER * self.settling(label))
                self._unjudged[label] = []
