"""What it costs that workers end and others begin: as it was measured, else by a constant. Pure."""

from httpdyno.advice.curve.joint import MOST_LOST_RATIO, shortest_life
from httpdyno.advice.rules.declaration import Severity
from httpdyno.advice.rules.facts import Facts
from httpdyno.model import Record
from httpdyno.units import format_duration, format_percent

FEW = 200
"""Where nothing was measured: from there on a birth is less than a hundredth of what a request
costs where that is not tiny."""
_VERY_FEW = 20
_MOST = 0.5
"""Of the rate: more than that is worse than what a life is kept short for."""
COUNTS = (
    f"Where rates at some lengths of life were measured (`--load` with `--respawn`) births have to "
    f"take more than {format_percent(MOST_LOST_RATIO)} of the rate, else the number is below "
    f"{FEW}, and the finding says that no cost is known."
)
"""For the rules' declarations."""


class Short(Record, frozen=True):
    """A life that costs more births than it is worth."""

    what: str
    """What they cost, to follow the length of life; empty where that is not known."""
    evidence: str
    severity: Severity | None
    """Where it is not the rule's own."""
    n_requests: int | None
    """The shortest life that costs little; None where that is not known."""

    def do(self, setting: str) -> str:
        """Return what to do about it; empty where what the rule says is all there is."""
        n = self.n_requests
        return f"set `{setting}` to {n:,} or more, or to 0 where nothing leaks" if n else ""


def short(facts: Facts, n: int | None) -> Short | None:
    """Return what is to be said of a life of so many requests; None where it is long enough."""
    if n is None or n <= 0:
        return None
    cost = facts.respawn
    if cost is None:
        if n >= FEW:
            return None
        return Short(
            what="",
            evidence=f"what a birth costs is not known here (`--respawn`): less than {FEW} is "
            "taken for few",
            severity="bad" if n < _VERY_FEW else None,
            n_requests=None,
        )
    lost = 1 - cost.kept_ratio(n)
    if lost <= MOST_LOST_RATIO:
        return None
    return Short(
        what=f", and births take {format_percent(lost)} of the rate",
        evidence=f"a birth takes {format_duration(cost.spawn_s)} of the server's time and a "
        f"request {format_duration(cost.serve_s)}, by the rates of `--respawn`",
        severity="bad" if lost > _MOST else None,
        n_requests=shortest_life(cost),
    )
