"""What somebody sees while a run goes on."""

import io
from dataclasses import replace
from typing import get_args

import pytest
from msgspec import structs
from rich.console import Console

from httpdyno.cli.live_display import whole_seconds
from httpdyno.cli.progress import RunProgress
from httpdyno.experiment.method.session import (
    FinalDone,
    Notice,
    PointDone,
    Stage,
    StartDone,
    StartsBegun,
    StepDone,
    WindowDone,
)
from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    LadderStep,
    RatioInterval,
    SecondClaim,
    Sweep,
    SweepPoint,
    Verdict,
)
from httpdyno.reason import because
from httpdyno.stats.verdict import knee_rule

INTERVAL = RatioInterval(ratio=2.0, low=1.8, high=2.2, confidence=0.95)
COMPARISON = Comparison(
    index=1,
    a=ArmSummary(configuration=Configuration(values={"workers": 1})),
    b=ArmSummary(configuration=Configuration(values={"workers": 4})),
    verdict="better",
    reasons=said("its interval lies above 1.01"),
    metric="throughput_per_s",
    n_starts=6,
    ratios={"throughput": INTERVAL},
)
STEP = LadderStep(
    knob="workers", title="", before=1, after=4, comparison=COMPARISON, kept=True, running_ratio=2.0
)
POINT = SweepPoint(
    level=8,
    arm=ArmSummary(
        configuration=Configuration(values={"workers": 8}),
        n_starts=3,
        figures={"throughput_per_s": 500.0},
    ),
    ratio_to_best=INTERVAL,
    value=500.0,
    low=490.0,
    high=510.0,
)


def sweep_of(*points):
    return Sweep(knob="workers", unit="", points=points, best=8, knee=8, rule=knee_rule())


STAGE = Stage(name="step 1 of 2", detail="workers: 1 → 4", elapsed_s=65.0, left_s=90.4)
START = StartDone(
    stage="step 1 of 2",
    n_starts=12,
    fewest=6,
    interval=RatioInterval(ratio=1.08, low=0.97, high=1.2, confidence=0.95),
    open_metric="throughput_per_s",
    decides_in_s=12.4,
    allowed_s=40.0,
    elapsed_s=70.0,
    left_s=80.0,
)


class Clock:
    """Stands until it is moved."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def shown(*events: object, terminal: bool = False, width: int = 80) -> str:
    """Return what a run with these events prints."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=width, highlight=False)
    with RunProgress(console, 2, clock=Clock()) as watch:
        for event in events:
            watch(event)  # type: ignore[arg-type] # events come as a tuple of any of them
    return text.getvalue()


def live_lines(*events: object, later_s: float = 0.0, width: int = 80) -> list[str]:
    """Return what stands on a terminal a while after these events."""
    clock, plain = Clock(), Console(file=io.StringIO(), width=width)
    console = Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False)
    with RunProgress(console, 2, clock=clock) as watch, plain.capture() as capture:
        for event in events:
            watch(event)  # type: ignore[arg-type] # events come as a tuple of any of them
        clock.now_s += later_s
        plain.print(watch.shown())
    return capture.get().splitlines()


def test_a_log_gets_one_plain_line_for_each_step():
    lines = shown(STAGE, START, START, StepDone(step=STEP)).splitlines()
    assert lines == [
        "step 1 of 2  workers: 1 → 4  1 min 05 s, about 1 min 30 s left",
        "step 1 of 2  workers: 1 → 4  better  2.00 × (1.80 … 2.20; 95 % confidence, "
        "6 starts)  kept",
    ]


def test_steps_are_numbered_as_they_come_and_keep_their_numbers():
    """One that goes on with the time that is left is the same step."""
    other = structs.replace(STEP, knob="threads")
    lines = shown(*(StepDone(step=step) for step in (STEP, other, STEP))).splitlines()
    assert [line[:11] for line in lines] == ["step 1 of 2", "step 2 of 2", "step 1 of 2"]


def test_notices_and_the_final_comparison_are_kept_lines():
    lines = shown(
        Notice(reason=because("experiment.said", words="the [noise] is high")),
        FinalDone(comparison=COMPARISON),
    )
    assert lines.splitlines() == [
        "note: the [noise] is high",
        "final  better  2.00 × (1.80 … 2.20; 95 % confidence, 6 starts)",
    ]


def test_a_tie_break_names_the_ratio_that_decided():
    cheaper = RatioInterval(ratio=0.81, low=0.75, high=0.87, confidence=0.95)
    tied = structs.replace(
        COMPARISON,
        decided_by="cpu_s_per_request",
        ratios={**COMPARISON.ratios, "cpu_per_request": cheaper},
    )
    assert shown(FinalDone(comparison=tied)).strip() == (
        "final  better by CPU per request: 0.81 × (0.75 … 0.87; 95 % confidence, "
        "6 starts), throughput 2.00 × (1.80 … 2.20)"
    )


@pytest.mark.parametrize("word", get_args(Verdict))
def test_the_live_line_names_a_second_metric_once_that_proves_something(word):
    second = SecondClaim(metric="cpu_s_per_request", verdict=word, reasons=said("so it lies"))
    line = live_lines(replace(START, second=second))[1]
    is_proven = word in {"better", "worse", "equivalent"}
    assert ("CPU" in line) is is_proven
    assert not is_proven or f"1.08 × (0.97 … 1.20), CPU {word}  decided in about 12 s" in line


