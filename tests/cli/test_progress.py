"""What somebody sees while a run goes on."""

import io
from dataclasses import replace
from typing import get_args

import pytest
from msgspec import structs
from rich.console import Console

from httpdyno.cli.live_display import whole_seconds
from httpdyno.cli.progress import RunProgress
from httpdyno.experiment.event import FinalDone, Notice, PointDone, Stage, StartDone, StepDone
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    LadderStep,
    RatioInterval,
    SecondClaim,
    SweepPoint,
    Verdict,
)

INTERVAL = RatioInterval(ratio=2.0, low=1.8, high=2.2, confidence=0.95)
COMPARISON = Comparison(
    index=1,
    a=ArmSummary(configuration=Configuration(values={"workers": 1})),
    b=ArmSummary(configuration=Configuration(values={"workers": 4})),
    verdict="better",
    reason="its interval lies above 1.01",
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
        configuration=Configuration(values={"workers": 8}), n_starts=3, throughput_per_s=500.0
    ),
    ratio_to_best=INTERVAL,
    throughput_low_per_s=490.0,
    throughput_high_per_s=510.0,
)
STAGE = Stage(name="step 1 of 2", detail="workers: 1 → 4", elapsed_s=65.0, left_s=90.4)
START = StartDone(stage="step 1 of 2", n_starts=4, interval=INTERVAL, elapsed_s=70.0, left_s=80.0)


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


def test_a_log_gets_one_plain_line_for_each_step():
    lines = shown(STAGE, START, START, StepDone(step=STEP)).splitlines()
    assert lines == [
        "step 1 of 2  workers: 1 → 4  1 min 05 s, about 1 min 30 s left",
        "step 1 of 2  workers: 1 → 4  better  2.00 × (1.80 … 2.20; 95 % confidence, "
        "6 starts)  kept",
    ]


def test_steps_are_numbered_as_they_come():
    lines = shown(StepDone(step=STEP), StepDone(step=STEP)).splitlines()
    assert [line[:11] for line in lines] == ["step 1 of 2", "step 2 of 2"]


def test_notices_and_the_final_comparison_are_kept_lines():
    lines = shown(Notice(message="the [noise] is high"), FinalDone(comparison=COMPARISON))
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
    second = SecondClaim(metric="cpu_s_per_request", verdict=word, reason="so it lies")
    console = Console(file=io.StringIO(), force_terminal=True, width=120, highlight=False)
    with RunProgress(console, 2, clock=Clock()) as watch:
        watch(replace(START, second=second))
        line = watch.shown().plain
    is_proven = word in {"better", "worse", "equivalent"}
    assert ("CPU per request" in line) is is_proven
    assert not is_proven or f"2.00 × (1.80 … 2.20), CPU per request {word}" in line


def test_a_finished_step_says_what_else_is_proven():
    cheaper = RatioInterval(ratio=0.91, low=0.88, high=0.94, confidence=0.99)
    second = SecondClaim(metric="cpu_s_per_request", verdict="better", reason="so it lies")
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
    line = shown(PointDone(points=(POINT, refused), elapsed_s=5.0, left_s=10.0)).strip()
    assert line == "round 3  1 level, best so far 8  500/s (490/s … 510/s)"


def test_a_round_without_a_level_that_ran_is_no_error():
    assert shown(PointDone(points=(), elapsed_s=5.0, left_s=10.0)).strip() == "round 0  0 levels"


def test_a_terminal_gets_a_line_that_counts_on_by_itself():
    clock = Clock()
    console = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False)
    with RunProgress(console, 2, clock=clock) as watch:
        watch(START)
        clock.now_s += 10.0
        with console.capture() as capture:
            console.print(watch.shown())
    line = capture.get()
    assert "step 1 of 2" in line
    assert "4 starts" in line
    assert "1.80 … 2.20" in line
    assert "1 min 20 s, about 1 min 10 s left" in line


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
def test_the_live_line_is_one_line_at_any_width(width):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False)
    with RunProgress(console, 2, clock=Clock()) as watch:
        watch(START)
        line = watch.shown()
    plain = Console(file=io.StringIO(), width=width)
    with plain.capture() as capture:
        plain.print(line)
    assert len(capture.get().splitlines()) == 1
    assert width < 40 or capture.get().endswith("1 min 10 s, about 1 min 20 s left\n")


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
