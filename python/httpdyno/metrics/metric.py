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
from statistics import stdev
from typing import Literal

from msgspec import structs

from httpdyno.metrics.totals import ArmTotals, arm_totals
from httpdyno.model import RatioInterval, StartRecord
from httpdyno.units import Format, format_duration, format_number

Figure = Callable[[ArmTotals], float]
ZeroRule = Callable[[Figure, Sequence[StartRecord], Sequence[int], Sequence[str]], str]
"""Returns why starts make no ratio of a figure; empty where they do.

It is given the figure, starts of all these arms, the arms that are to have it, and what people call
these arms, in their order; empty where nobody is to be named.
"""

_PAIR = 2
_FEW = 0.1
"""Below, two digits are told, wherever they stand."""
LEAST_READY_S = 0.1
"""Servers that are ready sooner are not compared by that: looks are 5 ms apart in the mean, at
random, so that starts show what they miss; of less than this it is more than a twentieth."""


def left_out(
    _figure: Figure, _starts: Sequence[StartRecord], _arms: Sequence[int], _names: Sequence[str]
) -> str:
    """Return nothing: a start in which an arm has no figure is left out of the interval."""
    return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ZeroWords:
    """How one kind of count is spoken of where it is 0."""

    none: str
    """That no arm has any in any start."""
    some: str
    """That some have none, where they are not two."""
    figure: Callable[[str, float], str]
    """What an arm of this name has in the mean."""
    what: str
    """Follows the figures of two arms: what they are of."""
    one_none: str = "one of them none"
    """That in so many starts one of the two has none."""


