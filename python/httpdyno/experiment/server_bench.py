"""Real servers under real load: the bench that experiments run on.

A start: render and spawn every arm in its own place, wait until each answers, load them in turn
on standing connections, end them. Several starts come up side by side, as many as there is room
for: what it takes to start is spent once for all of them. The servers of the last ones end in the
background while the next come up, because between starts every second is taken from the evidence.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.experiment.bench import StartRequest
from httpdyno.experiment.machine_room import machine_room
from httpdyno.experiment.side_by_side import ArmSize, n_side_by_side
from httpdyno.experiment.silent_server import crash_words, silence
from httpdyno.experiment.standstill import Pulse, sleepless_s
from httpdyno.experiment.start_load import Place, StartLoad
from httpdyno.experiment.window_choice import CycleMoments
from httpdyno.interruption import cleaning
from httpdyno.load.core_plan import CorePlan, own_core_plan
from httpdyno.load.machine import suited_threads
from httpdyno.model import (
    Configuration,
    Effective,
    HostFacts,
    StartRecord,
    Study,
    TrialStatus,
    WindowRecord,
)
from httpdyno.servers.adapter import NotRunning, Running, ServerAdapter
from httpdyno.servers.difference import difference
from httpdyno.servers.live_process import children_of
from httpdyno.servers.root_folder import ROOT_VARIABLE, full_disk
from httpdyno.servers.run_data import RunData
from httpdyno.servers.run_folder import RunRoot, new_run_root
from httpdyno.telemetry.collector import server_collectors
from httpdyno.telemetry.host import host_facts
from httpdyno.units import format_duration

READY_TIMEOUT_S = 20.0
_NOT_FOR_WANT_OF_ROOM = ("complete", "infeasible")


class ServerBench:
    """Starts a study's server as its arms want it; use as a context manager."""

    def __init__(
        self, *, adapter: ServerAdapter, study: Study, seed: int, cores: CorePlan | None = None
    ) -> None:
        self._adapter = adapter
        self._study = study
        self._seed = seed
        self._root: RunRoot | None = None
        self._data: RunData | None = None
        self._ending: list[Future[None]] = []
        self._host: HostFacts | None = None
        if cores is None:
            cores = own_core_plan(suited_threads(study.workload), study.method.cores)
        self._cores = cores
        self._pulse = Pulse()
        self._since_s = sleepless_s()
        self._cycles: dict[str, CycleMoments] = {}
        """What is known of each configuration's cycles, from starts that nothing disturbed."""
        self._sizes: dict[str, ArmSize] = {}
        """What each configuration's server took then."""

    def __enter__(self) -> Self:
        # The stopper outlives every server; servers themselves are spawned by this thread.
        self._stopper = ThreadPoolExecutor(max_workers=8, thread_name_prefix="stop")
        self._root = new_run_root()
        self._data = RunData(
            self._study.server, self._root, cpus=self._cores.server, adapter=self._adapter
        )
        self._pulse.__enter__()
        self._since_s = sleepless_s()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with cleaning(), ExitStack() as stack:
            if self._root is not None:
                stack.callback(self._root.release)
            if self._data is not None:
                stack.callback(self._data.clear)
            stack.callback(self._pulse.__exit__, None, None, None)
            stack.callback(self._stopper.shutdown)
            stack.callback(self._finish_ending)

    def host(self) -> HostFacts:
        """Return this machine's facts, read once."""
        if self._host is None:
            facts = host_facts(self._adapter.version(self._study.server, Path(self._study.folder)))
            self._host = structs.replace(
                facts, client_cpus=self._cores.client, server_cpus=self._cores.server
            )
        return self._host

    def configuration_diff(self, start: Configuration, final: Configuration) -> str:
        """Return what differs between the two as the server gets them, environment included."""
        spec, folder = self._study.server, Path(self._study.folder)
        return difference(
            self._adapter.render(spec, folder, start), self._adapter.render(spec, folder, final)
        )

    def n_side_by_side(self, arms: Sequence[Configuration]) -> int:
        """Return how many starts of these arms may be up at the same time."""
        study, labels = self._study, {arm.label() for arm in arms}
        # How long windows must be is learnt by a start that has the machine for itself.
        is_credited = not study.workload.is_open_loop
        is_unknown = is_credited and not labels <= self._cycles.keys()
        if study.method.is_fresh or is_unknown or self._changes_at_rest():
            return 1
        return n_side_by_side(
            [self._sizes.get(arm.label()) for arm in arms],
            machine_room(),
            connections=study.workload.connections,
            limit=study.method.side_by_side,
        )

    def _changes_at_rest(self) -> bool:
        knobs = self._adapter.knobs()
        return any(
            knobs[knob.name].changes_at_rest for knob in self._study.knobs if knob.name in knobs
        )

    def measure_starts(
        self, requests: Sequence[StartRequest], save: Callable[[WindowRecord], None]
    ) -> list[StartRecord]:
        """Start the arms of all, load them window by window, end them."""
        self._make_data()
        began_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        before_s = self._pulse.still_s()
        starts = self._spawn_all(requests)
        arms = [arm for start in starts for arm in start]
        try:
            self._await_ready(arms)
            windows, seen = self._load(requests, starts, save)
            _see_crashes(arms)
            self._see_full_disk(arms)
            still_s = self._pulse.still_s()
            if still_s:
                _blame_nobody(arms, still_s)
            else:
                self._cycles.update(seen)
                self._sizes.update(_sizes(requests[0].arms, windows))
        finally:
            self._end(arms)
        now_s = sleepless_s()
        # What it slept through is nobody's time: a budget is for measuring.
        passed_s, self._since_s = now_s - self._since_s, now_s
        duration_s = max(0.0, passed_s - before_s - still_s) / len(requests)
        return [
            StartRecord(
                comparison=request.comparison,
                start=request.start,
                began_at=began_at,
                duration_s=duration_s,
                statuses=tuple(arm.status for arm in start),
                details=tuple(arm.detail for arm in start),
                ready_s=tuple(arm.ready_s for arm in start),
                effective=tuple(arm.effective for arm in start),
                windows=tuple(window for window in windows if window.start == request.start),
            )
            for request, start in zip(requests, starts, strict=True)
        ]

    def _make_data(self) -> None:
        if self._data is not None and self._data.make():
            self._since_s = sleepless_s()  # no start took this time

    def _spawn_all(self, requests: Sequence[StartRequest]) -> "list[list[_Arm]]":
        starts: list[list[_Arm]] = []
        try:
            for request in requests:
                starts.append(self._spawn(request))
        except BaseException:
            self._end([arm for start in starts for arm in start])
            raise
        return starts

    def _spawn(self, request: StartRequest) -> "list[_Arm]":
        if self._root is None:
            raise RuntimeError("the bench is not entered")
        arms: dict[int, _Arm] = {}
        try:
            for number in request.lined_up:
                if number in request.left_out:
                    arms[number] = _Arm(running=None, status="infeasible", detail="failed before")
                    continue
                if hung := _hung_alike(request.arms, arms, number):
                    arms[number] = _Arm(running=None, status=hung.status, detail=hung.detail)
                    continue
                # Not the arm's number: a server must not be able to tell which it is.
                place = self._root.new_place(
                    f"c{request.comparison}-s{request.start}", cpus=self._cores.server
                )
                spawned = self._adapter.spawn(
                    self._study.server, Path(self._study.folder), request.arms[number], place
                )
                arms[number] = _Arm.of(spawned)
        except BaseException:
            self._end([*arms.values()])
            raise
        return [arms[number] for number in range(len(request.arms))]

    def _await_ready(self, arms: "Sequence[_Arm]") -> None:
        """Wait for all arms at the same time, so that each has all of it and none waits for one."""
        spawned = [arm for arm in arms if arm.running is not None]
        with ThreadPoolExecutor(max_workers=max(1, len(spawned))) as waiters:
            waiting = [waiters.submit(arm.await_ready) for arm in spawned]
            try:
                for each in waiting:
                    each.result()
            except BaseException:
                # A server that ends is not waited for any longer.
                self._end(arms)
                raise

    def _load(
        self,
        requests: Sequence[StartRequest],
        starts: "Sequence[Sequence[_Arm]]",
        save: Callable[[WindowRecord], None],
    ) -> tuple[list[WindowRecord], dict[str, CycleMoments]]:
        """Return the windows, and what was seen of each configuration's cycles."""
        labels = [arm.label() for arm in requests[0].arms]
        running = {
            Place(start, number): arm.running
            for start, arms in enumerate(starts)
            for number, arm in enumerate(arms)
            if arm.is_up and arm.running is not None
        }
        load = StartLoad(
            workload=self._study.workload,
            requests=requests,
            addresses={place: each.addresses[0] for place, each in running.items()},
            networks={place: each.networks[0] for place, each in running.items()},
            collectors={
                place: server_collectors(each.root_pids) for place, each in running.items()
            },
            seed=self._seed,
            cpus=self._cores.client,
            known={
                number: self._cycles[label]
                for number, label in enumerate(labels)
                if label in self._cycles
            },
            is_disturbed=self._pulse.stood_still,
        )
        windows = load.run(save)
        if load.silence is not None:
            place = load.silence.place
            _cut_others_short(starts, {place.start})
            arm = starts[place.start][place.arm]
            sent = self._study.workload.requests
            arm.fail(*silence(load.silence.measurement, running[place], arm.workers, sent))
        elif load.shut_out:
            _cut_others_short(starts, {place.start for place in load.shut_out})
            for place, trouble in load.shut_out.items():
                starts[place.start][place.arm].fail("infeasible", trouble)
        return windows, {
            labels[number]: load.known.get(number, CycleMoments()) + moments
            for number, moments in load.seen.items()
        }

    def _see_full_disk(self, arms: "Sequence[_Arm]") -> None:
        """Give up where a server failed and had no room: that is no fault of its configuration.

        Raises:
            AdapterError: It is so.
        """
        # Before the servers end: their folders, which made it full, go with them.
        if self._root is None or all(arm.status in _NOT_FOR_WANT_OF_ROOM for arm in arms):
            return
        if words := full_disk(self._root.folder, self._root.memory_folder):
            raise AdapterError(
                f"a server could not come up, and {words}",
                hint=f"free some space, or set `{ROOT_VARIABLE}` to a folder on another disk",
            )

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
    workers: frozenset[int] = frozenset()
    """The root process's children when it was ready."""

    @classmethod
    def of(cls, spawned: Running | NotRunning) -> "_Arm":
        if isinstance(spawned, NotRunning):
            return cls(running=None, status=spawned.status, detail=spawned.detail)
        return cls(running=spawned)

    def await_ready(self) -> None:
        if self.running is None:
            return
        began_s = time.monotonic()
        answer = self.running.await_ready(READY_TIMEOUT_S)
        self.ready_s = time.monotonic() - began_s
        if isinstance(answer, NotRunning):
            self.fail(answer.status, answer.detail)
            return
        self.effective = answer
        self.workers = children_of(self.running.root_pids)

    def fail(self, status: TrialStatus, detail: str) -> None:
        self.status, self.detail = status, detail

    @property
    def is_up(self) -> bool:
        return self.running is not None and self.status == "complete"