def test_a_finished_step_says_what_else_is_proven():
    cheaper = RatioInterval(ratio=0.91, low=0.88, high=0.94, confidence=0.99)
    second = SecondClaim(metric="cpu_s_per_request", verdict="better", reasons=said("so it lies"))
    same = structs.replace(
        COMPARISON, second=second, ratios={**COMPARISON.ratios, "cpu_per_request": cheaper}
    )
    assert shown(FinalDone(comparison=same)).strip() == (
        "final  better  2.00 × (1.80 … 2.20; 95 % confidence, 6 starts), CPU per request too"
    )
    other = structs.replace(same, verdict="inconclusive")
    assert shown(FinalDone(comparison=other)).strip() == (
        "final  inconclusive  2.00 × (1.80 … 2.20; 95 % confidence, 6 starts); "
        "CPU per request is proven better: 0.91 × (0.88 … 0.94; 99 % confidence)"
    )


def test_a_round_of_a_sweep_names_the_best_so_far():
    refused = SweepPoint(
        level=256,
        arm=ArmSummary(configuration=Configuration(), status="refused"),
        ratio_to_best=None,
    )
    line = shown(PointDone(sweep=sweep_of(POINT, refused), elapsed_s=5.0, left_s=10.0)).strip()
    assert line == "round 3  1 level, best so far 8  500/s (490/s … 510/s)"


def test_a_round_without_a_level_that_ran_is_no_error():
    event = PointDone(sweep=sweep_of(), elapsed_s=5.0, left_s=10.0)
    assert shown(event).strip() == "round 0  0 levels"


def test_a_terminal_gets_a_line_that_counts_on_by_itself():
    first, second = live_lines(START, later_s=10.0)
    assert first.endswith("step 1 of 2  1 min 20 s, about 1 min 10 s left")
    assert second == "  12 starts  1.08 × (0.97 … 1.20)  decided in about 2 s"


def test_the_time_left_never_runs_below_zero():
    clock = Clock()
    console = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False)
    with RunProgress(console, 2, clock=clock) as watch:
        watch(STAGE)
        clock.now_s += 1000.0
        with console.capture() as capture:
            console.print(watch.shown())
    assert "about 0 s left" in capture.get()


@pytest.mark.parametrize("width", [20, 40, 80])
def test_the_live_lines_are_two_at_any_width(width):
    first, second = live_lines(START, WindowDone(n_done=112, n_windows=128), width=width)
    assert max(len(first), len(second)) <= width
    assert width < 40 or first.endswith("1 min 10 s, about 1 min 20 s left")
    assert width < 80 or second.endswith("decided in about 12 s  window 112 of 128")


def test_something_moves_between_two_looks():
    begun = StartsBegun(n_starts=8)
    assert live_lines(STAGE, START, begun)[1].endswith("decided in about 12 s  8 coming up")
    counted = WindowDone(n_done=3, n_windows=64)
    assert live_lines(STAGE, begun, counted)[1] == "  window 3 of 64"
    # A look tells what the windows were for, and a stage begins with none.
    assert live_lines(STAGE, begun, counted, START)[1].endswith("decided in about 12 s")
    assert len(live_lines(START, begun, counted, STAGE)) == 1


def test_a_window_that_ends_draws_nothing():
    """The servers are measured then, and the client may have the core that would draw."""
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=80, highlight=False)
    watch = RunProgress(console, 2, clock=Clock())
    watch.redraws_per_s = 0.001
    with watch:
        watch(START)
        drawn = text.getvalue()
        for number in range(100):
            watch(WindowDone(n_done=number, n_windows=100))
        assert text.getvalue() == drawn
        watch(StartsBegun(n_starts=2))
        assert text.getvalue() != drawn
    assert RunProgress.redraws_per_s <= 1


def logged(*moments):
    """Return a log's lines: pairs of the seconds that passed before an event, and the event."""
    text, clock = io.StringIO(), Clock()
    with RunProgress(Console(file=text, width=80), 2, clock=clock) as watch:
        for passed_s, event in moments:
            clock.now_s += passed_s
            watch(event)
    return text.getvalue().splitlines()


def test_a_log_has_looks_at_intervals():
    lines = logged((0.0, STAGE), (9.9, START), (0.2, START), (5.0, START), (5.0, START))
    assert lines[1:] == ["  1 min 10 s  12 starts  1.08 × (0.97 … 1.20)  decided in about 12 s"] * 2


def test_a_long_comparison_has_looks_at_longer_intervals():
    looks = [(10.0, START)] * 360
    n_lines = len(logged((0.0, STAGE), *looks)) - 1
    assert 20 < n_lines < 60
    # Another stage begins with short ones again.
    again = len(logged((0.0, STAGE), *looks, (0.0, STAGE), *looks[:10])) - n_lines - 2
    assert again == 10


def test_the_fewest_starts_are_no_promise_of_an_end():
    few = replace(START, n_starts=4)
    first, second = live_lines(few, later_s=2.0)
    assert first.endswith("1 min 12 s, at least 1 min 18 s left")
    assert second.endswith("decided in 10 s at the earliest")


def test_what_is_over_has_no_look_in_a_log_because_its_verdict_follows():
    assert len(logged((0.0, STAGE), (20.0, replace(START, allowed_s=0.0)))) == 1


def test_where_nobody_can_tell_the_time_left_none_is_told():
    first = replace(STAGE, left_s=None)
    assert logged((0.0, first)) == ["step 1 of 2  workers: 1 → 4  1 min 05 s"]


def test_a_terminal_is_left_with_the_results_only():
    text = shown(STAGE, START, StepDone(step=STEP), terminal=True)
    assert "step 1 of 2  workers: 1 → 4" in text
    assert text.endswith(("\x1b[?25h", "\x1b[2K", "\r"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 s"), (-3.0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3725.0, "62 min 05 s")],
)
def test_times_are_whole_seconds(seconds, text):
    assert whole_seconds(seconds) == text
