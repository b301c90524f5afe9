"""Where a study is measured: on servers under load, or by a program that repeats its bodies.

Whether this process itself stood still: a signal, a frozen container, a laptop that slept.

While it does, servers go on, or do not, and nobody looks at them: what was being waited for is then
late by the clock and by nothing else, and a window holds time in which nothing was sent. No verdict
may come from that.

A thread that asks to be woken after `_BEAT_S` and is woken much later was not allowed to run. The
clock is one that goes on while the machine sleeps.

Real servers under real load: the bench that experiments run on.

A start: render and spawn every arm in its own place, wait until each answers, load them in turn
on standing connections, end them. Several starts come up side by side, as many as there is room
for: what it takes to start is spent once for all of them. The servers of the last ones end in the
background while the next come up, because between starts every second is taken from the evidence.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import structs

from httpdyno.errors import EngineError
from httpdyno.experiment.trial.afterwards import Looked, LooksToTake, header_turns_s, start_wants
from httpdyno.experiment.trial.arm import (
    FAILED_BEFORE,
    Arm,
    blame_nobody,
    came_up_of,
    cut_others_short,
    hung_alike,
    logs_of,
    require_room,
    running_in,
    see_crashes,
    see_limits,
    see_networks,
    silence,
)
from httpdyno.experiment.trial.bench import StartRequest
from httpdyno.experiment.trial.cycles import CycleMoments, KnownCycles
from httpdyno.experiment.trial.fragment_bench import FragmentBench
from httpdyno.experiment.trial.header_count import HeadersCounted, counted_headers
from httpdyno.experiment.trial.load import StartLoad
from httpdyno.experiment.trial.memory import (
    ArmSize,
    machine_room,
    n_side_by_side,
    see_short_memory,
    sizes_of,
)
from httpdyno.experiment.trial.same_answers import Sameness
from httpdyno.host.interruption import cleaning
from httpdyno.load.plan import CorePlan, own_core_plan, suited_threads
from httpdyno.metrics import named, sources
from httpdyno.model import (
    Configuration,
    HostFacts,
    StartRecord,
    Study,
    WindowRecord,
)
from httpdyno.servers.adapter import NotRunning, Running
from httpdyno.servers.difference import difference
from httpdyno.servers.fragments import FragmentTarget
from httpdyno.servers.limits.limit_group import limits_by
from httpdyno.servers.run.folder import RunRoot, new_run_root
from httpdyno.servers.run_data import RunData
from httpdyno.servers.stack.stack import Stack
from httpdyno.telemetry.account import account_of
from httpdyno.telemetry.collector import server_collectors
from httpdyno.telemetry.host import host_facts
from httpdyno.telemetry.syscalls.strace import can_trace, require_tracing

_BEAT_S = 0.1

STILL_S = 1.0
"""Beats that are this late are no busy machine's: a thread that hardly ever wants to run gets its
turn within tens of milliseconds."""


def sleepless_s() -> float:
    """Return the time since boot, with that in which the machine slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Gaps:
    """Adds up what lies between two beats beyond the beat itself."""

    def __init__(self, now_s: float) -> None:
        self._last_s = now_s
        self._still_s = 0.0

    def beat(self, now_s: float) -> None:
        """Take a beat's time."""
        late_s = now_s - self._last_s - _BEAT_S
        if late_s > STILL_S:
            self._still_s += late_s
        self._last_s = now_s

    @property
    def are_any(self) -> bool:
        """Whether it stood still since that was taken last."""
        return self._still_s > 0

    def taken(self) -> float:
        """Return for how long it stood still since this was taken last."""
        still_s, self._still_s = self._still_s, 0.0
        return still_s


class Pulse:
    """Beats in a thread of its own while it is entered."""

    def __init__(self, clock: Callable[[], float] = sleepless_s) -> None:
        self._clock = clock
        self._gaps = Gaps(clock())
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def still_s(self) -> float:
        """Return for how long this process stood still since this was asked last, in seconds."""
        # Asked just after the process was let go on, the thread may not have had its turn yet.
        self._beat()
        with self._lock:
            return self._gaps.taken()

    def stood_still(self) -> bool:
        """Tell whether this process stood still since `still_s` was asked last."""
        self._beat()
        with self._lock:
            return self._gaps.are_any

    def _run(self) -> None:
        while not self._is_over.wait(_BEAT_S):
            self._beat()

    def _beat(self) -> None:
        with self._lock:
            self._gaps.beat(self._clock())


