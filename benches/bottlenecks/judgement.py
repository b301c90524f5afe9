"""What a verdict is worth where the truth is known: right, wrong, or `unknown`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from httpdyno.model.look import Bottleneck, Limit, Look

N_CASES = 14
N_RIGHT = 13
"""So many of the built cases have to be right."""

Worth = Literal["right", "wrong", "unknown", "not built"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One server that was loaded and looked at."""

    name: str
    accepted: frozenset[Limit]
    is_healthy: bool = False
    look: Look | None = None
    """None where it could not be built here."""
    found: Bottleneck | None = None
    why_not: str = ""
    """Why it could not be built."""
    is_disturbed: bool = False
    """Others used the machine in all tries: it counts, and is told with that."""

    @property
    def worth(self) -> Worth:
        """What its verdict is worth."""
        if self.found is None:
            return "not built"
        if self.found.limit in self.accepted:
            return "right"
        # Not to know is no lie, and no answer.
        return "unknown" if self.found.limit == "unknown" else "wrong"


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many came to what."""

    n: int
    right: int
    wrong: int
    unknown: int
    not_built: int

    def __str__(self) -> str:
        """Return it as words."""
        words = f"{self.right} of {self.n} right, {self.wrong} wrong, {self.unknown} unknown"
        return words + f", {self.not_built} not built" * (self.not_built > 0)


def tally(outcomes: Sequence[Outcome]) -> Tally:
    """Count them."""
    worths = [each.worth for each in outcomes]
    return Tally(
        n=len(worths),
        right=worths.count("right"),
        wrong=worths.count("wrong"),
        unknown=worths.count("unknown"),
        not_built=worths.count("not built"),
    )


def is_met(outcomes: Sequence[Outcome]) -> bool:
    """Whether the built ones are named, and nothing is said of the healthy ones that is not so.

    Of all fourteen one may be missed; of a part of them none. What was not built is not right.
    """
    built = tally([each for each in outcomes if not each.is_healthy])
    healthy = tally([each for each in outcomes if each.is_healthy])
    needed = N_RIGHT if built.n == N_CASES else built.n
    return bool(outcomes) and built.right >= needed and healthy.wrong == healthy.not_built == 0