Beside = Callable[[StartRecord, int], tuple[int, str] | None]
"""Returns over how many answers something was counted of an arm in a start, and why not; None where
nobody counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """Where an arm has none in some start there is no ratio, whatever its other starts found."""

    words: Callable[[Sequence[StartRecord]], ZeroWords]
    uncounted: Callable[[Sequence[StartRecord], Sequence[int]], str] = lambda _starts, _arms: ""
    """Returns that an arm has no count in any start, and why; empty where all have."""

    def __call__(
        self,
        figure: Figure,
        starts: Sequence[StartRecord],
        arms: Sequence[int],
        names: Sequence[str],
    ) -> str:
        """Return why these starts make no ratio; empty where they do."""
        figures = [[_of_complete(figure, start, arm) for start in starts] for arm in arms]
        return self.uncounted(starts, arms) or zero_words(figures, names, self.words(starts))


def zero_words(
    figures: Sequence[Sequence[float | None]], names: Sequence[str], words: ZeroWords
) -> str:
    """Return why counts make no ratio; empty where they do.

    Args:
        figures: Those of each arm, None where it is not known; (n_arms, n_starts).
        names: Of the arms; (n_arms,), or empty where nobody is to be named.
        words: For them.
    """
    known = [[each for each in of_arm if each is not None] for of_arm in figures]
    every = [each for of_arm in known for each in of_arm]
    if all(every):
        return ""
    if not any(every):
        return f"{words.none}, so there is no ratio of them"
    named = [*zip(names, known, strict=True)] if names else []
    if len(named) != _PAIR:
        without = ", ".join(name for name, each in named if not all(each))
        those = f" (those with {without})" if without else ""
        return f"{words.some}{those}, so there is no ratio to them"
    means = [words.figure(name, math.fsum(each) / len(each)) for name, each in named if each]
    in_starts = [*zip(*figures, strict=True)]
    n_none = sum(any(each == 0 for each in start) for start in in_starts)
    return (
        f"{' and '.join(means)} {words.what}, and in {n_none} of {len(in_starts)} starts "
        f"{words.one_none}, so there is no ratio of them"
    )


def _of_complete(figure: Figure, start: StartRecord, arm: int) -> float | None:
    value = figure(arm_totals(start, arm)) if start.statuses[arm] == "complete" else math.nan
    return None if math.isnan(value) else value


def taken(what: str) -> Callable[[Sequence[StartRecord]], ZeroWords]:
    """Return the words for what an answer takes: `system calls`."""
    words = ZeroWords(
        none=f"no answer takes any {what}",
        some=f"some answers take no {what}",
        figure=lambda name, mean: f"{name} takes {_number(mean)}",
        what=f"{what} for an answer",
    )
    return lambda _starts: words


def _number(mean: float) -> str:
    return format_number(mean, 1 - math.floor(math.log10(mean)) if 0 < mean < _FEW else 2)


def nobody_counted(
    found: Beside, words: str
) -> Callable[[Sequence[StartRecord], Sequence[int]], str]:
    """Return what tells that an arm has no count in any start, and why.

    Args:
        found: The count of an arm in a start.
        words: With `{n}` for the starts and `{why}`.
    """

    def told(starts: Sequence[StartRecord], arms: Sequence[int]) -> str:
        for arm in arms:
            seen = [found(start, arm) for start in starts if start.statuses[arm] == "complete"]
            known = [each for each in seen if each is not None]
            if seen and not any(n_answers for n_answers, _ in known):
                why = next((why for _, why in reversed(known) if why), "nobody did")
                return words.format(n=len(seen), why=why)
        return ""

    return told


def too_soon(
    _figure: Figure, starts: Sequence[StartRecord], arms: Sequence[int], _names: Sequence[str]
) -> str:
    """Return that an arm is ready too soon, or that it is not told; empty where all are slower."""
    for arm in arms:
        told = [
            start.came_up_s[arm] if start.came_up_s else None
            for start in starts
            if start.statuses[arm] == "complete"
        ]
        known = [each for each in told if each is not None]
        if told and not known:
            return f"in {len(told)} starts nobody told when the server was ready"
        if known and min(known) < LEAST_READY_S:
            return (
                f"a server is ready within {format_duration(min(known))}: of less than "
                f"{format_duration(LEAST_READY_S)} nothing is claimed, for whether it is ready is "
                "looked for some 5 ms apart"
            )
    return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unanswered:
    """Users who got no right answer of an arm in some start have no ratio of their throughput."""

    users: str

    def __call__(
        self,
        _figure: Figure,
        starts: Sequence[StartRecord],
        arms: Sequence[int],
        _names: Sequence[str],
    ) -> str:
        """Return that they got none; empty where they did."""
        n_none = sum(any(self._is_of(start, arm) for arm in arms) for start in starts)
        if not n_none:
            return ""
        return (
            f"in {n_none} of {len(starts)} starts one of them gave the {self.users} users no right "
            "answer, so there is no ratio of their throughput; a longer `method.window` has more"
        )

    def _is_of(self, start: StartRecord, arm: int) -> bool:
        told = (window.measurement.by_population for window in start.windows if window.arm == arm)
        parts = [each for each in told if each]
        is_told = bool(parts) and start.statuses[arm] == "complete"
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
    silence: str = ""
    """Why no start has any figure, with `{n}` for the starts; empty: no answer came in time."""
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
    ) -> str:
        """Return why its zero rule makes no ratio of these starts; empty where it may.

        Args:
            starts: Of all these arms.
            arms: That are to have the figure.
            names: Of these arms, in their order; empty where nobody is to be named.
        """
        return self.zero(self.of_totals, starts, arms, names)

    @property
    def is_counted(self) -> bool:
        """Whether it is a count, which may be 0 or the same in each start."""
        return isinstance(self.zero, Counted)


_NO_WIDTH = "; the ratio is the same in all {n} starts, so its interval has no width"
_ALIKE = 1e-12
"""Standard deviations of a log ratio below this are the arithmetic's."""
_MOST_LOST = 0.5
"""Of what is over so soon nothing is claimed."""


def width_words(metric: Metric, spread: float, n: int) -> str:
    """Return what a reason is to add where its interval has no width; empty where it has one.

    Args:
        metric: Any; only those that are counted are spoken of.
        spread: Standard deviation of the starts' log ratios.
        n: How many they are.
    """
    return _NO_WIDTH.format(n=n) if metric.is_counted and spread < _ALIKE else ""


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
    def words(self) -> str:
        """What a reason is to add; empty where nothing is lost."""
        if self.log <= 0:
            return ""
        return (
            f"; whether it is ready is looked for every {format_duration(self.resolution_s)}, and "
            "its starts differ by less: the interval has that in it"
        )

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
