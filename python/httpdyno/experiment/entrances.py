"""Whether the users of each arm got through their first steps."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from httpdyno.experiment.arm_load import Place, stopped_on_error
from httpdyno.load.engine import Edge, RunningLoad
from httpdyno.load.entrance import entrance_trouble
from httpdyno.load.message import WindowPlan
from httpdyno.model import Workload
from httpdyno.reason import Reason

_MOMENT_S = 0.001
"""Of a window that is there for what comes before it."""

Start = Callable[[Sequence[Place], Sequence[WindowPlan], int, Edge | None], RunningLoad]
"""From arms, their windows, a part of the seed and who hears of edges to a load that runs."""


@dataclass(frozen=True, slots=True)
class Entrances:
    """What became of the first steps of some starts' users."""

    workload: Workload
    shut_out: dict[Place, tuple[Reason, ...]]
    """The arms whose users did not all get through, with the trouble; added to."""

    def see(self, up: Sequence[Place], handle: RunningLoad) -> set[int]:
        """See whether all users did their first steps; return of which arms they have ended."""
        entrances = handle.entrances()
        for number, entrance in entrances.items():
            if trouble := entrance_trouble(entrance, self.workload):
                self.shut_out[up[number]] = (trouble,)
        return {*entrances}

    def see_others(self, others: Sequence[Place], start: Start) -> None:
        """See who gets into the arms whose turn had not come.

        One that is alone in failing is worse than the others; else the workload may be wrong.
        """
        moment = WindowPlan(arm=0, lead_in_s=0.0, measure_s=_MOMENT_S)
        for place in others:
            alone = start([place], [moment], 0, None)
            with stopped_on_error(alone):
                alone.wait(math.inf)
            self.see([place], alone)
