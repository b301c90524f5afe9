"""Windows of a start in phases: cold and warm, idle and then a burst, a restart under load.

In each turn an arm goes through all phases of the study, in their order, before the other arm does.
Each window is a load of its own, whose users all begin when it does: that is what is asked, how a
server meets those who come after what the phase does to it. One phase decides, and is the window
of the comparison; what the others saw is kept beside it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Thread
from typing import NamedTuple

from msgspec import structs

from httpdyno.experiment.trial.engine_loads import Place
from httpdyno.load.engine import Edge
from httpdyno.load.message import WindowPlan
from httpdyno.model import Measurement, Phase, PhaseSeen, SideCommand, Telemetry, Workload
from httpdyno.model.workload import at_rate
from httpdyno.reason import Reason, because

Act = Callable[[Place, SideCommand], Reason | None]
"""Runs a command at a server, and returns what was wrong with it."""
Play = Callable[
    [Place, Phase, WindowPlan, int, Callable[[], None]], tuple[Measurement, Telemetry] | None
]
"""Plays a phase's window; None where the load is over. The number is what its load draws by: that
of the window among all of an arm's, so that both arms of a block meet the same arrivals. The last
one is called as the window opens, once all users did their first steps."""
Keep = Callable[[int, Place, Measurement, Telemetry], None]
"""Takes what decides of a block and a place."""


class PhaseTrouble(NamedTuple):
    """A phase whose command failed, or was never due."""

    phase: str
    why: Reason

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """That it was in this phase, and why."""
        return (because("experiment.phase_failed", phase=self.phase, why=self.why),)


@dataclass(frozen=True, kw_only=True)
class PhasedWindows:
    """Plays the phases of a study."""

    phases: Sequence[Phase]
    decides: str
    """Which of them is the comparison's window."""
    measure_s: float
    """Of a window whose phase says nothing of it."""
    tail_s: float
    act: Act
    play: Play
    wait: Callable[[float], None] = time.sleep

    def run(self, turns: Sequence[tuple[int, Place]], keep: Keep) -> dict[Place, PhaseTrouble]:
        """Play all phases of all turns; return whose command failed or was never due, and how."""
        for block, place in turns:
            seen: dict[str, tuple[Measurement, Telemetry]] = {}
            for number, phase in enumerate(self.phases, block * len(self.phases)):
                found = self._phase(phase, place, number)
                if isinstance(found, Reason):
                    return {place: PhaseTrouble(phase.name, found)}
                if found is None:
                    return {}
                seen[phase.name] = found
            measurement, telemetry = seen.pop(self.decides)
            beside = {name: _seen(*each) for name, each in seen.items()}
            keep(block, place, structs.replace(measurement, beside=beside), telemetry)
        return {}

    def _phase(
        self, phase: Phase, place: Place, number: int
    ) -> tuple[Measurement, Telemetry] | Reason | None:
        command = phase.command
        if command is not None and phase.at_s is None and (wrong := self.act(place, command)):
            return wrong
        if phase.pause_s > 0:
            self.wait(phase.pause_s)
        if command is None or phase.at_s is None:
            return self.play(place, phase, self._plan(phase), number, _nothing)
        meanwhile = _Meanwhile(partial(self.act, place, command), phase.at_s)
        try:
            found = self.play(place, phase, self._plan(phase), number, meanwhile.begin)
        finally:
            wrong = meanwhile.ended()
        # On a busy machine nobody hears of a load's end before the command is due.
        is_too_short = isinstance(found, tuple) and found[0].total_s < phase.at_s
        if not meanwhile.has_begun or is_too_short:
            return because(
                "experiment.ended_before_command", command=" ".join(command.run), due_s=phase.at_s
            )
        return wrong or found

    def _plan(self, phase: Phase) -> WindowPlan:
        return WindowPlan(
            arm=0,
            lead_in_s=0.0,
            measure_s=self.measure_s if phase.window_s is None else phase.window_s,
            n_requests=phase.n_requests,
            # What a number of requests ends is counted: its users have no further cycles.
            tail_s=0.0 if phase.n_requests else self.tail_s,
        )


def also_opening(on_edge: Edge, on_open: Callable[[], None]) -> Edge:
    """Return what is called at a window's edges, and calls something else as it opens."""

    def call(window: int, is_opening: bool) -> None:
        on_edge(window, is_opening)
        if is_opening:
            on_open()

    return call


def decisive(
    workloads: Sequence[Workload], phases: Sequence[Phase], decides: str
) -> list[Workload]:
    """Return what arms are asked in the phase that decides; without phases the same; (n_arms,)."""
    rate_per_s = next((phase.rate_per_s for phase in phases if phase.name == decides), None)
    return [at_rate(each, rate_per_s) for each in workloads]


def turn_s(phases: Sequence[Phase], window_s: float, lead_in_s: float) -> float:
    """Return what a turn of an arm takes by what is asked, with phases or without."""
    if not phases:
        return lead_in_s + window_s
    return sum(
        phase.pause_s + (window_s if phase.window_s is None else phase.window_s) for phase in phases
    )


@dataclass
class _Meanwhile:
    """Runs something some time after `begin`, in a thread of its own."""

    work: Callable[[], Reason | None]
    at_s: float
    wrong: Reason | None = None
    has_begun: bool = False
    _is_over: Event = field(default_factory=Event)
    _thread: Thread | None = None

    def begin(self) -> None:
        """Let its time run from now on."""
        self._thread = Thread(target=self._run, name="phase")
        self._thread.start()

    def ended(self) -> Reason | None:
        """Wait for its end, without beginning what was not begun; return what was wrong."""
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        return self.wrong

    def _run(self) -> None:
        if not self._is_over.wait(self.at_s):
            self.has_begun = True
            self.wrong = self.work()


def _nothing() -> None:
    """Where nothing waits for a window to open."""


def _seen(measurement: Measurement, telemetry: Telemetry) -> PhaseSeen:
    return PhaseSeen(
        measured_s=measurement.measured_s,
        measured_completed=measurement.measured_completed,
        credit=None if measurement.cycles is None else measurement.cycles.credit,
        offered=measurement.offered,
        completed=measurement.completed,
        errors=measurement.errors,
        latency=measurement.latency,
        cpu_s=telemetry.cpu_s,
        pss_bytes=telemetry.pss_bytes,
        uss_bytes=telemetry.uss_bytes,
        n_processes=telemetry.n_processes,
        workers=telemetry.workers,
    )
