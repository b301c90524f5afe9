"""Where starts of a study about code are measured: programs that repeat bodies."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from httpdyno.experiment.arm_load import said
from httpdyno.experiment.bench import StartRequest
from httpdyno.experiment.fragment_start import FragmentStart, Seat
from httpdyno.host.interruption import cleaning
from httpdyno.model import (
    Configuration,
    HostFacts,
    StartRecord,
    Study,
    TrialStatus,
    WindowRecord,
    level_text,
)
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.difference import difference
from httpdyno.servers.fragments import FragmentTarget, Program
from httpdyno.servers.run.folder import RunRoot, new_run_root
from httpdyno.telemetry.host import host_facts
from httpdyno.telemetry.kernel import steal_s

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
                details={number: said(each.detail) for number, each in failed.items()},
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
                failed[number] = NotRunning(status="infeasible", detail="failed before")
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
