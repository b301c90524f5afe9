"""Real servers under real load: the bench that experiments run on.

A start: render and spawn every arm in its own place, wait until each answers, load them in turn
on standing connections, end them. The servers of the last start end in the background while the
next ones come up, because between starts every second is taken from the evidence.
"""

import difflib
import math
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from httpdyno.experiment.bench import StartRequest
from httpdyno.experiment.pulse import Pulse, sleepless_s
from httpdyno.load.engine import SPIN_S, LoadHandle, WindowPlan, start_load, suited_threads
from httpdyno.model import (
    Configuration,
    Effective,
    HostFacts,
    Measurement,
    StartRecord,
    Study,
    TrialStatus,
    WindowRecord,
)
from httpdyno.servers.adapter import NotRunning, Running, ServerAdapter
from httpdyno.servers.run_folder import RunRoot, claim
from httpdyno.telemetry.host import host_facts
from httpdyno.telemetry.process_tree import ProcessTree
from httpdyno.telemetry.window import WindowTelemetry
from httpdyno.units import format_duration

READY_TIMEOUT_S = 20.0
_POLL_S = 0.05
_MIN_CPUS_TO_SPLIT = 4
"""Below, client and server share all cores: pinning one away would change the question."""


class ServerBench:
    """Starts a study's server as its arms want it; use as a context manager."""

    def __init__(self, *, adapter: ServerAdapter, study: Study, seed: int) -> None:
        self._adapter = adapter
        self._study = study
        self._seed = seed
        self._root: RunRoot | None = None
        self._ending: list[Future[None]] = []
        self._host: HostFacts | None = None
        self._client_cpus = client_cpus()
        self._pulse = Pulse()
        self._since_s = sleepless_s()

    def __enter__(self) -> Self:
        # The stopper outlives every server; servers themselves are spawned by this thread.
        self._stopper = ThreadPoolExecutor(max_workers=8, thread_name_prefix="stop")
        self._root = claim()
        self._pulse.__enter__()
        self._since_s = sleepless_s()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as stack:
            if self._root is not None:
                stack.callback(self._root.release)
            stack.callback(self._pulse.__exit__, None, None, None)
            stack.callback(self._stopper.shutdown)
            stack.callback(self._finish_ending)

    def host(self) -> HostFacts:
        """Return this machine's facts, read once."""
        if self._host is None:
            facts = host_facts(self._adapter.version())
            self._host = structs.replace(facts, client_cpus=tuple(self._client_cpus))
        return self._host

    def configuration_diff(self, start: Configuration, final: Configuration) -> str:
        """Return the unified diff of the server's files, as rendered for the two."""
        spec, folder = self._study.server, Path(self._study.folder)
        before = self._adapter.render(spec, folder, start).files
        after = self._adapter.render(spec, folder, final).files
        parts: list[str] = []
        for name in sorted({*before, *after}):
            old, new = before.get(name, ""), after.get(name, "")
            parts += difflib.unified_diff(
                old.splitlines(keepends=True), new.splitlines(keepends=True), name, name
            )
        return "".join(parts)

    def measure_start(
        self, request: StartRequest, save: Callable[[WindowRecord], None]
    ) -> StartRecord:
        """Start the arms, load them window by window, end them."""
        began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        before_s = self._pulse.still_s()
        arms = self._spawn(request)
        try:
            self._await_ready(arms)
            windows = _Load(self._study, request, arms, self._client_cpus, self._seed).run(save)
            _see_crashes(arms)
            still_s = self._pulse.still_s()
            if still_s:
                _blame_nobody(arms, still_s)
        finally:
            self._end(arms)
        now_s = sleepless_s()
        # What it slept through is nobody's time: a budget is for measuring.
        passed_s, self._since_s = now_s - self._since_s, now_s
        duration_s = max(0.0, passed_s - before_s - still_s)
        return StartRecord(
            comparison=request.comparison,
            start=request.start,
            began_at=began_at,
            duration_s=duration_s,
            statuses=tuple(arm.status for arm in arms),
            details=tuple(arm.detail for arm in arms),
            ready_s=tuple(arm.ready_s for arm in arms),
            effective=tuple(arm.effective for arm in arms),
            windows=tuple(windows),
        )

    def _spawn(self, request: StartRequest) -> "list[_Arm]":
        if self._root is None:
            raise RuntimeError("the bench is not entered")
        arms: list[_Arm] = []
        try:
            for number, configuration in enumerate(request.arms):
                if number in request.left_out:
                    arms.append(_Arm(running=None, status="infeasible", detail="failed before"))
                    continue
                place = self._root.new_place(f"c{request.comparison}-s{request.start}-{number}")
                spawned = self._adapter.spawn(
                    self._study.server, Path(self._study.folder), configuration, place
                )
                arms.append(_Arm.of(spawned))
        except BaseException:
            self._end(arms)
            raise
        return arms

    @staticmethod
    def _await_ready(arms: "Sequence[_Arm]") -> None:
        began_s = time.monotonic()
        for arm in arms:
            if arm.running is None:
                continue
            left_s = max(0.1, began_s + READY_TIMEOUT_S - time.monotonic())
            answer = arm.running.await_ready(left_s)
            arm.ready_s = time.monotonic() - began_s
            if isinstance(answer, NotRunning):
                arm.fail(answer.status, answer.detail)
            else:
                arm.effective = answer

    def _end(self, arms: "Sequence[_Arm]") -> None:
        self._finish_ending()
        self._ending = [
            self._stopper.submit(arm.running.stop) for arm in arms if arm.running is not None
        ]

    def _finish_ending(self) -> None:
        ending, self._ending = self._ending, []
        for future in ending:
            future.result()


