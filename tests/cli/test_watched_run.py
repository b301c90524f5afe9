"""Whole runs as somebody sees them who watches: in a log, and on a terminal."""

import io
import math
from dataclasses import dataclass, field

import pytest
from rich.console import Console
from tests.conformance.bench import FakeBench
from tests.conformance.memory_store import MemoryStore

from httpdyno.cli.progress import RunProgress
from httpdyno.experiment.design.plan import compare_plan, make_plan
from httpdyno.experiment.method.run import run_plan
from httpdyno.experiment.method.session import StartDone, StartsBegun, WindowDone
from httpdyno.model import Knob, Method, Objective, ServerSpec, Study, Workload

COLUMNS = 80
EVERY_WINDOWS = 16


class Clock:
    """Stands but for what a bench takes."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass(kw_only=True)
class TimedBench(FakeBench):
    """Moves a clock by what it measures."""

    clock: Clock = field(default_factory=Clock)

    def measure_start(self, request, save):
        def timed(window):
            self.clock.now_s += window.measurement.total_s
            save(window)

        self.clock.now_s += self.start_s
        return super().measure_start(request, timed)


@pytest.fixture
def study():
    """A real change and one that does nothing."""
    return Study(
        name="watched",
        title="",
        folder="/nowhere",
        server=ServerSpec(adapter="fake"),
        knobs=(
            Knob(name="cache", start="off", levels=("on",)),
            Knob(name="colour", start="red", levels=("blue",)),
        ),
        workload=Workload(),
        objective=Objective(),
        method=Method(window_s=0.5, lead_in_s=0.1, blocks_per_start=4),
        budget_s=300.0,
    )


def bench(gain):
    return TimedBench(
        throughput_per_s=lambda values: 4_000 * (gain if values["cache"] == "on" else 1.0),
        start_sd=0.03,
        n_at_once=4,
    )


def log_of(plan, gain):
    """Return what a file gets of a run."""
    text, timed = io.StringIO(), bench(gain)
    console = Console(file=text, width=COLUMNS, highlight=False)
    with RunProgress(console, len(plan.steps), clock=timed.clock) as watch:
        run_plan(plan, bench=timed, store=MemoryStore(), run_id="1", watch=watch)
    return text.getvalue()


def pair_plan(study, budget_s):
    start = study.start_configuration()
    return compare_plan(study, start, start.replaced("cache", "on"), seed=1, budget_s=budget_s)


@pytest.mark.parametrize("gain", [1.03, 1.0])
def test_a_log_of_a_comparison_shows_its_interval_narrow(study, gain, golden):
    text = log_of(pair_plan(study, 240.0), gain)
    # The last line has the final claim, whole.
    assert max(map(len, text.splitlines()[:-1])) <= COLUMNS
    golden(f"progress/compare-{gain}.txt", text)


def test_a_log_of_a_comparison_that_no_time_ends(study, golden):
    golden("progress/compare-until-decided.txt", log_of(pair_plan(study, math.inf), 1.02))


def test_a_log_of_a_ladder(study, golden):
    golden("progress/ladder.txt", log_of(make_plan(study, seed=3), 1.03))


def test_a_log_of_a_ladder_that_no_time_ends(study, golden):
    plan = make_plan(study, seed=3, budget_s=math.inf)
    golden("progress/ladder-until-decided.txt", log_of(plan, 1.03))


def test_a_terminal_shows_that_something_happens_between_two_looks(study, golden):
    timed, plain = bench(1.06), Console(file=io.StringIO(), width=COLUMNS)
    console = Console(file=io.StringIO(), force_terminal=True, width=COLUMNS, highlight=False)
    frames: list[str] = []
    with RunProgress(console, 0, clock=timed.clock) as progress:

        def watch(event):
            progress(event)
            is_now = isinstance(event, StartsBegun | StartDone) or (
                isinstance(event, WindowDone) and event.n_done % EVERY_WINDOWS == 0
            )
            if is_now:
                with plain.capture() as capture:
                    plain.print(progress.shown())
                frames.append(capture.get())

        plan = pair_plan(study, 60.0)
        run_plan(plan, bench=timed, store=MemoryStore(), run_id="1", watch=watch)
    assert all(len(line) <= COLUMNS for frame in frames for line in frame.splitlines())
    golden("progress/compare-live.txt", "\n".join(frames))
