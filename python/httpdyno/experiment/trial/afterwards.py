"""What is looked at and counted of servers when their windows are over.

System calls of an answer, counted under strace when all that is measured and seen is through.

One client asks for what the study asks for, one request after the other: many at a time would wait
for each other, and how often they do so is not what an answer takes.

What is counted of a server under a load that comes when the windows are through.

Each start counts it where something is claimed of it. Windows have it too, but nobody looks while
one is timed.

What looks at servers take of a run's time; pure.

They come once for each configuration, when the windows of the first start that has it are through:
not with every start, so they are reckoned apart from what a start takes.

Which servers of a run are looked at, and of which the system calls are counted as well; pure.

Each configuration is looked at once, beside the first it is compared with; in the calibration none
is. Its system calls take longer to count and answer one question only: why a change helped. So they
are counted for what a run starts with and for what came out well: that comes up again in a later
comparison.

Servers of a start looked at when all of its windows are through: who looks takes their time.

System calls are counted then as well: of each server of each start where the objective has to do
with them, else of those that were looked at, where that may tell why a change helped. So is what
else the objective has to do with (`watches`).

What is looked at and counted of the servers of some starts, when their windows are over.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from msgspec import structs

from httpdyno.errors import RevertError, TargetError
from httpdyno.experiment.trial.arm import Arm
from httpdyno.experiment.trial.bench import CALIBRATION_INDEX, StartRequest
from httpdyno.experiment.trial.engine_loads import Place, stopped_on_error
from httpdyno.experiment.trial.look import (
    LONG_LOOK_S,
    LOOK_S,
    Looking,
    looking_at,
    looks_in,
    wants_longer,
)
from httpdyno.load.engine import Edge, LoadHandle, RunningLoad
from httpdyno.load.message import WindowPlan
from httpdyno.metrics import named, sources
from httpdyno.metrics.totals import calls_in
from httpdyno.model import (
    Closed,
    Configuration,
    Count,
    Look,
    Objective,
    Record,
    Replay,
    StartRecord,
    Study,
    SystemCalls,
    Workload,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import Running
from httpdyno.telemetry.processes import ExitWatch
from httpdyno.telemetry.syscalls.count import SyscallProfile
from httpdyno.telemetry.syscalls.strace import census_between

N_ANSWERS = 20
"""That are counted in a start. Each is some ten times slower under strace."""
LONGEST_S = 10.0
"""Slow answers are waited for, where a claim rests on them; then those that came are counted, each
to its end."""
LOOK_LONGEST_S = 1.0
"""Where no claim rests on it."""

Start = Callable[[Workload, WindowPlan, Edge], LoadHandle]
"""Starts a load of the one server."""


def traced_workload(workload: Workload) -> Workload | None:
    """Return the same requests from one client after the other; None for a log's. Pure."""
    if isinstance(workload.arrival, Replay):
        return None
    return structs.replace(
        workload, arrival=Closed(), connections=1, connections_per_s=0.0, slow=None
    )


def with_calls(look: Look, root_pids: Sequence[int], workload: Workload, start: Start) -> Look:
    """Return a look with the system calls of an answer, or with why they could not be counted.

    Args:
        look: What was seen of the server before.
        root_pids: Its processes; all below them are traced.
        workload: What the study asks of it.
        start: Starts a load of this one server.
    """
    return told_in(look, counted(root_pids, workload, start, longest_s=LOOK_LONGEST_S))


def told_in(look: Look, found: SystemCalls) -> Look:
    """Return a look with what was counted, or with why nothing was. Pure."""
    if found.untraced:
        return structs.replace(look, untraced=found.untraced)
    return structs.replace(look, calls=found.by_kind, n_traced=found.n_answers, untraced=None)


