"""Servers of a start looked at when all of its windows are through: who looks takes their time.

System calls are counted then as well: of each server of each start where the objective has to do
with them, else of those that were looked at, where that may tell why a change helped. So is what
else the objective has to do with (`watches`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from httpdyno.experiment.arm_load import Place
from httpdyno.experiment.call_count import LONGEST_S, counted, told_in, with_calls
from httpdyno.experiment.look_cost import LEAST_COUNT_S, HeaderCost, LookCost
from httpdyno.experiment.looking import LONG_LOOK_S, LOOK_S, Looking, looks_in, wants_longer
from httpdyno.experiment.watches import Watch, counted_under
from httpdyno.load.engine import Edge, LoadHandle, RunningLoad
from httpdyno.load.message import WindowPlan
from httpdyno.model import Count, Look, SystemCalls, Workload

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What is to be looked at of servers that are up."""

    onlookers: Mapping[Place, Callable[[], Looking]] = field(default_factory=dict)
    """Who looks at servers that nobody looked at yet, a new one for each look."""
    traced: Mapping[Place, Sequence[int]] = field(default_factory=dict)
    """The processes of those among them whose system calls are counted as well."""
    counted: Mapping[Place, Sequence[int]] = field(default_factory=dict)
    """The processes of those whose system calls are a figure of the start, looked at or not."""
    watches: Mapping[str, Watch] = field(default_factory=dict)
    """What else is a figure of the start, by the metric's name."""
    watched: Mapping[Place, Sequence[int]] = field(default_factory=dict)
    """The processes of those that these count it of."""
    header: HeaderCost = field(default_factory=HeaderCost)
    """What counting the words of a header takes of each server, after all that is seen here."""

    def least_counted_s(self, n_servers: int, n_starts: int) -> float:
        """Return what counting takes of a start, in the mean, at the least.

        Args:
            n_servers: That are up.
            n_starts: Of the comparison, of which the first alone may count words.
        """
        of_each = self.header.each_s + self.header.once_s / n_starts
        watches_s = sum(each.load_s for each in self.watches.values())
        counts_s = len(self.counted) * LEAST_COUNT_S + len(self.watched) * watches_s
        return counts_s + n_servers * of_each


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """What was seen, and what that took."""

    looks: Mapping[Place, Look] = field(default_factory=dict)
    cost: LookCost = field(default_factory=LookCost)
    system_calls: Mapping[Place, SystemCalls] = field(default_factory=dict)
    """Those that are a figure of their start."""
    counts: Mapping[str, Mapping[Place, Count]] = field(default_factory=dict)
    """Likewise, by the metric's name."""
    counted_s: float = 0.0
    """What these took; it is in no other cost, because each start takes it."""

    @property
    def by_arm(self) -> dict[int, Look]:
        """The looks by the arms' numbers: one of each arm is looked at."""
        return {place.arm: look for place, look in self.looks.items()}

    def of_start(self, start: int, n_arms: int) -> tuple[Look | None, ...]:
        """Return what was seen of a start's arms; (n_arms,), or empty where nobody looked."""
        return _of_start(self.looks, start, n_arms)

    def calls_of_start(self, start: int, n_arms: int) -> tuple[SystemCalls | None, ...]:
        """Return the system calls of a start's arms; (n_arms,), or empty where none are counted."""
        return _of_start(self.system_calls, start, n_arms)

    def counts_of_start(self, start: int, n_arms: int) -> dict[str, tuple[Count | None, ...]]:
        """Return what else was counted of a start's arms, by metric; (n_arms,) each."""
        of_arms = {name: _of_start(each, start, n_arms) for name, each in self.counts.items()}
        return {name: each for name, each in of_arms.items() if each}


def _of_start(found: Mapping[Place, _T], start: int, n_arms: int) -> tuple[_T | None, ...]:
    of_arms = tuple(found.get(Place(start, arm)) for arm in range(n_arms))
    return () if all(each is None for each in of_arms) else of_arms


StartAll = Callable[[Sequence[Place], Sequence[WindowPlan], Edge], RunningLoad]
StartOne = Callable[[Place, Workload, WindowPlan, Edge], LoadHandle]


def look_afterwards(
    wanted: Wanted,
    up: Sequence[Place],
    workload_of: Callable[[Place], Workload],
    start: StartAll,
    start_one: StartOne,
) -> Looked:
    """Look at servers under load, one after the other, longer at those that want it.

    Args:
        wanted: What is to be looked at.
        up: The servers that run, in the order of the engine's own.
        workload_of: What each is asked.
        start: Starts the load of windows of some of them.
        start_one: Starts a load of one of them.
    """

    def looked(places: Sequence[Place], load_s: float) -> dict[Place, Look]:
        if not places:
            return {}
        plan = [WindowPlan(arm=n, lead_in_s=0.0, measure_s=load_s) for n in range(len(places))]
        found = looks_in(
            [wanted.onlookers[place]() for place in places],
            plan,
            partial(start, places, plan),
            [workload_of(place) for place in places],
        )
        return {places[n]: look for n, look in found.items()}

    began_s = time.monotonic()
    looks = looked([place for place in up if place in wanted.onlookers], LOOK_S)
    looks |= looked([place for place in looks if wants_longer(looks[place])], LONG_LOOK_S)
    seen_s = time.monotonic()
    found = {
        place: counted(
            wanted.counted[place],
            workload_of(place),
            partial(start_one, place),
            longest_s=LONGEST_S,
        )
        for place in up
        if place in wanted.counted
    }
    counts = {
        name: {
            place: counted_under(watch, wanted.watched[place], partial(start, [place]))
            for place in up
            if place in wanted.watched
        }
        for name, watch in wanted.watches.items()
    }
    counted_s = time.monotonic()
    looks |= {place: told_in(looks[place], each) for place, each in found.items() if place in looks}
    traced = [place for place in looks if place in wanted.traced and place not in found]
    for place in traced:
        one = partial(start_one, place)
        looks[place] = with_calls(looks[place], wanted.traced[place], workload_of(place), one)
    cost = LookCost(
        n_looks=len(looks),
        looks_s=seen_s - began_s,
        n_counts=len(traced),
        counts_s=time.monotonic() - counted_s,
    )
    return Looked(
        looks=looks,
        cost=cost,
        system_calls=found,
        counts=counts,
        counted_s=counted_s - seen_s,
    )
