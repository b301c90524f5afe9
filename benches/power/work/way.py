"""The ways to measure a start's log ratio that are held side by side."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["closed", "constant", "poisson"]
Where = Literal["free", "client", "apart", "split"]

BUSY = 0.5
"""In open loop: the part of a server's core that both arms use together, reckoned from what a
request of the slower arm costs in a closed loop. Below saturation a request costs more, so the
core is somewhat busier."""
CONNECTIONS_OPEN = 256
"""In open loop; more than a window has requests, so that none is given up at its end for want of
one, however long a disturbed server keeps them waiting."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """How both arms of a start are loaded."""

    name: str
    about: str
    kind: Kind
    where: Where
    """`free`: nothing is pinned. `client`: the client has a core, servers may use all. `apart`:
    both servers on one core, the client on the other. `split`: a server on each core, with the
    other one's client beside it."""
    is_together: bool = False
    """Whether both arms are loaded at the same time; else their windows take turns."""
    alone: str = ""
    """The way that asks the same of one arm at a time, on the same servers; empty for none."""

    @property
    def truth(self) -> str:
        """The circumstances in which the truth of this way is known: those of one server."""
        is_free = self.name in {"turns", "turns-client"}
        return f"{self.kind}-{'free' if is_free else 'apart'}"

    def rate_per_s(self, cost_s: float) -> float:
        """Return the rate of each arm in open loop, the same for both.

        Args:
            cost_s: CPU seconds that a request takes in the slower arm.
        """
        shares_core = self.is_together and self.where == "apart"
        return BUSY / cost_s / (2 if shares_core else 1)


WAYS = {
    way.name: way
    for way in (
        Way(
            name="turns",
            about="closed loop in turns, nothing pinned: what is done on two cores",
            kind="closed",
            where="free",
        ),
        Way(
            name="turns-client",
            about="the same, the client on one core, servers on any",
            kind="closed",
            where="client",
        ),
        Way(
            name="turns-apart",
            about="the same, client and servers on cores of their own: as on four cores",
            kind="closed",
            where="apart",
        ),
        Way(
            name="open-apart",
            about="constant rate in turns, cores of their own",
            kind="constant",
            where="apart",
        ),
        Way(
            name="duet",
            about="both at once at a constant rate, half a gap apart; servers on one core",
            kind="constant",
            where="apart",
            is_together=True,
            alone="open-apart",
        ),
        Way(
            name="duet-poisson",
            about="both at once, each at random times of its own; servers on one core",
            kind="poisson",
            where="apart",
            is_together=True,
            alone="open-apart",
        ),
        Way(
            name="duet-split",
            about="both at once at a constant rate, a server on each core beside a client",
            kind="constant",
            where="split",
            is_together=True,
            alone="open-apart",
        ),
        Way(
            name="duet-free",
            about="both at once at a constant rate, nothing pinned",
            kind="constant",
            where="free",
            is_together=True,
            alone="open-apart",
        ),
        Way(
            name="duet-closed",
            about="both at once in a closed loop; servers on one core",
            kind="closed",
            where="apart",
            is_together=True,
            alone="turns-apart",
        ),
    )
}

CIRCUMSTANCES = {
    "closed-free": WAYS["turns"],
    "closed-apart": WAYS["turns-apart"],
    "constant-apart": WAYS["open-apart"],
    "poisson-apart": Way(
        name="poisson-apart", about="one arm at random times", kind="poisson", where="apart"
    ),
}
"""One server alone; in these the truth is known. What a request costs differs from one to the other
(an idle server's caches cool down), so what is planted is another ratio in each."""

SIZES = {"A/A": 0.0, "+3": 0.03, "+10": 0.1, "+50": 0.5}
"""By how much more one of the arms works for a request."""
SPREAD = 0.2
"""Sizes are drawn within so much of those: nothing is tuned to them."""
