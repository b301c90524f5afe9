"""What a run tells those who watch it. Pure data; `cli` turns it into words."""

from dataclasses import dataclass

from httpdyno.model import Comparison, LadderStep, RatioInterval, SecondClaim, SweepPoint


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A new stage began: `calibrate`, `step 2 of 5`, `final`."""

    name: str
    detail: str
    elapsed_s: float
    left_s: float
    """An honest guess of the time until the whole run ends."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StartDone:
    """Another start of the arms was measured; where the comparison stands."""

    stage: str
    n_starts: int
    interval: RatioInterval | None
    elapsed_s: float
    left_s: float
    second: SecondClaim | None = None
    """What the second metric says so far."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepDone:
    """A rung of the ladder has its verdict."""

    step: LadderStep


@dataclass(frozen=True, kw_only=True, slots=True)
class PointDone:
    """A round of a sweep ended; the points so far."""

    points: tuple[SweepPoint, ...]
    elapsed_s: float
    left_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FinalDone:
    """Final against start, on fresh starts."""

    comparison: Comparison


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Something that a person should know now."""

    message: str


Event = Stage | StartDone | StepDone | PointDone | FinalDone | Notice
