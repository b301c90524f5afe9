"""What a figure is made of: cases that are measured again and again, and a judgement of them."""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

import msgspec
from scipy import stats

THIS = "this"
"""The checkout that the bench is part of. The other one is `before`."""
SPREAD = 0.2
"""Planted sizes are drawn within so much of those that are named: nothing is tuned to them."""
REFUSED = "refused: "
"""What the trouble begins with where the program says that the request makes no sense."""
UNBOUNDED = 1e9
"""Stands for the end of an interval that has none: JSON knows no infinity."""

Unit = Literal["comparisons", "runs", "simulated"]
"""The option that says how often."""


class Interval(msgspec.Struct, frozen=True):
    """A ratio, b over a, and what bounds it."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, told: dict[str, Any] | None) -> "Interval | None":
        """Return the one that a JSON document tells; None where it tells none."""
        if not told:
            return None
        high = UNBOUNDED if told["high"] is None else min(told["high"], UNBOUNDED)
        return cls(ratio=told["ratio"], low=told["low"], high=high)

    @property
    def is_bounded(self) -> bool:
        """Whether the data bound it on both sides; one without ends holds whatever is true."""
        return self.low > 0 and self.high < UNBOUNDED

    def holds(self, truth: float) -> bool:
        """Whether the truth lies in it."""
        return self.low <= truth <= self.high

    def __str__(self) -> str:
        return f"{self.ratio:.3f} ({self.low:.3f} … {self.high:.3f})"


class Shown(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What one comparison, one run or one lot of simulations showed."""

    figure: int
    case: str
    by: str
    """Which checkout made it."""
    took_s: float
    """On the wall's clock, from calling the program to its end."""
    stolen_cores: float
    """What the host took from this machine meanwhile."""
    trouble: str = ""
    """Why there is nothing to show."""
    seed: int = 0
    """Of the bench that measured it."""
    number: int = 0
    """Of the take: with the seed and the case it says what was drawn."""

    @property
    def is_refused(self) -> bool:
        """Whether the program refused what it was asked for."""
        return self.trouble.startswith(REFUSED)

    @property
    def key(self) -> tuple[int, int, str, int, str]:
        """What no other has: seed, figure, case, number and checkout."""
        return self.seed, self.figure, self.case, self.number, self.by

    def words(self) -> str:
        """Return what is special to its kind."""
        raise NotImplementedError

    def line(self) -> str:
        """Return it as it is printed."""
        return (
            f"{self.figure:>2} {self.case:<14} {self.by:<6} {self.trouble or self.words()}, "
            f"{self.took_s:.1f} s, host took {self.stolen_cores:.2f} cores"
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What all cases share."""

    trees: dict[str, Path]
    """The checkouts that are measured, by name; `THIS` is among them."""
    folder: Path
    """For files that go again."""
    seed: int


@dataclass(frozen=True, kw_only=True)
class Case:
    """Something that a figure measures again and again, each time with sizes drawn anew."""

    kind: ClassVar[type[Shown]] = Shown
    """What its takes show."""

    figure: int
    name: str
    n: int
    """How often, unless somebody asks for fewer or more."""
    longest_s: float
    """What one takes at most, by one checkout."""
    unit: Unit = "comparisons"
    is_of_each: bool = True
    """Whether every checkout makes it, or only this one."""
    needs_oracle: bool = False
    """Whether origins of known latency stand in the place of servers."""

    @property
    def asked(self) -> int:
        """How much a judgement asks for, as `Figure.counts` counts it."""
        return self.n

    def take(self, setting: Setting, draw: random.Random) -> Iterator[Shown]:
        """Measure it once by every checkout; give each as it ends.

        Raises:
            BenchError: It cannot be measured here at all.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Part:
    """One requirement of a figure, and whether it is met."""

    is_met: bool
    words: str


def each_once(_shown: Shown) -> int:
    """Count whatever was tried, also what failed: that counts against a figure."""
    return 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A number, what must come of it, and how that is judged; judging is pure."""

    number: int
    name: str
    must: str
    judge: Callable[[Sequence[Shown]], list[Part]]
    """Of what one checkout showed."""
    cases: tuple[Case, ...] = ()
    rests_on: tuple[Case, ...] = ()
    """Cases of other figures that are judged; its own unless others are named."""
    counts: Callable[[Shown], int] = each_once
    """How much something that was shown counts toward what its case asks for."""
    before_s: float = 0.0
    """What may have to be measured before the first case."""

    @property
    def judged(self) -> tuple[Case, ...]:
        """The cases that are judged."""
        return self.rests_on or self.cases

    def mine(self, shown: Sequence[Shown]) -> list[Shown]:
        """Return what its cases showed."""
        figures = {case.figure for case in self.judged}
        return [each for each in shown if each.figure in figures]

    def lacking(self, by: str, shown: Sequence[Shown]) -> dict[str, tuple[int, int]]:
        """Return cases that were not measured as often as is asked for: how often, of how often.

        Args:
            by: A checkout.
            shown: What it showed.
        """
        found = {}
        for case in self.judged:
            if not case.is_of_each and by != THIS:
                continue
            n = sum(
                self.counts(each)
                for each in shown
                if (each.figure, each.case) == (case.figure, case.name)
            )
            if n < case.asked:
                found[case.name] = (n, case.asked)
        return found


Kind = TypeVar("Kind", bound=Shown)


def of_kind(kind: type[Kind], shown: Sequence[Shown]) -> list[Kind]:
    """Return those of one kind that showed anything."""
    return [each for each in shown if isinstance(each, kind) and not each.trouble]


def drawn(size: float, draw: random.Random) -> float:
    """Return a size near the one that is named."""
    return size * draw.uniform(1 - SPREAD, 1 + SPREAD)


def most_likely(n_of: int, n: int) -> float:
    """Return the upper end of the exact 95 % interval of a share: n_of were seen, of n."""
    return float(stats.binomtest(n_of, n).proportion_ci(method="exact").high) if n else 1.0
