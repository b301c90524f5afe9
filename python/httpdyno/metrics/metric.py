"""What a metric is: a name, words, a unit, and a function that reads its figure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from httpdyno.metrics.totals import ArmTotals
from httpdyno.metrics.zero import Asked, Counted, ZeroRule, left_out
from httpdyno.model import StartRecord
from httpdyno.reason import Reason
from httpdyno.units import Format

Source = Literal["windows", "system calls", "header words", "coming up", "watch"]
"""Where a figure is from. All but windows are taken of each start only where a metric that has a
claim is from there; `watch` is a `Count` beside the windows, by the metric's own name."""

Needs = Literal[
    "", "pages", "usual users", "slow users", "TLS", "requests", "one server", "resolver", "header"
]
"""What a study must have, that it has figures of a metric; `study/also.py` says how it gets it."""


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
    silence: Callable[[int], Reason] | None = None
    """Why none of so many starts has any figure; None: no answer came in time."""
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
    ) -> Reason | None:
        """Return why its zero rule makes no ratio of these starts; None where it may.

        Args:
            starts: Of all these arms.
            arms: That are to have the figure.
            names: Of these arms, in their order; empty where nobody is to be named.
        """
        return self.zero(
            Asked(metric=self.name, figure=self.of_totals, starts=starts, arms=arms, names=names)
        )

    @property
    def is_counted(self) -> bool:
        """Whether it is a count, which may be 0 or the same in each start."""
        return isinstance(self.zero, Counted)
