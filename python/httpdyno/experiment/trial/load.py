"""The load of starts: first steps, warm-up, windows.

Whether the users of each arm got through their first steps.

How much load servers have before their windows: for a time that is drawn, or by count.

What a server is like may hang on how many requests it has had: a pool unshares what its parent
loaded, caches fill. After a warm-up by time that is another number on each machine, and another
beside other work; after one by count it is the same.

The load of starts that are up side by side: the warm-up of every arm, then blocks of windows.

In a closed loop the warm-up is looked at as well: its cycles say how long the windows must be. Once
they are known, all arms of several starts are warmed up at the same time.
"""

import math
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from httpdyno.experiment.trial.afterwards import Looked, Wanted, look_afterwards
from httpdyno.experiment.trial.bench import StartRequest, start_seed
from httpdyno.experiment.trial.budget import COMING_UP_S, require_time
from httpdyno.experiment.trial.cycles import (
    PILOT_TAIL_S,
    CycleMoments,
    WindowChoice,
    choose_windows,
)
from httpdyno.experiment.trial.engine_loads import ArmLoads, Place, Silence, stopped_on_error
from httpdyno.experiment.trial.phases import Act, PhasedWindows, also_opening, decisive, turn_s
from httpdyno.load.engine import Edge, LoadHandle, RunningLoad
from httpdyno.load.entrance import entrance_trouble
from httpdyno.load.message import WindowPlan
from httpdyno.model import Measurement, Phase, Telemetry, WindowRecord, Workload
from httpdyno.model.workload import at_rate
from httpdyno.reason import Reason, because
from httpdyno.telemetry.collector import Collector, WindowTelemetry

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


_LONGEST = 2.0
"""Times what was asked."""
_CYCLES_S = 0.5
"""After a warm-up by count, what is looked at for the length of cycles: as long as a warm-up by
time is unless said."""

Play = Callable[[Place, WindowPlan, Callable[[int, Measurement], None]], None]
"""Loads one place, and hands on what it measured; nothing where the place fell silent, or users did
not get in."""


def drawn_s(request: StartRequest, seed: int) -> float:
    """Return how long the arms of a start are warmed up: up to twice as long as asked.

    Servers do some things once in so many requests: they replace a process, collect garbage,
    write a log. Were all starts as long before their windows, these would fall into the windows
    of all of them, or of none, and no number of starts would show it.

    Of a warm-up by count it is what comes after that, where cycles must be learnt.
    """
    asked_s = request.warm_up_s
    if request.warm_up_requests:
        asked_s = min(asked_s, _CYCLES_S)
    text = start_seed(seed, request.comparison, request.start, 4)
    return asked_s * (1 + random.Random(text).random() * (_LONGEST - 1))


def later_s(request: StartRequest, took_s: float, counted_s: float) -> float:
    """Return what the warm-up of a later start takes at the most, which learns nothing of cycles.

    Args:
        request: Of a start.
        took_s: What all of the first one's warm-up took.
        counted_s: What of that was by count.
    """
    if request.warm_up_requests:
        return counted_s
    # The arms of later starts are warmed up all together.
    return min(took_s, _LONGEST * request.warm_up_s)


