"""What a metric is: a name, a unit, a function that reads its figure, and a rule for zero. Pure.

A start in which an arm has none of what a metric counts has no logarithm: an interval of the others
would be of those that came out otherwise. Each metric names its rule:

- `left_out`: a start without a figure is left out of the interval;
- `Counted`: an arm with none in some start has no ratio, and both sides' figures are told;
- `too_soon`: what is over before it can be timed has no ratio;
- `Unanswered`: users who got no right answer in some start have no ratio of their throughput.

A count may be the same in every start: that its ratio never varied is the figure's nature and no
sign of much evidence, so it is said. What is timed by looking is known as finely as somebody looks.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from httpdyno.metrics.totals import ArmTotals, arm_totals
from httpdyno.model import RatioInterval, StartRecord
from httpdyno.reason import Reason, because
from httpdyno.stats.spread import stdev
from httpdyno.units import Format


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A figure of some arms over some starts."""

    metric: str
    """By its name."""
    figure: Callable[[ArmTotals], float]
    starts: Sequence[StartRecord]
    """Of all these arms; (n_starts,)."""
    arms: Sequence[int]
    """That are to have the figure."""
    names: Sequence[str] = ()
    """What people call these arms, in their order; empty where nobody is to be named."""

    def of(self, start: StartRecord, arm: int) -> float | None:
        """Return an arm's figure in a start; None where there is none."""
        complete = start.statuses[arm] == "complete"
        value = self.figure(arm_totals(start, arm)) if complete else math.nan
        return None if math.isnan(value) else value


ZeroRule = Callable[[Asked], Reason | None]
"""Returns why starts make no ratio of a figure; None where they do."""

_PAIR = 2
LEAST_READY_S = 0.1
"""Servers that are ready sooner are not compared by that: looks are 5 ms apart in the mean, at
random, so that starts show what they miss; of less than this it is more than a twentieth."""


def left_out(_asked: Asked) -> None:
    """Return nothing: a start in which an arm has no figure is left out of the interval."""