def counted(
    root_pids: Sequence[int], workload: Workload, start: Start, *, longest_s: float
) -> SystemCalls:
    """Return the system calls of an answer, or why they could not be counted.

    Args:
        root_pids: The server's processes; all below them are traced.
        workload: What the study asks of it.
        start: Starts a load of this one server.
        longest_s: What the answers may take in all.
    """
    one_by_one = traced_workload(workload)
    if one_by_one is None:
        return SystemCalls(untraced=because("telemetry.log_not_repeated"))
    completed: list[int] = []

    def load(on_edge: Edge) -> None:
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=longest_s, n_requests=N_ANSWERS)
        handle = start(one_by_one, window, on_edge)
        try:
            handle.wait(math.inf)
        finally:
            handle.stop()
            handle.wait(math.inf)
        completed.extend(each.completed for each in handle.measurements() if not each.errors)

    try:
        found = census_between(root_pids, load)
    except (TargetError, RevertError) as error:
        return SystemCalls(untraced=because("telemetry.not_traced", error=error.reason))
    n_answers = sum(completed)
    if found is None or not n_answers:
        return SystemCalls(untraced=because("telemetry.no_answer_traced"))
    if not found.n_took_part:
        return SystemCalls(untraced=because("telemetry.nobody_traced"))
    return SystemCalls(
        per_request=found.total.mean / n_answers,
        by_kind=calls_of(found, n_answers),
        n_answers=n_answers,
    )


def calls_of(found: SyscallProfile, n_answers: int) -> dict[str, float]:
    """Return the system calls of an answer by kind. Pure.

    Args:
        found: What was counted for all of them together.
        n_answers: How many they were; above 0.
    """
    counts: dict[str, float] = {each.kind: each.calls.mean for each in found.kinds}
    counts[".htaccess"] = found.htaccess_opens.mean
    counts["missing"] = found.missing_stats.mean + found.missing_opens.mean
    return {kind: n / n_answers for kind, n in counts.items() if n}


def few_answers(starts: Sequence[StartRecord]) -> Iterator[Reason]:
    """Warn where some counts are of fewer answers than others.

    Who answers fewer answers fewer of the workload's requests, where it has several.
    """
    arms = [(start, arm) for start in starts for arm in range(len(start.system_calls))]
    counts = [found.n_answers for start, arm in arms if (found := calls_in(start, arm))]
    few = [n for n in counts if n < N_ANSWERS]
    if few:
        yield because(
            "experiment.few_calls",
            n=len(few),
            of=len(counts),
            longest_s=LONGEST_S,
            wanted=N_ANSWERS,
            fewest=min(few),
        )


StartWindow = Callable[[Sequence[WindowPlan], Edge], RunningLoad]
"""Starts the load of one server, with what is to be called at its windows' edges."""


class Tally(Protocol):
    """What a watch saw."""

    @property
    def n(self) -> int:
        """How often it happened."""

    @property
    def trouble(self) -> Reason | None:
        """Why that is no count, in words; empty where it is one."""


class Watching(Protocol):
    """Looks at a server from its start to its stop."""

    def start(self) -> None:
        """Begin to watch; what happens from when this returns is seen."""

    def stop(self) -> Tally:
        """End it; return what was seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """Who counts for a metric, and for how long."""

    make: Callable[[Sequence[int]], Watching]
    """Makes one of a server's first processes."""
    load_s: float
    """Of load for each server."""
    label: str
    """What is counted is called so."""


WATCHES: Mapping[str, Watch] = {
    # Apache's parent replaces its dead once a second: four seconds hold some of its turns.
    "exits_per_request": Watch(make=ExitWatch, load_s=4.0, label="processes that end"),
}
"""By the metric's name."""


def watches_of(objective: Objective) -> dict[str, Watch]:
    """Return what each start counts, of the metrics that have a claim."""
    return {
        metric: WATCHES[metric]
        for metric in sorted(objective.named)
        if named(metric).source == "watch"
    }


