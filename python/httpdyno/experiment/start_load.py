"""One start's load on servers that answer: the warm-up of every arm, then its blocks of windows.

In a closed loop the warm-up is looked at as well: its cycles say how long the windows must be.
"""

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from httpdyno.errors import UsageError
from httpdyno.experiment.bench import StartRequest
from httpdyno.experiment.window_choice import (
    PILOT_TAIL_S,
    CycleMoments,
    WindowChoice,
    choose_windows,
)
from httpdyno.load.engine import Edge, LoadHandle, start_load
from httpdyno.load.machine import SPIN_S, suited_threads
from httpdyno.load.window_plan import WindowPlan
from httpdyno.model import Measurement, WindowRecord, Workload
from httpdyno.telemetry.collector import Collector
from httpdyno.telemetry.window import WindowTelemetry
from httpdyno.units import format_duration

_POLL_S = 0.05
BESIDE_LOAD = 1.2
"""For the time that servers take to come up, about, where a start's load is long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Silence:
    """An arm that gave no right answer in a whole window: its silence would eat the budget."""

    arm: int
    measurement: Measurement


@dataclass(kw_only=True)
class StartLoad:
    """The load of one start on the arms that are up."""

    workload: Workload
    request: StartRequest
    addresses: Mapping[int, str]
    """Where each arm that is up answers, by its number in the request."""
    seed: int
    """The plan's; each start draws from its own."""
    collectors: Mapping[int, Sequence[Collector]] = field(default_factory=dict)
    """What is read of each arm's server over its windows."""
    cpus: Sequence[int] = ()
    known: Mapping[int, CycleMoments] = field(default_factory=dict)
    """What earlier starts say of the arms' cycles."""
    is_disturbed: Callable[[], bool] = lambda: False
    """Whether this process itself stood still, so that nothing may be learnt of latencies."""
    silence: Silence | None = None
    """Set when an arm fell silent, which ends the load."""
    seen: dict[int, CycleMoments] = field(default_factory=dict)
    """What this start says of them."""

    def run(self, save: Callable[[WindowRecord], None]) -> list[WindowRecord]:
        """Load the arms; return the windows, without the warm-up.

        None where the warm-up was disturbed: a start that is not used needs no windows, least of
        all such as its latencies would ask for.

        Raises:
            UsageError: With windows as long as the latencies demand, the start would take longer
                than it may.
        """
        began_s = time.monotonic()
        if not self.addresses or not self._warm_up() or self.is_disturbed():
            return []
        choice = self._choice()
        self._require_time(choice, time.monotonic() - began_s)
        plan: list[WindowPlan] = []
        blocks: list[int] = []
        for block, order in enumerate(self.request.order[: choice.n_blocks]):
            for number in order:
                if number in self.addresses:
                    plan.append(
                        WindowPlan(
                            arm=self._up.index(number),
                            lead_in_s=choice.lead_in_s,
                            measure_s=choice.measure_s,
                            spread_s=choice.spread_s,
                            tail_s=choice.tail_s,
                        )
                    )
                    blocks.append(block)
        watch = WindowTelemetry(
            [self.collectors.get(number, ()) for number in self._up],
            [window.arm for window in plan],
        )
        records: list[WindowRecord] = []

        def keep(index: int, measurement: Measurement) -> None:
            record = WindowRecord(
                comparison=self.request.comparison,
                start=self.request.start,
                block=blocks[index],
                arm=self._up[plan[index].arm],
                measurement=measurement.lean(),
                telemetry=watch.of(index),
            )
            records.append(record)
            save(record)

        self._play(plan, 1, watch.on_edge, keep)
        return records

    @property
    def _up(self) -> list[int]:
        """The arms that run, in the order of the engine's own."""
        return sorted(self.addresses)

    @property
    def _is_credited(self) -> bool:
        return not self.workload.is_open_loop

    def _warm_up(self) -> bool:
        """Load each arm for a while; False where one fell silent."""
        warm_up_s = self.request.warm_up_s
        if warm_up_s <= 0:
            return True
        tail_s = min(PILOT_TAIL_S, self.workload.timeout_s) if self._is_credited else 0.0
        plan = [
            WindowPlan(arm=index, lead_in_s=0.0, measure_s=warm_up_s, tail_s=tail_s)
            for index in range(len(self._up))
        ]
        self._play(plan, 0, None, lambda _index, _measurement: None)
        return self.silence is None

    def _choice(self) -> WindowChoice:
        request = self.request
        n_blocks = len(request.order)
        # A study that wants neither warm-up nor lead-in asks for what fresh servers do at first.
        is_fresh = request.warm_up_s <= 0 and request.lead_in_s <= 0
        if not self._is_credited or is_fresh:
            return WindowChoice(
                n_blocks=n_blocks,
                spread_s=0.0,
                lead_in_s=request.lead_in_s,
                measure_s=request.window_s,
                tail_s=PILOT_TAIL_S if self._is_credited else 0.0,
                cycle_s=0.0,
                window_s=request.lead_in_s + request.window_s,
            )
        arms = [
            self.known.get(number, CycleMoments()) + self.seen.get(number, CycleMoments())
            for number in self._up
        ]
        return choose_windows(
            arms,
            n_users=self.workload.connections,
            n_blocks=n_blocks,
            window_s=request.window_s,
            lead_in_s=request.lead_in_s,
            limit_s=request.limit_s,
        )

    def _require_time(self, choice: WindowChoice, warm_up_s: float) -> None:
        """Refuse what cannot fit before it is begun, not when the budget is gone."""
        load_s = warm_up_s + choice.n_blocks * len(self._up) * choice.window_s
        n, limit_s = self.request.n_needed, self.request.limit_s
        if n == 0 or load_s <= limit_s:
            return
        why, advice = "by the study's method", ""
        if choice.cycle_s > 0:
            cycle = format_duration(choice.cycle_s)
            why = f"because the server takes about {cycle} for a cycle of request and pause"
            advice = ". More connections shorten windows where latencies vary much."
        raise UsageError(
            f"one start takes {format_duration(load_s)} of load, {why}; the budget "
            f"leaves {format_duration(limit_s)} for each of {n} starts",
            hint=f"{n} such starts take about {format_duration(n * load_s * BESIDE_LOAD)}; "
            f"see `--budget`{advice}",
        )

    def _play(
        self,
        plan: Sequence[WindowPlan],
        part: int,
        on_edge: Edge | None,
        keep: Callable[[int, Measurement], None],
    ) -> None:
        """Have the engine run windows; hand on each as it ends, until an arm falls silent."""
        shares = bool(self.cpus) and self.workload.is_open_loop
        handle = start_load(
            self.workload,
            [self.addresses[number] for number in self._up],
            plan,
            # Never two on one core while others are free.
            threads=len(self.cpus) or suited_threads(self.workload),
            cpus=self.cpus,
            seed=start_seed(self.seed, self.request.comparison, self.request.start, part),
            spin_s=SPIN_S if shares else 0.0,
            on_edge=on_edge,
        )
        with _stopped_on_error(handle):
            n_seen, is_over = 0, False
            while not is_over:
                is_over = handle.wait(_POLL_S)
                for measurement in handle.measurements()[n_seen:]:
                    number = self._up[plan[n_seen].arm]
                    self._see(number, measurement)
                    if self.silence is not None:
                        # What the stop cuts short is nobody's fault: it is not looked at.
                        handle.stop()
                        handle.wait(math.inf)
                        return
                    keep(n_seen, measurement)
                    n_seen += 1

    def _see(self, number: int, measurement: Measurement) -> None:
        if measurement.cycles is not None:
            moments = CycleMoments.of([measurement.cycles])
            self.seen[number] = self.seen.get(number, CycleMoments()) + moments
        if measurement.completed == 0 and measurement.offered > 0:
            self.silence = Silence(arm=number, measurement=measurement)


@contextmanager
def _stopped_on_error(handle: LoadHandle) -> Iterator[None]:
    try:
        yield
    except BaseException:
        handle.stop()
        handle.wait(math.inf)
        raise


def start_seed(seed: int, comparison: int, start: int, part: int = 1) -> int:
    """Return the engine's seed for one part of a start: 0 the warm-up, 1 the windows.

    Were it the same for each start, all would send the same mix at the same gaps, and what that
    happens to favour would count as proven. The arms of a start do share it.
    """
    text = f"{seed} {comparison} {start} {part}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest())