Found = tuple[int, Sequence[str | Reason]] | None
"""Over how many answers something was counted of an arm in a start, and why not; None where nobody
counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """Where an arm has none in some start there is no ratio, whatever its other starts found."""

    uncounted: ZeroRule = left_out
    """Returns that an arm has no count in any start, and why; None where all have."""

    def __call__(self, asked: Asked) -> Reason | None:
        """Return why these starts make no ratio; None where they do."""
        figures = [[asked.of(start, arm) for start in asked.starts] for arm in asked.arms]
        return self.uncounted(asked) or zero_reason(figures, asked.metric, asked.names)


def zero_reason(
    figures: Sequence[Sequence[float | None]], metric: str, names: Sequence[str]
) -> Reason | None:
    """Return why counts make no ratio; None where they do.

    Args:
        figures: Those of each arm, None where it is not known; (n_arms, n_starts).
        metric: Its name.
        names: Of the arms; (n_arms,), or empty where nobody is to be named.
    """
    known = [[each for each in of_arm if each is not None] for of_arm in figures]
    every = [each for of_arm in known for each in of_arm]
    if all(every):
        return None
    if not any(every):
        return because("metrics.zero_everywhere", metric=metric)
    if len(names) != _PAIR or not all(known):
        without = [name for name, each in zip(names, known, strict=False) if not all(each)]
        return because("metrics.zero_of" if without else "metrics.zero", metric=metric, of=without)
    means = [math.fsum(each) / len(each) for each in known]
    in_starts = [*zip(*figures, strict=True)]
    return because(
        "metrics.zero_of_two",
        metric=metric,
        n_zero=sum(any(each == 0 for each in start) for start in in_starts),
        n_starts=len(in_starts),
        a=names[0],
        b=names[1],
        of_a=means[0],
        of_b=means[1],
    )


def nobody_counted(found: Callable[[StartRecord, int], Found]) -> ZeroRule:
    """Return what tells that an arm has no count in any start, and why.

    Args:
        found: The count of an arm in a start.
    """

    def told(asked: Asked) -> Reason | None:
        for arm in asked.arms:
            seen = [found(start, arm) for start in asked.starts if _is_complete(start, arm)]
            known = [each for each in seen if each is not None]
            if seen and not any(n_answers for n_answers, _ in known):
                why = next((why for _, why in reversed(known) if why), ())
                return uncounted(asked.metric, len(seen), why)
        return None

    return told


def uncounted(metric: str, n_starts: int, why: Sequence[str | Reason] = ()) -> Reason:
    """Return that nobody counted something in so many starts, and why where that is known."""
    return because(
        "metrics.uncounted_because" if why else "metrics.uncounted",
        metric=metric,
        n=n_starts,
        why=why,
    )


def _is_complete(start: StartRecord, arm: int) -> bool:
    return start.statuses[arm] == "complete"


def too_soon(asked: Asked) -> Reason | None:
    """Return that an arm is ready too soon, or that it is not told; None where all are slower."""
    for arm in asked.arms:
        told = [
            start.came_up_s[arm] if start.came_up_s else None
            for start in asked.starts
            if _is_complete(start, arm)
        ]
        known = [each for each in told if each is not None]
        if told and not known:
            return because("metrics.ready_unknown", n=len(told))
        if known and min(known) < LEAST_READY_S:
            return because("metrics.too_soon", ready_s=min(known), least_s=LEAST_READY_S)
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unanswered:
    """Users who got no right answer of an arm in some start have no ratio of their throughput."""

    users: str

    def __call__(self, asked: Asked) -> Reason | None:
        """Return that they got none; None where they did."""
        starts, arms = asked.starts, asked.arms
        n_none = sum(any(self._is_of(start, arm) for arm in arms) for start in starts)
        if not n_none:
            return None
        return because("metrics.unanswered", n=n_none, of=len(starts), users=self.users)

    def _is_of(self, start: StartRecord, arm: int) -> bool:
        told = (window.measurement.by_population for window in start.windows if window.arm == arm)
        parts = [each for each in told if each]
        is_told = bool(parts) and _is_complete(start, arm)
        return is_told and not any(
            each[self.users].completed for each in parts if self.users in each
        )


Source = Literal["windows", "system calls", "header words", "coming up", "watch"]
"""Where a figure is from. All but windows are taken of each start only where a metric that has a
claim is from there; `watch` is a `Count` beside the windows, by the metric's own name."""