@dataclass(kw_only=True, slots=True)
class CountedWarmUp:
    """Has servers answer a number of requests each, one server after the other.

    Each has the machine for itself: what they may take does not hang on how many there are.
    """

    n_requests: int
    limit_s: float
    """The longest that one server may take."""
    play: Play
    now_s: Callable[[], float] = time.monotonic
    took_s: float = 0.0
    """For all of them, once they ran."""

    def run(self, up: Sequence[Place]) -> dict[Place, tuple[Reason, ...]]:
        """Warm servers up; return which did not come to as many answers in that time, and how many.

        Ends early where one falls silent, or users do not get in: `play` knows more of that.
        """
        began_s = self.now_s()
        short: dict[Place, tuple[Reason, ...]] = {}
        for place in up:
            n_answers = self._n_answers(place)
            if n_answers is None:
                break
            if n_answers < self.n_requests:
                too_few = because(
                    "experiment.warm_up_too_slow",
                    n=n_answers,
                    of=self.n_requests,
                    limit_s=self.limit_s,
                )
                short[place] = (too_few,)
        self.took_s = self.now_s() - began_s
        return short

    def _n_answers(self, place: Place) -> int | None:
        """Return how many answers a server came to; wrong ones are answers, too."""
        end_s, n_answers = self.now_s() + self.limit_s, 0
        left_s = self.limit_s
        # What failed is asked again.
        while n_answers < self.n_requests and left_s > 0:
            n_left = self.n_requests - n_answers
            plan = WindowPlan(arm=0, lead_in_s=0.0, measure_s=left_s, n_requests=n_left)
            seen: list[Measurement] = []
            self.play(place, plan, partial(_keep, seen))
            if not seen:
                return None
            n_answers += sum(seen[0].statuses.values())
            left_s = end_s - self.now_s()
        return n_answers


def _keep(seen: list[Measurement], _index: int, measurement: Measurement) -> None:
    seen.append(measurement)


_POLL_S = 0.05
_FIRST_PHASE = 10
"""What is drawn for windows of phases is drawn apart, and apart for each of an arm's."""