def counted_under(watch: Watch, root_pids: Sequence[int], start: StartWindow) -> Count:
    """Return how often it happened to a server under a load, or why it was not counted.

    All of the load counts, from its first request on: a pool that rested is whole as it begins, and
    answers more than it does later, by processes of which none has ended yet.

    Args:
        watch: Who counts.
        root_pids: The server's first processes.
        start: Starts that load.
    """
    watching = watch.make(root_pids)
    watching.start()
    try:
        window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=watch.load_s)
        handle = start([window], lambda _window, _is_opening: None)
        with stopped_on_error(handle):
            handle.wait(math.inf)
    finally:
        tally = watching.stop()
    return count_of(tally, sum(each.completed for each in handle.measurements()))


def count_of(tally: Tally, n_answers: int) -> Count:
    """Return what a watch saw, or why it is no count. Pure.

    Args:
        tally: Of the watch.
        n_answers: Right ones that came meanwhile.
    """
    if not n_answers:
        return Count(uncounted=because("experiment.no_answer_meanwhile"))
    if tally.trouble:
        return Count(uncounted=tally.trouble)
    return Count(n=tally.n, n_answers=n_answers)


COUNT_S = 1.0
"""Of counting one server's system calls, where none were counted yet: strace takes hold, 20 answers
come some ten times slower, for a second at the most, and it lets go. The bundled gunicorn takes
0.3 s (`bookmarks`, two virtual cores)."""
LEAST_COUNT_S = 0.1
"""What no count takes less than: it waits for quiet at both edges of its load."""

LEAST_WORDS_S = 0.1
"""What counting the words of a header may always take of a server."""


class HeaderCost(NamedTuple):
    """What counting the words of a header takes of one server."""

    each_s: float = 0.0
    """In each start, at the least: up to two seconds where there is time, or a turn of phases."""
    once_s: float = 0.0
    """In the first start of a comparison alone."""


def header_cost(study: Study) -> HeaderCost:
    """Return what the header that a study counts takes of each server; nothing without one."""
    if not study.counted_header:
        return HeaderCost()
    if study.method.phases:
        turn_s = study.method.turn_s
        return (
            HeaderCost(each_s=turn_s)
            if "header words" in sources(study.objective.named)
            else HeaderCost(once_s=turn_s)
        )
    return HeaderCost(each_s=LEAST_WORDS_S)


def header_turns_s(study: Study, comparisons: Iterable[Sequence[Configuration]]) -> float:
    """Return what counting words takes in the first starts alone of comparisons that begin."""
    return header_cost(study).once_s * sum(map(len, comparisons))


class LookCost(Record, frozen=True):
    """What the looks so far took."""

    n_looks: int = 0
    looks_s: float = 0.0
    """With the longer ones that replaced some of them."""
    n_counts: int = 0
    """Servers whose system calls were counted as well, or were to be."""
    counts_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.looks_s + self.counts_s

    def __add__(self, other: "LookCost") -> "LookCost":
        """Return what both took together."""
        return LookCost(
            n_looks=self.n_looks + other.n_looks,
            looks_s=self.looks_s + other.looks_s,
            n_counts=self.n_counts + other.n_counts,
            counts_s=self.counts_s + other.counts_s,
        )

    def expected_s(self, n_looks: int, n_counts: int) -> float:
        """Return what so many more are expected to take: as those before did, in the mean."""
        look_s = self.looks_s / self.n_looks if self.n_looks else LOOK_S
        count_s = self.counts_s / self.n_counts if self.n_counts else COUNT_S
        return n_looks * look_s + n_counts * count_s


_REFERENCE = 0
_N_OF_STEP = 2


