"""When requests come: closed loop, or one of the open ones.

In a *closed* loop a user sends again when it was answered, so a slow server is asked less. In an
*open* loop requests come when they come, as from people who know nothing of each other; latency
counts from when each was due. *Sessions* are in between: users come as they like, but each sends
its next request only after the answer and some thought.
"""

from typing import Literal, get_args

from httpdyno.model.base import Record

LogSpread = Literal["even", "random", "burst"]
LOG_SPREADS: tuple[LogSpread, ...] = get_args(LogSpread)


class Closed(Record, frozen=True, tag_field="kind", tag="closed"):
    """Each user sends again as soon as it was answered and has thought."""


class Constant(Record, frozen=True, tag_field="kind", tag="constant"):
    """Requests come evenly spaced."""

    rate_per_s: float


class Poisson(Record, frozen=True, tag_field="kind", tag="poisson"):
    """Requests come at random, as from independent users: exponential gaps."""

    rate_per_s: float


class RateStage(Record, frozen=True):
    """The rate goes evenly from one value to another."""

    from_per_s: float
    to_per_s: float
    duration_s: float | None = None
    """None has no end."""


class Stages(Record, frozen=True, tag_field="kind", tag="stages"):
    """Requests come at a rate that changes; afterwards there are none."""

    stages: tuple[RateStage, ...]
    is_poisson: bool = False


class Sessions(Record, frozen=True, tag_field="kind", tag="sessions"):
    """Users come at random (Poisson) at a rate, each for one visit."""

    stages: tuple[RateStage, ...]


class Replay(Record, frozen=True, tag_field="kind", tag="replay"):
    """The requests of an access log come with the gaps they had."""

    log: str
    """Path of the file."""
    speed: float = 1.0
    """2 halves the gaps."""
    methods: tuple[str, ...] = ("GET", "HEAD")
    """Other requests of the log are left out: they may change what the server keeps."""
    spread: LogSpread = "even"
    """What is done with requests that the log puts into the same second: laid over it evenly or
    at random, or all sent at its beginning."""


Arrival = Closed | Constant | Poisson | Stages | Sessions | Replay


def is_open(arrival: Arrival) -> bool:
    """Whether latency counts from when a request was due, however fast the answers come."""
    return not isinstance(arrival, Closed)


def rate_at_most_per_s(arrival: Arrival) -> float | None:
    """Return the highest rate asked for, of requests or sessions; None where none is."""
    match arrival:
        case Constant() | Poisson():
            return arrival.rate_per_s
        case Stages() | Sessions():
            return max(max(each.from_per_s, each.to_per_s) for each in arrival.stages)
        case _:
            return None


def length_s(arrival: Arrival) -> float | None:
    """Return how long the stages take; None where the arrival has no end of its own."""
    if not isinstance(arrival, Stages | Sessions):
        return None
    lengths = [stage.duration_s for stage in arrival.stages]
    return None if None in lengths else sum(each for each in lengths if each is not None)


def n_expected(stages: tuple[RateStage, ...]) -> float:
    """Return how many arrivals the stages stand for; infinite where one has no end."""
    total = 0.0
    for stage in stages:
        mean_per_s = (stage.from_per_s + stage.to_per_s) / 2
        if mean_per_s > 0:
            total += float("inf") if stage.duration_s is None else mean_per_s * stage.duration_s
    return total
