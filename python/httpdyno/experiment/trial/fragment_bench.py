"""Where starts of a study about code are measured: programs that repeat bodies.

One start of a study about code: batches of its bodies in turn, the empty body among them.

In each block every body has a batch, and so has the empty one of the process that it is called in,
in random order; so what else goes on hits all, and what a loop takes is taken off where it was
taken. Processes come in through `Repeats`, so all of this is the same with a fake one.

Where starts of a study about code are measured: programs that repeat bodies.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from types import TracebackType
from typing import Protocol, Self

from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.host.interruption import cleaning
from httpdyno.model import (
    Calls,
    Configuration,
    HostFacts,
    Measurement,
    StartRecord,
    Study,
    Telemetry,
    TrialStatus,
    WindowRecord,
    level_text,
)
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.difference import difference
from httpdyno.servers.fragments import Batch, FragmentTarget, Program
from httpdyno.servers.run.folder import RunRoot, new_run_root
from httpdyno.telemetry.host import host_facts
from httpdyno.telemetry.kernel import steal_s

_NEAR = 2.0
"""A batch may take so many times too much or too little of its CPU time."""
_GROWTH = 100
"""By no more than this a batch grows at a time: the first calls may be slow ones."""
_MOST_TRIES = 30
"""After so many a body takes what it takes: it is another time each time."""
_MOST_WAIT = 20.0
"""So many times its CPU time a batch may take, of a body that waits."""
_LEAST_S = 1e-7
"""Of a batch: what its clock cannot see took no less."""
_N_ASKED = 5
"""Batches of no calls, of which the median is what asking takes."""
MOST_CALLS = 10**12


class Repeats(Protocol):
    """A process that calls bodies."""

    def batch(self, name: str, n: int) -> Batch | NotRunning:
        """Have a body called so many times; return what it took, or what came of the process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """Where an arm's body is called."""

    process: int
    """Index into the start's processes: bodies whose programs are the same share one."""
    body: str