class LooksToTake:
    """Remembers what was looked at in the starts of a run so far."""

    def __init__(self, *, can_count: bool, cost: LookCost | None = None) -> None:
        """Remember nothing yet.

        Args:
            can_count: Whether system calls can be counted here, as far as that is known.
            cost: What earlier looks took, where that is known.
        """
        self._can_count = can_count
        self._seen_in: dict[str, int] = {}
        """Configuration → the comparison in which it was looked at first."""
        self._traced: set[str] = set()
        self._cost = cost or LookCost()

    def wanted(self, request: StartRequest) -> Mapping[int, bool]:
        """Return the arms that are to be looked at → whether their system calls are counted.

        None in a calibration: that says what a start takes, and its configuration is looked at
        beside the first candidate. Elsewhere of arms that are alike the first.
        """
        return self._wanted(request.arms, request.comparison, is_alone=request.is_alone)

    def took(
        self, request: StartRequest, looks: Mapping[int, Look], cost: LookCost | None = None
    ) -> None:
        """Take note of what was seen, so that it is looked for once.

        Where system calls could not be counted once, it is not tried again.

        Args:
            request: The start.
            looks: What was seen of which arm.
            cost: What that took, where it is known.
        """
        for arm, counts in self.wanted(request).items():
            if (look := looks.get(arm)) is not None:
                self._note(request.arms[arm].label(), request.comparison, counts=counts)
                self._can_count &= not counts or bool(look.calls)
        if cost is not None:
            self._cost += cost

    def expected_s(
        self, comparisons: Sequence[Sequence[Configuration]], *, is_alone: bool = False
    ) -> float:
        """Return the time of what is still to be looked at, were these compared in this order.

        Args:
            comparisons: That begin, with their arms.
            is_alone: As in a request.
        """
        ahead = LooksToTake(can_count=self._can_count)
        ahead._seen_in, ahead._traced = {**self._seen_in}, {*self._traced}
        n_looks = n_counts = 0
        for place, arms in enumerate(comparisons, 1):
            number = -place  # nobody's yet
            wanted = ahead._wanted(arms, number, is_alone=is_alone)
            for arm, counts in wanted.items():
                ahead._note(arms[arm].label(), number, counts=counts)
            n_looks += len(wanted)
            n_counts += sum(wanted.values())
        return self._cost.expected_s(n_looks, n_counts)

    def _wanted(
        self, arms: Sequence[Configuration], comparison: int, *, is_alone: bool
    ) -> dict[int, bool]:
        labels = [arm.label() for arm in arms]
        is_step = len(labels) == _N_OF_STEP
        if comparison == CALIBRATION_INDEX and len(set(labels)) == 1:
            return {}
        found = {}
        for arm, label in enumerate(labels):
            if label in labels[:arm]:
                continue
            is_new = label not in self._seen_in
            comes_again = self._seen_in.get(label, comparison) != comparison
            counts = is_alone or (is_step and (arm == _REFERENCE or comes_again))
            counts = counts and self._can_count and label not in self._traced
            if is_new or counts:
                found[arm] = counts
        return found

    def _note(self, label: str, comparison: int, *, counts: bool) -> None:
        self._seen_in.setdefault(label, comparison)
        if counts:
            self._traced.add(label)


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


def start_wants(
    study: Study,
    starts: Sequence[Sequence[Arm]],
    running: Mapping[Place, Running],
    looks: Mapping[int, bool],
) -> Wanted:
    """Return what these servers are wanted for, after what a study claims and what is to be seen.

    Args:
        study: Theirs.
        starts: All arms of starts that are side by side.
        running: Those that are up.
        looks: By the arm's number, those that nobody looked at yet, and whether the system calls
            of such a one are to be counted as well. The first start has the looks.
    """
    watches = watches_of(study.objective)
    roots = {place: each.root_pids for place, each in running.items()}
    seen = [place for place in running if place.start == 0 and place.arm in looks]
    return Wanted(
        onlookers={
            place: partial(looking_at, running[place], starts[place.start][place.arm].statsd)
            for place in seen
        },
        traced={place: roots[place] for place in seen if looks[place.arm]},
        counted=roots if "system calls" in sources(study.objective.named) else {},
        watches=watches,
        watched=roots if watches else {},
        header=header_cost(study),
    )
