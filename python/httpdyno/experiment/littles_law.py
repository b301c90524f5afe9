"""Whether what was counted agrees with Little's law; pure.

Users over the mean length of their cycles is their rate, whatever the distribution (Little, A proof
for the queuing formula L = λW, 1961). The credited throughput and this one come from different
things, answers by their share in the window and lengths of the cycles that began there; where they
disagree, the load was not stationary, or somebody's figures are wrong. What that does to a claim of
the throughput is in `experiment.doubt`.

A warm-up of random length keeps a server's own period out of step with the windows of all starts. A
gunicorn that replaces its worker every 60 requests, one window a start, was credited with 208/s;
its cycles make 190/s, in the long run 193/s. The law tells the two apart, after 82 starts.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import stdev

from httpdyno.model import Cycles, StartRecord, WindowRecord
from httpdyno.reason import Reason, because

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