def _hung_alike(
    configurations: Sequence[Configuration], arms: Mapping[int, _Arm], number: int
) -> _Arm | None:
    """Return an arm of the same configuration that hung before it was spawned: another would too.

    Whoever compares a configuration with itself does not wait for the same thing twice.
    """
    return next(
        (
            arm
            for other, arm in arms.items()
            if configurations[other] == configurations[number]
            and arm.running is None
            and arm.status == "hung"
        ),
        None,
    )


def _see_crashes(arms: Sequence[_Arm]) -> None:
    for arm in arms:
        if arm.is_up and arm.running is not None and not arm.running.is_alive():
            arm.fail("crashed", crash_words(arm.running))


def _cut_others_short(starts: Sequence[Sequence[_Arm]], ended: Collection[int]) -> None:
    """Call the starts disturbed whose load ended because of servers of those of these numbers."""
    for start, arms in enumerate(starts):
        for arm in arms:
            if start not in ended and arm.is_up:
                arm.fail("unstable", "a server of another start beside it stopped answering")


def _sizes(arms: Sequence[Configuration], windows: Sequence[WindowRecord]) -> dict[str, ArmSize]:
    """Return what the servers took, the largest of each configuration."""
    sizes: dict[str, ArmSize] = {}
    for window in windows:
        seen = window.telemetry
        if seen.pss_bytes is not None:
            label = arms[window.arm].label()
            known = sizes.get(label, ArmSize(pss_bytes=0, n_processes=0))
            sizes[label] = ArmSize(
                pss_bytes=max(known.pss_bytes, seen.pss_bytes),
                n_processes=max(known.n_processes, seen.n_processes),
            )
    return sizes


def _blame_nobody(arms: Sequence[_Arm], still_s: float) -> None:
    """Call a start disturbed in which this process itself was not there to look."""
    words = f"httpdyno itself stood still for {format_duration(still_s)}"
    for arm in arms:
        arm.fail("unstable", words)