Needs = Literal[
    "", "pages", "usual users", "slow users", "TLS", "requests", "one server", "resolver", "header"
]
"""What a study must have to have figures of a metric; `study/objective.py` says how."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One row of the table."""

    name: str
    """As study files and options have it: `cpu_s_per_request`."""
    ratio: str
    """The key of its ratio, which has no unit: `cpu_per_request`."""
    label: str
    """In words: `CPU per request`."""
    short: str
    """As narrow places have it: `CPU`."""
    write: Format
    """Writes a figure in its unit."""
    figure: Callable[[ArmTotals], float]
    """Reads it; NaN where there is nothing to divide by."""
    is_more_better: bool = False
    zero: ZeroRule = left_out
    """Why starts in which an arm has none make no ratio."""
    of: str = ""
    """The request, the kind of calls or the word that it is of; empty: of all."""
    distribution: str = ""
    """What it is a percentile of, `latency` or `page of search`; empty for no percentile."""
    percentile: str = ""
    """`p99`; empty likewise."""
    is_on_demand: bool = False
    """Whether it is looked at only where an objective names it."""
    is_of_code: bool = False
    """Whether it is of bodies of code that a program repeats, the empty body's time taken off; of a
    server under load otherwise."""
    is_rate: bool = False
    """Whether the schedule of an open loop decides it, and no server."""
    is_tile: bool = False
    """Whether a report's page has it at the top wherever both sides have a figure."""
    source: Source = "windows"
    needs: Needs = ""
    resolution_s: float = 0.0
    """Between two looks at what it times; 0 where nobody looks for it."""
    silence: Callable[[int], Reason] | None = None
    """Why none of so many starts has any figure; None: no answer came in time."""
    doc: str = ""
    """What it is, for the reference of study files; empty where the general words name it."""

    def of_totals(self, totals: ArmTotals) -> float:
        """Return the figure of an arm; of a program that repeats bodies only what is of code."""
        if self.name not in totals.known:
            is_other = totals.call_figures is not None and not self.is_of_code
            totals.known[self.name] = math.nan if is_other else self.figure(totals)
        return totals.known[self.name]

    def no_ratio(
        self,
        starts: Sequence[StartRecord],
        arms: Sequence[int] = (0, 1),
        names: Sequence[str] = (),
    ) -> Reason | None:
        """Return why its zero rule makes no ratio of these starts; None where it may.

        Args:
            starts: Of all these arms.
            arms: That are to have the figure.
            names: Of these arms, in their order; empty where nobody is to be named.
        """
        return self.zero(
            Asked(metric=self.name, figure=self.of_totals, starts=starts, arms=arms, names=names)
        )

    @property
    def is_counted(self) -> bool:
        """Whether it is a count, which may be 0 or the same in each start."""
        return isinstance(self.zero, Counted)


_ALIKE = 1e-12
"""Standard deviations of a log ratio below this are the arithmetic's."""
_MOST_LOST = 0.5
"""Of what is over so soon nothing is claimed."""


def no_width(metric: Metric, spread: float, n: int) -> tuple[Reason, ...]:
    """Return what a verdict is to add whose interval has no width; nothing where it has one.

    Args:
        metric: Any; only those that are counted are spoken of.
        spread: Standard deviation of the starts' log ratios.
        n: How many they are.
    """
    if not metric.is_counted or spread >= _ALIKE:
        return ()
    return (because("metrics.no_width", n=n),)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """By which part arms may have been sooner than all of their starts say."""

    resolution_s: float
    of_a: float = 0.0
    of_b: float = 0.0

    @property
    def log(self) -> float:
        """By how much more that may be of the log ratio, to the one side or the other."""
        return -math.log1p(-max(self.of_a, self.of_b))

    @property
    def notes(self) -> tuple[Reason, ...]:
        """What a verdict is to add; empty where nothing is lost."""
        if self.log <= 0:
            return ()
        return (because("metrics.lost_between_looks", every_s=self.resolution_s),)

    def in_interval(self, seen: RatioInterval) -> RatioInterval:
        """Return an interval of b over a that has it in it."""
        low, high = seen.low * (1 - self.of_b), seen.high / (1 - self.of_a)
        return structs.replace(seen, low=low, high=high)


def lost_between_looks(starts: Sequence[StartRecord], metric: Metric) -> Lost:
    """Return what arms 0 and 1 lose of what is timed by looking, and nothing of other figures.

    Where an arm's starts differ by less than the time between two looks they come out at the same
    look each time, and their spread says nothing of what lies before it. Where they differ by more
    it does, and their mean is as fine as any.
    """
    of_a, of_b = (_lost_of(starts, arm, metric) for arm in (0, 1))
    return Lost(resolution_s=metric.resolution_s, of_a=of_a, of_b=of_b)


def _lost_of(starts: Sequence[StartRecord], arm: int, metric: Metric) -> float:
    if not metric.resolution_s:
        return 0.0
    values = (metric.of_totals(arm_totals(start, arm)) for start in starts)
    known = [each for each in values if each > 0]
    if not known or (len(known) > 1 and stdev(known) >= metric.resolution_s):
        return 0.0
    return min(metric.resolution_s / min(known), _MOST_LOST)