@dataclass(kw_only=True)
class FragmentStart:
    """Measures one start; `statuses` and `details` say what came of each arm."""

    request: StartRequest
    processes: Sequence[Repeats]
    seats: Mapping[int, Seat]
    """Of each arm that takes part."""
    empty: str
    """The empty body's name."""
    window_s: float
    """What a batch is to take of CPU time."""
    counts: dict[str, int]
    """Calls that took so long in earlier starts, by body; taken in."""
    clock: Callable[[], float]
    save: Callable[[WindowRecord], None]
    seed: int = 0
    stolen_s: Callable[[], float] = lambda: 0.0
    """What the machine's host took of its CPUs so far."""
    statuses: dict[int, TrialStatus] = field(default_factory=dict)
    details: dict[int, tuple[Reason, ...]] = field(default_factory=dict)
    windows: list[WindowRecord] = field(default_factory=list)
    _asking: dict[int, Batch] = field(default_factory=dict)
    _counts: dict[tuple[int, str], int] = field(default_factory=dict)
    """Of this start: a process has its own speed."""

    def run(self) -> None:
        """Call each body until its batches are as long as they are to be, then all in turn."""
        if not all(self._calibrated(place, body) for place, body in self._first_calls()):
            return
        for number in range(len(self.processes)):
            if not self._ask(number):
                return
        for block, order in enumerate(self.request.order):
            if not self._block(block, [arm for arm in order if arm in self.seats]):
                return

    def _first_calls(self) -> list[tuple[int, str]]:
        """Return each body with its process, in the order in which they are called first.

        A program that makes a body when it is first called has them lie otherwise in memory in
        each start, so that no body is always the one that lies well.
        """
        seats = [self.seats[arm] for arm in self.request.lined_up if arm in self.seats]
        bodies = list(dict.fromkeys((seat.process, seat.body) for seat in seats))
        dice = self._dice(0)
        for number in range(len(self.processes)):
            if (number, self.empty) not in bodies:
                bodies.insert(dice.randint(0, len(bodies)), (number, self.empty))
        return bodies

    def _dice(self, purpose: int) -> Random:
        request = self.request
        return Random(repr((self.seed, "empty", request.comparison, request.start, purpose)))

    def _calibrated(self, process: int, body: str) -> bool:
        """Find how many calls fill a batch, by CPU time; return whether all is well.

        Wall time bounds what waits: a process that had no core for a while waits too, so that
        counts where it is so twice.
        """
        n, last, n_waits = self.counts.get(body, 1), 0, 0
        # The first call makes the body, loads what it needs, and says nothing of later ones.
        seen = self.processes[process].batch(body, 1)
        for _ in range(_MOST_TRIES):
            if isinstance(seen, NotRunning):
                return self._fail((process, body), seen.status, seen.detail)
            is_near = self.window_s / _NEAR <= seen.cpu_s <= self.window_s * _NEAR
            if last and seen.cpu_s < self.window_s and seen.wall_s > self.window_s * _MOST_WAIT:
                n_waits += 1
                if n_waits > 1:
                    n = max(1, round(last * self.window_s * _MOST_WAIT / seen.wall_s))
                    break
            elif last:
                wanted = last * self.window_s / max(seen.cpu_s, _LEAST_S)
                n = min(max(1, round(wanted)), last * _GROWTH, MOST_CALLS)
                if is_near or n == last:
                    break
            last, seen = n, self.processes[process].batch(body, n)
        self._counts[process, body] = self.counts[body] = n
        return True

    def _ask(self, process: int) -> bool:
        """See what it takes to be asked for a batch; return whether all is well."""
        seen: list[Batch] = []
        for _ in range(_N_ASKED):
            batch = self.processes[process].batch(self.empty, 0)
            if isinstance(batch, NotRunning):
                return self._fail((process, self.empty), batch.status, batch.detail)
            seen.append(batch)
        self._asking[process] = Batch(
            n=0,
            cpu_s=median(each.cpu_s for each in seen),
            wall_s=median(each.wall_s for each in seen),
        )
        return True

    def _block(self, block: int, arms: Sequence[int]) -> bool:
        """Measure a block: every arm, and the empty body of each process, at a random place."""
        visits = [(self.seats[arm].process, self.seats[arm].body, arm) for arm in arms]
        dice = self._dice(block + 1)
        for process in dict.fromkeys(seat.process for seat in self.seats.values()):
            visits.insert(dice.randint(0, len(visits)), (process, self.empty, _NOBODY))
        empty: dict[int, Batch] = {}
        seen: list[tuple[int, tuple[float, float], Batch]] = []
        for process, body, arm in visits:
            opened = self.clock(), self.stolen_s()
            batch = self._batch(process, body)
            if batch is None:
                return False
            if arm == _NOBODY:
                empty[process] = batch
            else:
                around = opened[0], max(0.0, self.stolen_s() - opened[1])
                seen.append((arm, around, batch))
        for arm, around, batch in seen:
            window = self._window(block, arm, around, (batch, empty[self.seats[arm].process]))
            self.windows.append(window)
            self.save(window)
        return True

    def _batch(self, process: int, body: str) -> Batch | None:
        """Return a batch without what asking for it took; None where the process failed."""
        seen = self.processes[process].batch(body, self._counts[process, body])
        if isinstance(seen, NotRunning):
            self._fail((process, body), seen.status, seen.detail)
            return None
        asking = self._asking[process]
        return Batch(
            n=seen.n,
            cpu_s=max(0.0, seen.cpu_s - asking.cpu_s),
            wall_s=max(0.0, seen.wall_s - asking.wall_s),
            said_cpu_s=seen.said_cpu_s,
        )

    def _window(
        self, block: int, arm: int, around: tuple[float, float], batches: tuple[Batch, Batch]
    ) -> WindowRecord:
        (opened_s, stolen_s), (batch, empty) = around, batches
        asking = self._asking[self.seats[arm].process]
        return WindowRecord(
            comparison=self.request.comparison,
            start=self.request.start,
            block=block,
            arm=arm,
            measurement=Measurement(
                opened_s=opened_s,
                measured_s=batch.wall_s,
                total_s=batch.wall_s + asking.wall_s,
                offered=batch.n,
                completed=batch.n,
                measured_offered=batch.n,
                measured_completed=batch.n,
            ),
            telemetry=Telemetry(
                cpu_s=batch.cpu_s,
                n_processes=1,
                steal_s=stolen_s,
                calls=Calls(
                    n_empty=empty.n,
                    empty_cpu_s=empty.cpu_s,
                    empty_wall_s=empty.wall_s,
                    said_cpu_s=batch.said_cpu_s,
                ),
            ),
        )

    def _fail(self, where: tuple[int, str], status: TrialStatus, why: Reason) -> bool:
        """Note of whose body it is that the process failed; of all its bodies for the empty one."""
        process, body = where
        for arm, seat in self.seats.items():
            if seat.process == process and body in {seat.body, self.empty}:
                self.statuses[arm] = status
                self.details[arm] = (why,)
        return False


_NOBODY = -1
"""In the place of an arm: the empty body's batch."""


_MOST_PADDING = 4096
"""Bytes by which environments differ: a page, after which places repeat."""