@dataclass(kw_only=True)
class _Arm:
    """One arm of a start, as it comes along."""

    running: Running | None
    status: TrialStatus = "complete"
    detail: str = ""
    ready_s: float = 0.0
    effective: Effective = field(default_factory=Effective)

    @classmethod
    def of(cls, spawned: Running | NotRunning) -> "_Arm":
        if isinstance(spawned, NotRunning):
            return cls(running=None, status=spawned.status, detail=spawned.detail)
        return cls(running=spawned)

    def fail(self, status: TrialStatus, detail: str) -> None:
        self.status, self.detail = status, detail

    @property
    def is_up(self) -> bool:
        return self.running is not None and self.status == "complete"


def _see_crashes(arms: Sequence[_Arm]) -> None:
    for arm in arms:
        if arm.is_up and arm.running is not None and not arm.running.is_alive():
            arm.fail("crashed", arm.running.last_words())


def _blame_nobody(arms: Sequence[_Arm], still_s: float) -> None:
    """Call a start disturbed in which this process itself was not there to look."""
    words = f"httpdyno itself stood still for {format_duration(still_s)}"
    for arm in arms:
        arm.fail("unstable", words)


class _Load:
    """One start's load: warm-up of every arm, then its blocks."""

    def __init__(
        self,
        study: Study,
        request: StartRequest,
        arms: Sequence[_Arm],
        cpus: Sequence[int],
        seed: int,
    ) -> None:
        self._study = study
        self._request = request
        self._arms = arms
        self._cpus = cpus
        self._seed = seed
        # The engine's arms are those that run; theirs are the indices in its windows.
        self._up = [number for number, arm in enumerate(arms) if arm.is_up]
        self._plan: list[WindowPlan] = []
        self._blocks: list[int] = []
        """The block of each window; −1 is warm-up."""

    def run(self, save: Callable[[WindowRecord], None]) -> list[WindowRecord]:
        """Load the arms; return the windows, without the warm-up."""
        if not self._up:
            return []
        self._lay_out()
        telemetry = WindowTelemetry(
            [ProcessTree(self._running(number).root_pid) for number in self._up],
            [window.arm for window in self._plan],
            pss_windows=self._last_windows(),
        )
        handle = start_load(
            self._study.workload,
            [self._running(number).address for number in self._up],
            self._plan,
            threads=suited_threads(self._study.workload),
            cpus=self._cpus,
            seed=self._seed,
            spin_s=SPIN_S if self._cpus and self._study.workload.is_open_loop else 0.0,
            on_edge=telemetry.on_edge,
        )
        return self._follow(handle, telemetry, save)

    def _running(self, number: int) -> Running:
        running = self._arms[number].running
        if running is None:
            raise RuntimeError(f"arm {number} does not run")
        return running

    def _lay_out(self) -> None:
        request = self._request
        for index in range(len(self._up) if request.warm_up_s > 0 else 0):
            self._plan.append(WindowPlan(arm=index, lead_in_s=0.0, measure_s=request.warm_up_s))
            self._blocks.append(-1)
        for block, order in enumerate(request.order):
            for number in order:
                if number in self._up:
                    self._plan.append(
                        WindowPlan(
                            arm=self._up.index(number),
                            lead_in_s=request.lead_in_s,
                            measure_s=request.window_s,
                        )
                    )
                    self._blocks.append(block)

    def _last_windows(self) -> frozenset[int]:
        """Return each arm's last window: reading proportional memory is slow, so once a start."""
        return frozenset({window.arm: index for index, window in enumerate(self._plan)}.values())

    def _follow(
        self,
        handle: LoadHandle,
        telemetry: WindowTelemetry,
        save: Callable[[WindowRecord], None],
    ) -> list[WindowRecord]:
        records: list[WindowRecord] = []
        n_seen, is_over = 0, False
        try:
            while not is_over:
                is_over = handle.wait(_POLL_S)
                measurements = handle.measurements()[n_seen:]
                for measurement in measurements:
                    if self._is_silent(n_seen, measurement):
                        # What the stop cuts short is nobody's fault: it is not looked at.
                        handle.stop()
                        handle.wait(math.inf)
                        return records
                    if self._blocks[n_seen] >= 0:
                        records.append(self._record(n_seen, measurement, telemetry))
                        save(records[-1])
                    n_seen += 1
        except BaseException:
            handle.stop()
            handle.wait(math.inf)
            raise
        return records

    def _is_silent(self, index: int, measurement: Measurement) -> bool:
        """Tell whether an arm answered nothing: its silence would eat the whole budget."""
        arm = self._arms[self._up[self._plan[index].arm]]
        is_silent = measurement.completed == 0 and measurement.offered > 0
        if is_silent:
            kinds = ", ".join(f"{n} {kind}" for kind, n in measurement.errors.items())
            statuses = ", ".join(f"{n} with {code}" for code, n in measurement.statuses.items())
            arm.fail(
                "infeasible" if measurement.statuses else "hung",
                f"no right answer in a whole window: {kinds} {statuses}".rstrip(),
            )
        return is_silent

    def _record(
        self, index: int, measurement: Measurement, telemetry: WindowTelemetry
    ) -> WindowRecord:
        return WindowRecord(
            comparison=self._request.comparison,
            start=self._request.start,
            block=self._blocks[index],
            arm=self._up[self._plan[index].arm],
            measurement=measurement,
            telemetry=telemetry.of(index),
        )


def client_cpus() -> tuple[int, ...]:
    """Return the cores that are the load client's own; empty on a machine too small to split."""
    cpus = sorted(os.sched_getaffinity(0))
    return (cpus[-1],) if len(cpus) >= _MIN_CPUS_TO_SPLIT else ()