@dataclass(kw_only=True)
class StartLoad:
    """The load of starts of the same arms, on those that are up."""

    workloads: Sequence[Workload]
    """What each arm is asked, the same of all but where a knob is of the load; (n_arms,)."""
    requests: Sequence[StartRequest]
    """Alike in all but the number of the start and the order; (n_starts,)."""
    addresses: Mapping[Place, str]
    """Where each arm that is up answers."""
    seed: int
    """The plan's; each start draws from its own."""
    networks: Mapping[Place, str] = field(default_factory=dict)
    """Paths of the network namespaces that they answer in, but for this process's own."""
    collectors: Mapping[Place, Sequence[Collector]] = field(default_factory=dict)
    """What is read of each arm's server over its windows."""
    wanted: Wanted = field(default_factory=Wanted)
    """What is to be looked at when the windows are through."""
    cpus: Sequence[int] = ()
    phases: Sequence[Phase] = ()
    """What each turn of an arm goes through; empty is a window of a steady load."""
    decides: str = ""
    """The phase that is compared."""
    act: Act = lambda _place, _command: None
    kept: Collection[str] = ()
    """Distributions that something is claimed of: they are kept of each window."""
    known: Mapping[int, CycleMoments] = field(default_factory=dict)
    """What earlier starts say of the arms' cycles, by arm; without those of which they say
    nothing."""
    is_disturbed: Callable[[], bool] = lambda: False
    """Whether this process itself stood still, so that nothing may be learnt of latencies."""
    fit: Callable[[WindowChoice], WindowChoice] = lambda choice: choice
    """Fits windows that cycles ask for to the time that there is."""
    asked_to_end: Callable[[], bool] = lambda: False
    """Whether somebody wants the windows to end now; those that ended by then count."""
    outlives_silence: bool = False
    """Whether only the warm-up ends where an arm falls silent: nobody here can start it anew."""
    sees_entrances: bool = True
    """Whether what is learnt of cycles includes how users come in, which takes a window of each arm
    and may make all lead-ins longer. They come in once a load: in many windows that is little."""
    silence: Silence | None = None
    """Set when an arm fell silent, which ends the load."""
    shut_out: dict[Place, tuple[Reason, ...]] = field(default_factory=dict)
    """The arms whose users did not all get through their first steps, with the trouble; that ends
    the load too."""
    looked: Looked = field(default_factory=Looked)
    """What was seen of them then."""
    seen: dict[int, CycleMoments] = field(default_factory=dict)
    """What these starts say of them."""
    counted_s: float = 0.0
    """What a warm-up by count took."""
    _is_warm: bool = False

    def run(self, save: Callable[[WindowRecord], None]) -> list[WindowRecord]:
        """Load the arms; return the windows, without the warm-up.

        None where the warm-up was disturbed: a start that is not used needs no windows, least of
        all such as its latencies would ask for.

        Raises:
            UsageError: With windows as long as the latencies demand, the start would take longer
                than it may.
        """
        began_s = time.monotonic()
        if not self.addresses:
            return []
        is_learning = self._is_learning
        if not self._warm_up() or self.is_disturbed():
            return []
        choice = self._choice()
        self._require_time(choice, time.monotonic() - began_s)
        if is_learning and self.sees_entrances:
            if not self._see_how_users_come_in(choice) or self.is_disturbed():
                return []
            choice = self._choice()
            self._require_time(choice, time.monotonic() - began_s)
        self._is_warm = True
        up, turns = self._up, self._turns(choice.n_blocks)
        plan = [
            WindowPlan(
                arm=up.index(place),
                lead_in_s=choice.lead_in_s,
                measure_s=choice.measure_s,
                spread_s=choice.spread_s,
                tail_s=choice.tail_s,
            )
            for _, place in turns
        ]
        watch = WindowTelemetry(
            [self.collectors.get(place, ()) for place in up], [window.arm for window in plan]
        )
        records: list[WindowRecord] = []

        def keep(block: int, place: Place, seen: Measurement, telemetry: Telemetry) -> None:
            record = WindowRecord(
                comparison=self._first.comparison,
                start=self.requests[place.start].start,
                block=block,
                arm=place.arm,
                measurement=seen.lean(self.kept, self.workloads[place.arm].request_names),
                telemetry=telemetry,
            )
            records.append(record)
            save(record)

        if self.phases:
            phased = PhasedWindows(
                phases=self.phases,
                decides=self.decides,
                measure_s=choice.measure_s,
                tail_s=choice.tail_s,
                act=self.act,
                play=self._play_one,
            )
            troubles = phased.run(turns, keep)
            self._tell({place: each.reasons for place, each in troubles.items()})
        else:
            self._play(
                up, plan, 1, watch.on_edge, lambda n, seen: keep(*turns[n], seen, watch.of(n))
            )
        if self._is_sound:
            asked = decisive(self.workloads, self.phases, self.decides)
            loads = replace(self._loads, workloads=asked)
            self.looked = look_afterwards(
                self.wanted,
                up,
                lambda place: asked[place.arm],
                lambda places, looks, on_edge: loads.start(places, looks, 5, on_edge),
                self._start_one,
            )
        return records

    def _play_one(
        self, place: Place, phase: Phase, plan: WindowPlan, number: int, open_: Callable[[], None]
    ) -> tuple[Measurement, Telemetry] | None:
        """Play a phase's window; None where the arm fell silent, or users did not get in."""
        found: list[tuple[Measurement, Telemetry]] = []
        watch = WindowTelemetry([self.collectors.get(place, ())], [0])
        on_edge = also_opening(watch.on_edge, open_)
        loads = replace(
            self._loads, workloads=[at_rate(each, phase.rate_per_s) for each in self.workloads]
        )
        self._follow(
            loads.start([place], [plan], _FIRST_PHASE + number, on_edge),
            [place],
            [plan],
            lambda n, seen: found.append((seen, watch.of(n))),
        )
        if self.silence is not None:
            self._tell({place: (because("experiment.in_phase", phase=phase.name),)})
        return found[0] if found else None

    def _tell(self, trouble: Mapping[Place, tuple[Reason, ...]]) -> None:
        """Take in what phases could not do, beside what else is said of the same arm."""
        for place, why in trouble.items():
            self.shut_out[place] = (*self.shut_out.get(place, ()), *why)

    @property
    def workload(self) -> Workload:
        """What all arms have in common: all but what knobs of the load set."""
        return self.workloads[0]

    @property
    def _first(self) -> StartRequest:
        return self.requests[0]

    @property
    def _up(self) -> list[Place]:
        """The arms that run, in the order of the engine's own."""
        lined_up = [request.lined_up for request in self.requests]
        return sorted(
            self.addresses, key=lambda place: (place.start, lined_up[place.start].index(place.arm))
        )

    @property
    def _is_sound(self) -> bool:
        return self.silence is None and not self.shut_out

    @property
    def _is_credited(self) -> bool:
        return not self.workload.is_open_loop

    @property
    def _is_learning(self) -> bool:
        """Whether the warm-up is to show how long cycles are."""
        is_known = all(place.arm in self.known for place in self._up)
        is_asked = self._first.warm_up_s > 0 and not self.phases
        return self._is_credited and is_asked and not is_known

    def _turns(self, n_blocks: int) -> list[tuple[int, Place]]:
        """Return the block and place of each window, in order; (n_windows,).

        The arms of a start come one right after the other, so that whatever the machine does then
        hits both. In each block the starts come in random order.
        """
        draw = random.Random(start_seed(self.seed, self._first.comparison, self._first.start, 2))
        turns = []
        for block in range(n_blocks):
            starts = draw.sample(range(len(self.requests)), len(self.requests))
            places = (Place(n, arm) for n in starts for arm in self.requests[n].order[block])
            turns += [(block, place) for place in places if place in self.addresses]
        return turns

    def _warm_up(self) -> bool:
        """Load each arm for a while; False where one fell silent, or users did not get in."""
        if self._first.warm_up_s <= 0:
            return True
        if self._first.warm_up_requests:
            self._count_up()
            if not self._is_sound or not self._is_learning:
                return self._is_sound
        if self._is_credited and not self._is_learning:
            self._warm_up_together()
            return self._is_sound
        tail_s = min(PILOT_TAIL_S, self.workload.timeout_s) if self._is_credited else 0.0
        up = self._up
        plan = [
            WindowPlan(arm=n, lead_in_s=0.0, measure_s=self._drawn_s(place), tail_s=tail_s)
            for n, place in enumerate(up)
        ]
        self._play(up, plan, 0, None, lambda _index, _measurement: None)
        return self._is_sound

    def _see_how_users_come_in(self, choice: WindowChoice) -> bool:
        """Load each arm with users that begin one after the other; False where it fell silent.

        In the warm-up they begin all at once, since nothing is known of their cycles before it.
        """
        up = self._up
        plan = [choice.entrance(index) for index in range(len(up))]
        self._play(up, plan, 3, None, lambda _index, _measurement: None)
        return self._is_sound

    def _drawn_s(self, place: Place) -> float:
        return drawn_s(self.requests[place.start], self.seed)

    def _count_up(self) -> None:
        """Have each arm answer as many requests as were asked for."""
        counted = CountedWarmUp(
            n_requests=self._first.warm_up_requests,
            limit_s=self._first.warm_up_s,
            play=lambda place, window, keep: self._play([place], [window], 7, None, keep),
        )
        self._tell(counted.run(self._up))
        self.counted_s = counted.took_s

    def _warm_up_together(self) -> None:
        """Load all arms of all starts at once: their cycles are known, so nothing is learnt."""
        with ExitStack() as stack:
            handles = []
            for place in self._up:
                window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=self._drawn_s(place))
                handle = self._start([place], [window], 0, None)
                stack.enter_context(stopped_on_error(handle))
                handles.append(handle)
            for place, handle in zip(self._up, handles, strict=True):
                handle.wait(math.inf)
                self._entrances.see([place], handle)

    def _choice(self) -> WindowChoice:
        request = self._first
        n_blocks = len(request.order)
        # A study that wants neither warm-up nor lead-in asks for what fresh servers do at first.
        is_fresh = bool(self.phases) or (request.warm_up_s <= 0 and request.lead_in_s <= 0)
        if not self._is_credited or is_fresh:
            as_asked = WindowChoice(
                n_blocks=n_blocks,
                spread_s=0.0,
                lead_in_s=request.lead_in_s,
                measure_s=request.window_s,
                tail_s=PILOT_TAIL_S if self._is_credited else 0.0,
                cycle_s=0.0,
                window_s=turn_s(self.phases, request.window_s, request.lead_in_s),
            )
            return self.fit(as_asked)
        arms = [
            self.known.get(arm, CycleMoments()) + self.seen.get(arm, CycleMoments())
            for arm in sorted({place.arm for place in self._up})
        ]
        choice = choose_windows(
            arms,
            n_users=min(each.connections for each in self.workloads),
            n_blocks=n_blocks,
            window_s=request.window_s,
            lead_in_s=request.lead_in_s,
            limit_s=min(request.limit_s, request.windows_s),
        )
        return self.fit(choice)

    def _require_time(self, choice: WindowChoice, warm_up_s: float) -> None:
        """Refuse what cannot fit before it is begun, not when the budget is gone."""
        windows_s = choice.n_blocks * len(self._up) * choice.window_s
        n, limit_s = self._first.n_needed, self._first.limit_s
        if n == 0:
            return
        # What is learnt of cycles, one arm after the other, is learnt once.
        each_s = later_s(self._first, warm_up_s, self.counted_s)
        load_s = windows_s + (warm_up_s + (n - 1) * each_s) / n
        load_s += self.wanted.least_counted_s(len(self._up), n)
        each_s = load_s + len(self._up) * COMING_UP_S
        needed = self._first.ahead.needed(each_s)
        require_time(load_s, limit_s, n, needed=needed, cycle_s=choice.cycle_s, met_s=choice.met_s)

    def _play(
        self,
        up: Sequence[Place],
        plan: Sequence[WindowPlan],
        part: int,
        on_edge: Edge | None,
        keep: Callable[[int, Measurement], None],
    ) -> None:
        """Have the engine run windows; hand on each as it ends, until an arm falls silent."""
        self._follow(self._start(up, plan, part, on_edge), up, plan, keep)

    def _follow(
        self,
        handle: RunningLoad,
        up: Sequence[Place],
        plan: Sequence[WindowPlan],
        keep: Callable[[int, Measurement], None],
    ) -> None:
        with stopped_on_error(handle):
            n_seen, is_over = 0, False
            entered: set[int] = set()
            while not is_over:
                is_over = handle.wait(_POLL_S)
                # Asked for as long as there are some to come: it costs the engine's time.
                if self.workload.first and len(entered) < len(up):
                    entered = self._entrances.see(up, handle)
                if self.shut_out:
                    handle.stop()
                    handle.wait(math.inf)
                    rest = [place for n, place in enumerate(up) if n not in entered]
                    self._entrances.see_others(rest, self._start)
                    return
                for measurement in handle.measurements()[n_seen:]:
                    self._see(up[plan[n_seen].arm], measurement)
                    if self.silence is not None:
                        # What the stop cuts short is nobody's fault: it is not looked at.
                        handle.stop()
                        handle.wait(math.inf)
                        return
                    keep(n_seen, measurement)
                    n_seen += 1
                if not is_over and self.asked_to_end():
                    handle.stop()
                    handle.wait(math.inf)
                    return

    def _start(
        self, up: Sequence[Place], plan: Sequence[WindowPlan], part: int, on_edge: Edge | None
    ) -> RunningLoad:
        return self._loads.start(up, plan, part, on_edge)

    def _start_one(
        self, place: Place, workload: Workload, window: WindowPlan, on_edge: Edge
    ) -> LoadHandle:
        return self._loads.engine_load([place], [window], (6,), on_edge, workload)

    @property
    def _entrances(self) -> Entrances:
        return Entrances(self.workload, self.shut_out)

    @property
    def _loads(self) -> ArmLoads:
        return ArmLoads(
            workloads=self.workloads,
            addresses=self.addresses,
            networks=self.networks,
            cpus=self.cpus,
            seed=(self.seed, self._first.comparison, self._first.start),
        )

    def _see(self, place: Place, measurement: Measurement) -> None:
        if measurement.cycles is not None:
            moments = CycleMoments.of([measurement.cycles])
            self.seen[place.arm] = self.seen.get(place.arm, CycleMoments()) + moments
        is_silent = measurement.completed == 0 and measurement.offered > 0
        if is_silent and not (self._is_warm and self.outlives_silence):
            self.silence = Silence(place=place, measurement=measurement)