class FragmentBench:
    """Starts a study's program and has its bodies called; use as a context manager."""

    def __init__(self, *, target: FragmentTarget, study: Study, seed: int) -> None:
        if study.fragments is None:
            raise TypeError("a study about code says what is repeated")
        self._target = target
        self._study = study
        self._fragments = study.fragments
        self._folder = Path(study.folder)
        self._seed = seed
        self._root: RunRoot | None = None
        self._host: HostFacts | None = None
        self._counts: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._root = new_run_root()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with cleaning():
            if self._root is not None:
                self._root.release()

    def host(self) -> HostFacts:
        """Return this machine's facts, read once."""
        if self._host is None:
            self._host = host_facts(self._target.version(self._study.server, self._folder))
        return self._host

    def configuration_diff(self, start: Configuration, final: Configuration) -> str:
        """Return what differs between the two: the body, the command line, the environment."""
        spec = self._study.server
        return difference(*(self._target.render(spec, self._folder, e) for e in (start, final)))

    def n_side_by_side(self, arms: Sequence[Configuration]) -> int:
        """Return 1: what computes beside another one takes its caches and its core."""
        del arms
        return 1

    def looks_s(
        self, comparisons: Sequence[Sequence[Configuration]], *, is_alone: bool = False
    ) -> float:
        """Return 0: there is nothing to look at."""
        del comparisons, is_alone
        return 0.0

    def measure_starts(
        self, requests: Sequence[StartRequest], save: Callable[[WindowRecord], None]
    ) -> list[StartRecord]:
        """Start the programs of each, have the bodies called block by block, end them."""
        return [self._measured(request, save) for request in requests]

    def _measured(self, request: StartRequest, save: Callable[[WindowRecord], None]) -> StartRecord:
        began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        began_s = time.monotonic()
        with ExitStack() as ended:
            programs, seats, failed = self._spawned(request, ended)
            request.tell(
                [
                    (programs[seats[number].process].pid,) if number in seats else ()
                    for number in range(len(request.arms))
                ]
            )
            start = FragmentStart(
                request=request,
                processes=programs,
                seats=seats,
                empty=self._fragments.empty,
                window_s=request.window_s,
                counts=self._counts,
                clock=time.monotonic,
                save=save,
                seed=self._seed,
                stolen_s=steal_s,
                statuses={number: each.status for number, each in failed.items()},
                details={number: (each.detail,) for number, each in failed.items()},
            )
            if seats:
                start.run()
        n_arms = range(len(request.arms))
        complete: TrialStatus = "complete"
        return StartRecord(
            comparison=request.comparison,
            start=request.start,
            began_at=began_at,
            duration_s=time.monotonic() - began_s,
            statuses=tuple(start.statuses.get(arm, complete) for arm in n_arms),
            details=tuple(start.details.get(arm, ()) for arm in n_arms),
            windows=tuple(start.windows),
        )

    def _spawned(
        self, request: StartRequest, ended: ExitStack
    ) -> tuple[list[Program], dict[int, Seat], Mapping[int, NotRunning]]:
        """Return the programs, where each arm's body is called, and arms that have none."""
        programs: list[Program] = []
        places: dict[str, int | NotRunning] = {}
        seats: dict[int, Seat] = {}
        failed: dict[int, NotRunning] = {}
        for number in request.lined_up:
            if number in request.left_out:
                failed[number] = NotRunning(
                    status="infeasible", detail=because("experiment.failed_before")
                )
                continue
            arm = request.arms[number]
            key = self._target.of_program(arm).label()
            if key not in places:
                places[key] = self._program(request, arm, (programs, ended))
            place = places[key]
            if isinstance(place, NotRunning):
                failed[number] = place
            else:
                body = level_text(arm.values[self._fragments.knob])
                seats[number] = Seat(process=place, body=body)
        return programs, seats, failed

    def _program(
        self, request: StartRequest, arm: Configuration, up: tuple[list[Program], ExitStack]
    ) -> int | NotRunning:
        """Start an arm's program; return its place among those that are up, or why there is none.

        Raises:
            AdapterError: No process can be started.
        """
        if self._root is None:
            raise RuntimeError("the bench is not entered")
        programs, ended = up
        found = self._target.program(
            self._study.server,
            self._folder,
            arm,
            self._root.new_place(f"c{request.comparison}-s{request.start}"),
            n_padding=self._padding(request, len(programs)),
        )
        if isinstance(found, NotRunning):
            return found
        ended.callback(found.stop)
        programs.append(found)
        return len(programs) - 1

    def _padding(self, request: StartRequest, number: int) -> int:
        place = (self._seed, "padding", request.comparison, request.start, number)
        return Random(repr(place)).randrange(_MOST_PADDING)
