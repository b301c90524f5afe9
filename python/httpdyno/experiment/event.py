"""What a run tells those who watch it. Pure data; `cli` turns it into words."""

import math
from dataclasses import dataclass

from httpdyno.model import (
    Comparison,
    LadderStep,
    RatioInterval,
    SecondClaim,
    Sweep,
    Verdict,
)
from httpdyno.reason import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A new stage began: `calibrate`, `step 2 of 5`, `final`."""

    name: str
    detail: str
    elapsed_s: float
    left_s: float | None
    """An honest guess of the time until the whole run ends; None where nobody can tell yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartsBegun:
    """Starts of the same arms come up, to be measured side by side."""

    n_starts: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowDone:
    """Another window ended of the starts that are up. Comes many times a second: be quick."""

    n_done: int
    n_windows: int
    """Expected of all these starts, this one included."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartDone:
    """The starts that were up side by side ended; where their comparison stands."""

    stage: str
    n_starts: int
    """Of the comparison so far, all of them."""
    interval: RatioInterval | None
    elapsed_s: float
    left_s: float
    """A guess of the time until the whole run ends: no more than the budget has."""
    fewest: int = 0
    """Below so many starts nothing is claimed."""
    verdict: Verdict = "inconclusive"
    """What may be said now."""
    open_metric: str = ""
    """The metric that has not spoken yet; empty where the verdict stands."""
    decides_in_s: float | None = None
    """Time until a decision, at what was seen so far; None: out of sight."""
    allowed_s: float = math.inf
    """What the comparison may still use."""
    second: SecondClaim | None = None
    """What the second metric says so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepDone:
    """A rung of the ladder has its verdict."""

    step: LadderStep
    is_of_ladder: bool = True
    """Whether later steps build on it where it is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PointDone:
    """A round of a sweep ended; the curve so far."""

    sweep: Sweep
    elapsed_s: float
    left_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundDone:
    """A round of all combinations of a factorial ended."""

    n_starts: int
    """That gave a figure for each."""
    n_arms: int
    """That run."""
    elapsed_s: float
    left_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalDone:
    """Final against start, on fresh starts."""

    comparison: Comparison


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Something that a person should know now."""

    reason: Reason


Event = (
    Stage
    | StartsBegun
    | WindowDone
    | StartDone
    | StepDone
    | PointDone
    | RoundDone
    | FinalDone
    | Notice
)
