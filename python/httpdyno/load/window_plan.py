"""A stretch of load, as it is planned."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowPlan:
    """A stretch of load on one arm."""

    arm: int
    lead_in_s: float
    """Loaded, but not measured."""
    measure_s: float
    n_requests: int = 0
    """The window ends after that many, if they come first; 0 is no such limit."""
    spread_s: float = 0.0
    """Credited windows: the users begin within so long, at random; the lead-in comes after it."""
    tail_s: float = 0.0
    """Closed loop: the load goes on for at most so long after the measured part, until every user
    has begun another step, and what each cycle gave to it is credited; 0 just counts answers."""