class ServerBench:
    """Starts a study's server as its arms want it; use as a context manager."""

    def __init__(
        self, *, adapter: Stack, study: Study, seed: int, cores: CorePlan | None = None
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
        self._cycles = KnownCycles()
        self._sizes: dict[str, ArmSize] = {}
        """What each configuration's server took then."""
        self._turned: set[int] = set()
        """Comparisons of which the words of a header are counted."""
        # Where each start counts system calls, looks take theirs from there.
        self._sources = sources(study.objective.named)
        self._counts_calls = "system calls" in self._sources
        self._looks = LooksToTake(can_count=can_trace() and not self._counts_calls)
        self._sameness = Sameness(study, self._spawned)

    def __enter__(self) -> Self:
        if self._counts_calls:
            require_tracing()
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
                facts,
                client_cpus=self._cores.client,
                server_cpus=self._cores.server,
                limits_by=limits_by(each for _, each in self._study.limits),
            )
        return self._host

    def configuration_diff(self, start: Configuration, final: Configuration) -> str:
        """Return what differs between the two as the server gets them, environment included."""
        study = self._study
        spec, folder = study.server, Path(study.folder)
        return difference(
            *(self._adapter.render(spec, folder, study.of_server(e)) for e in (start, final))
        )

    def n_side_by_side(self, arms: Sequence[Configuration]) -> int:
        """Return how many starts of these arms may be up at the same time."""
        study, labels = self._study, [arm.label() for arm in arms]
        # How long windows must be is learnt by a start that has the machine for itself.
        is_credited = not study.workload.is_open_loop
        is_unknown = is_credited and not self._cycles.has(labels)
        if study.method.is_fresh or is_unknown or self._changes_at_rest():
            return 1
        return n_side_by_side(
            [self._sizes.get(arm.label()) for arm in arms],
            machine_room(),
            connections=max(study.load_of(arm).connections for arm in arms),
            limit=study.method.side_by_side,
        )

    def _changes_at_rest(self) -> bool:
        knobs = self._adapter.knobs()
        return any(
            knobs[knob.name].changes_at_rest for knob in self._study.knobs if knob.name in knobs
        )

    def looks_s(
        self, comparisons: Sequence[Sequence[Configuration]], *, is_alone: bool = False
    ) -> float:
        """Return what looking at servers is expected to take, were these compared in this order.

        The words of a header that are counted once in each of them are in it.
        """
        looks_s = self._looks.expected_s(comparisons, is_alone=is_alone)
        return looks_s + header_turns_s(self._study, comparisons)

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
            for request, start in zip(requests, starts, strict=True):
                request.tell([arm.running.root_pids if arm.running else () for arm in start])
            self._await_ready(arms)
            self._sameness.before_load(requests[0].arms, starts)
            windows, looked, seen = self._load(requests, starts, save)
            for arm in arms:
                arm.read_log()
            see_crashes(arms)
            self._sameness.after_load(requests[0].arms, starts)
            see_limits(arms)
            if self._root is not None:
                require_room(arms, self._root)
            see_short_memory(requests[0].arms, starts, windows)
            is_disturbed = see_networks(starts)
            still_s = self._pulse.still_s()
            if still_s:
                blame_nobody(arms, still_s)
                is_disturbed = True
            if not is_disturbed:
                self._cycles.add(requests[0].labels, seen)
                self._sizes.update(sizes_of(requests[0].arms, windows))
            headers = HeadersCounted()
            if windows and not is_disturbed:
                # Last, when all is judged: what befalls a server now was in none of its windows.
                headers = counted_headers(
                    self._study,
                    requests[0],
                    running_in(starts),
                    seed=self._seed,
                    cpus=self._cores.client,
                    has_turn=requests[0].comparison in self._turned,
                    left_s=len(requests) * requests[0].limit_s - (sleepless_s() - self._since_s),
                )
                still_s += self._pulse.still_s()
                # A start that is tried again has its counts in no summary.
                if headers.words and all(a.status == "complete" for a in arms if a.running):
                    self._turned.add(requests[0].comparison)
        finally:
            self._end(arms)
        now_s = sleepless_s()
        # What it slept through is nobody's time: a budget is for measuring.
        passed_s, self._since_s = now_s - self._since_s, now_s
        duration_s = max(0.0, passed_s - before_s - still_s) / len(requests)
        records = [
            StartRecord(
                comparison=request.comparison,
                start=request.start,
                began_at=began_at,
                duration_s=duration_s,
                looked_s=(looked.cost.total_s + headers.once_s) / len(requests),
                system_calls=looked.calls_of_start(number, len(start)),
                counts=looked.counts_of_start(number, len(start)),
                header_words=headers.of_start(number, len(start)),
                counted_s=(looked.counted_s + headers.each_s) / len(requests),
                came_up_s=came_up_of(start) if "coming up" in self._sources else (),
                statuses=tuple(arm.status for arm in start),
                details=tuple(arm.detail for arm in start),
                ready_s=tuple(arm.ready_s for arm in start),
                effective=tuple(arm.effective for arm in start),
                looks=looked.of_start(number, len(start)),
                log_lines=logs_of(start),
                uncompared=self._sameness.uncompared(),
                varied=self._sameness.varied(),
                tried=tuple(dict.fromkeys(each for arm in start for each in arm.tried)),
                windows=tuple(window for window in windows if window.start == request.start),
            )
            for number, (request, start) in enumerate(zip(requests, starts, strict=True))
        ]
        if not is_disturbed:
            self._cycles.judge(requests[0].labels, records)
        return records

    def _make_data(self) -> None:
        if self._data is not None and self._data.make():
            self._since_s = sleepless_s()  # no start took this time

    def _spawn_all(self, requests: Sequence[StartRequest]) -> list[list[Arm]]:
        starts: list[list[Arm]] = []
        try:
            for request in requests:
                starts.append(self._spawn(request))
        except BaseException:
            self._end([arm for start in starts for arm in start])
            raise
        return starts

    def _spawn(self, request: StartRequest) -> list[Arm]:
        arms: dict[int, Arm] = {}
        try:
            for number in request.lined_up:
                if number in request.left_out:
                    arms[number] = Arm(running=None, status="infeasible", detail=FAILED_BEFORE)
                    continue
                if hung := hung_alike(request.arms, arms, number):
                    arms[number] = Arm(running=None, status=hung.status, detail=hung.detail)
                    continue
                # Not the arm's number: a server must not be able to tell which it is.
                name = f"c{request.comparison}-s{request.start}"
                if "coming up" in self._sources:
                    self._finish_ending()  # the machine is for the one that comes up
                arms[number] = Arm.of(self._spawned(request.arms[number], name))
                if "coming up" in self._sources:
                    arms[number].await_ready()
        except BaseException:
            self._end([*arms.values()])
            raise
        return [arms[number] for number in range(len(request.arms))]

    def _spawned(self, configuration: Configuration, name: str = "again") -> Running | NotRunning:
        if self._root is None:
            raise RuntimeError("the bench is not entered")
        return self._adapter.spawn(
            self._study.server,
            Path(self._study.folder),
            self._study.of_server(configuration),
            self._root.new_place(name, cpus=self._cores.server),
        )

    def _await_ready(self, arms: Sequence[Arm]) -> None:
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
        starts: Sequence[Sequence[Arm]],
        save: Callable[[WindowRecord], None],
    ) -> tuple[list[WindowRecord], Looked, Mapping[int, CycleMoments]]:
        """Return the windows, and what was seen of the servers and each arm's cycles."""
        running = running_in(starts)
        load = StartLoad(
            workloads=[self._study.load_of(arm) for arm in requests[0].arms],
            requests=requests,
            addresses={place: each.addresses[0] for place, each in running.items()},
            networks={place: each.networks[0] for place, each in running.items()},
            collectors={
                place: server_collectors(account_of(each), each.limits, each.n_lookups)
                for place, each in running.items()
            },
            wanted=start_wants(self._study, starts, running, self._looks.wanted(requests[0])),
            seed=self._seed,
            cpus=self._cores.client,
            phases=self._study.method.phases,
            decides=self._study.method.decides,
            act=lambda place, command: running[place].act(command),
            kept={named(each).distribution for each in self._study.objective.named},
            known=self._cycles.of(requests[0].labels),
            is_disturbed=lambda: (
                self._pulse.stood_still()
                or any(each.network_trouble() for each in running.values())
            ),
        )
        try:
            windows = load.run(save)
        except EngineError:
            # The way into a network ends with its holder.
            if not see_networks(starts):
                raise
            windows = []
        if load.silence is not None:
            place = load.silence.place
            cut_others_short(starts, {place.start})
            arm = starts[place.start][place.arm]
            sent = load.workloads[place.arm].requests
            status, why = silence(load.silence.measurement, running[place], arm.workers, sent)
            arm.fail(status, *why, *load.shut_out.get(place, ()))
        elif load.shut_out:
            cut_others_short(starts, {place.start for place in load.shut_out})
            for place, trouble in load.shut_out.items():
                starts[place.start][place.arm].fail("infeasible", *trouble)
        self._looks.took(requests[0], load.looked.by_arm, load.looked.cost)
        return windows, load.looked, load.seen

    def _end(self, arms: Sequence[Arm]) -> None:
        self._finish_ending()
        for arm in arms:
            arm.statsd.close()
        self._ending = [
            self._stopper.submit(arm.running.stop) for arm in arms if arm.running is not None
        ]

    def _finish_ending(self) -> None:
        ending, self._ending = self._ending, []
        for future in ending:
            future.result()


def bench_of(adapter: Stack, study: Study, *, seed: int) -> ServerBench | FragmentBench:
    """Return the bench of a study; to be used as a context manager.

    Args:
        adapter: Of its server, or its program.
        study: What is measured.
        seed: Of all that is drawn.
    """
    if isinstance(adapter, FragmentTarget):
        return FragmentBench(target=adapter, study=study, seed=seed)
    return ServerBench(adapter=adapter, study=study, seed=seed)
