from collections.abc import Callable
from typing import Literal

import pytest
from msgspec import structs
from tests.report import sample, sample_trouble
from tests.report.plain import WIDTH, plain_text
from tests.report.sample_figures import with_figures
from tests.report.sample_sweep import memory_sweep
from tests.rows import each_row

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import Objective, Outcome, ResultWarning
from httpdyno.reason import because
from httpdyno.report.study.sweep import bar, point_line
from httpdyno.report.study.text import outcome_text, step_line

OUTCOMES = sample_trouble.all_outcomes()


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_kind_of_outcome_reads_as_agreed(
    name: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"report/{name}.txt", plain_text(outcome_text(OUTCOMES[name])))


@each_row("name", OUTCOMES)
def test_no_line_is_wider_than_eighty_columns(name: str) -> None:
    lines = plain_text(outcome_text(OUTCOMES[name])).splitlines()
    assert max(len(line) for line in lines) <= WIDTH


def test_the_ladder_s_columns_are_whole_in_eighty_columns() -> None:
    text = plain_text(outcome_text(OUTCOMES["ladder"]))
    row = next(line for line in text.splitlines() if line.startswith("MaxConnectionsPerChild"))
    assert row.split() == [
        *("MaxConnectionsPerChild", "1.64", "1.59", "…", "1.69"),
        *("better", "4.64", "0.61", "0.67", "1.31"),
    ]


def ladder_with_memory(*mib: float | None) -> Outcome:
    """Return the ladder whose first server and then those with each change had so much."""
    whole = sample.ladder()
    sizes = [None if each is None else each * 2**20 for each in mib]
    steps = []
    for step, size in zip(whole.steps, sizes[1:], strict=True):
        a = with_figures(step.comparison.a, pss_bytes=sizes[0])
        b = with_figures(step.comparison.b, pss_bytes=size)
        steps.append(structs.replace(step, comparison=structs.replace(step.comparison, a=a, b=b)))
    return structs.replace(whole, steps=tuple(steps))


def test_each_step_s_memory_is_a_column_where_there_is_room_else_a_line() -> None:
    outcome = ladder_with_memory(58.7, 58.7, 31.2, 30.0, 30.0, None, 81.0)
    wide = plain_text(outcome_text(outcome), width=100)
    head = next(line for line in wide.splitlines() if line.startswith("change "))
    assert head.split()[-2:] == ["book", "memory"]
    rows = [line for line in wide.splitlines() if line.startswith(("asp_debug", "workers "))]
    assert [row.split()[-2:] for row in rows[:2]] == [["31.2", "MiB"], ["81.0", "MiB"]]
    assert "session_serialize       1.02 0.97 … 1.07   inconclusive  4.64 0.98 1.08 1.12" in wide
    assert "memory: with the change, 58.7 MiB at the start" in " ".join(wide.split())
    narrow = plain_text(outcome_text(outcome))
    head = next(line for line in narrow.splitlines() if line.startswith("change "))
    assert "memory" not in head
    assert (
        "memory: 58.7 MiB at the start; state_dir 58.7 MiB, asp_debug 31.2 MiB, access_file "
        "30.0 MiB, MaxConnectionsPerChild 30.0 MiB, workers 81.0 MiB"
    ) in " ".join(narrow.split())


def test_two_levels_of_one_knob_are_told_apart() -> None:
    whole = ladder_with_memory(58.7, *[31.2] * 6)
    workers = whole.steps[-1]
    steps = (structs.replace(workers, after=4), workers)
    outcome = structs.replace(whole, steps=steps, final=None)
    text = " ".join(plain_text(outcome_text(outcome), width=70).split())
    assert "memory: 58.7 MiB at the start; workers → 4: 31.2 MiB, workers → 2: 31.2 MiB" in text


@pytest.mark.parametrize(
    ("mib", "words"),
    [(58.7, "memory: 58.7 MiB at the start, and with each change"), (None, "")],
)
def test_memory_that_stays_is_told_once_and_none_where_none_is_known(
    mib: float | None, words: str
) -> None:
    outcome = structs.replace(ladder_with_memory(*[mib] * 7), final=None)
    lines = [line for line in plain_text(outcome_text(outcome)).splitlines() if "memory: " in line]
    assert lines == ([words] if words else [])
    wide = plain_text(outcome_text(outcome), width=100)
    head = next(line for line in wide.splitlines() if line.startswith("change "))
    assert head.endswith("memory") is bool(words)


def test_a_ladder_decided_by_cpu_shows_throughput_among_the_other_ratios() -> None:
    whole = sample.ladder()
    step = whole.steps[0]
    by_cpu = structs.replace(
        step, comparison=structs.replace(step.comparison, metric="cpu_s_per_request")
    )
    plan = structs.replace(
        whole.plan,
        study=structs.replace(whole.plan.study, objective=Objective(metric="cpu_s_per_request")),
    )
    text = plain_text(outcome_text(structs.replace(whole, plan=plan, steps=(by_cpu,))))
    header = next(line for line in text.splitlines() if line.startswith("change "))
    assert header.split()[-4:] == ["p99", "rate", "book", "memory"]
    assert "ratio: CPU per request over that of the best so far" in text


def test_a_ladder_without_the_book_s_figures_has_no_column_for_them() -> None:
    whole = sample.ladder()
    steps = tuple(structs.replace(step, book_ratio=None) for step in whole.steps)
    text = plain_text(outcome_text(structs.replace(whole, steps=steps)))
    header = next(line for line in text.splitlines() if line.startswith("change "))
    assert "book" not in header


def test_an_interrupted_run_names_the_command_that_goes_on() -> None:
    text = plain_text(outcome_text(OUTCOMES["interrupted"]))
    assert "next: `httpdyno study run --resume 20250611-asp-c0de`" in text
    assert "not confirmed" in text
    none_ended = structs.replace(OUTCOMES["interrupted"], duration_s=0.0)
    assert "took" not in plain_text(outcome_text(none_ended)), "it took longer than nothing"


@each_row(
    ("status", "is_said"),
    [("complete", True), ("interrupted", True), ("running", False), ("failed", False)],
)
def test_nothing_is_promised_of_the_server_where_the_end_may_have_failed(
    status: Literal["complete", "interrupted", "running", "failed"], *, is_said: bool
) -> None:
    ended = structs.replace(
        sample.ladder(), status=status, ended_by=said("server processes could not be ended: 4711")
    )
    text = plain_text(outcome_text(ended))
    assert ("the server is as it was found" in text) is is_said
    assert "took 4 min 34 s, seed 42" in text


def test_caveats_of_parts_are_shown_once() -> None:
    whole = sample.ladder()
    assert whole.final is not None
    twice = structs.replace(whole, final=structs.replace(whole.final, warnings=whole.warnings))
    assert plain_text(outcome_text(twice)).count("caveat: ") == 1


def test_a_caveat_of_some_parts_says_of_which() -> None:
    whole = sample.ladder()
    assert whole.final is not None
    doubts = [
        ResultWarning(reason=because("experiment.steal", ratio=ratio)) for ratio in (0.1, 0.3, 0.3)
    ]
    steps = [
        structs.replace(step, comparison=structs.replace(step.comparison, warnings=(doubt,)))
        for step, doubt in zip(whole.steps, doubts[:2], strict=False)
    ]
    outcome = structs.replace(
        whole, steps=tuple(steps), final=structs.replace(whole.final, warnings=(doubts[2],))
    )
    lines = [line for line in plain_text(outcome_text(outcome)).splitlines() if "caveat" in line]
    words, rest = "the machine's host took", "of a core during the"
    assert lines[1:] == [
        f"caveat: {steps[0].knob} → {steps[0].after}: {words} 10 % {rest}",
        f"caveat: {steps[1].knob} → {steps[1].after}, final: {words} 30 % {rest}",
    ]


def test_the_caveat_of_the_only_comparison_names_no_part() -> None:
    whole = sample.ladder()
    assert whole.final is not None
    doubt = ResultWarning(reason=because("experiment.steal", ratio=0.3))
    only = structs.replace(whole, steps=(), final=structs.replace(whole.final, warnings=(doubt,)))
    assert "caveat: the machine's host took 30 %" in plain_text(outcome_text(only))


def test_markup_in_a_name_is_shown_as_it_is() -> None:
    whole = sample.failed_start()
    step = structs.replace(whole.steps[0], knob="[red]knob[/red]")
    assert "[red]knob[/red]" in plain_text(outcome_text(structs.replace(whole, steps=(step,))))


def test_bars_keep_their_levels_order_and_stay_in_their_width() -> None:
    sweep = sample.sweep().sweep
    assert sweep is not None
    ran = [point for point in sweep.points if point.arm.status == "complete"]
    top = max(point.high for point in ran)
    lengths = {point.arm.throughput_per_s: len(bar(point, top, width=40)) for point in ran}
    assert max(lengths.values()) <= 40
    assert [lengths[rate] for rate in sorted(lengths)] == sorted(lengths.values())


def test_a_sweep_of_something_else_tells_it_in_its_unit_beside_the_throughput() -> None:
    text = plain_text(outcome_text(memory_sweep()))
    assert "the knee of MaxRequestWorkers is 2, at memory 38.1 MiB" in text
    assert "MaxRequestWorkers, memory\n" in text
    head = next(line for line in text.splitlines() if "of best" in line)
    assert head.split() == ["processes", "memory", "of", "best", "throughput", "p99"]
    row = next(line for line in text.splitlines() if line.lstrip().startswith("1 "))
    assert "42.0 MiB" in row
    assert "3,120/s" in row


def test_a_bar_of_nothing_is_empty() -> None:
    sweep = sample.sweep().sweep
    assert sweep is not None
    assert bar(sweep.points[-1], 0.0).plain == ""


def test_progress_lines_say_where_a_run_stands() -> None:
    step = sample.ladder().steps[0]
    sweep = sample.sweep().sweep
    assert sweep is not None
    assert step_line(step, 1, 6).plain == (
        "step 1 of 6  state_dir: disk → memory  better  "
        "2.43 × (2.35 … 2.51; 95 % confidence, 6 starts)  kept"
    )
    assert step_line(sample.tie_break().steps[0], 1, 1).plain == (
        "step 1 of 1  state_dir: disk → memory  better by CPU per request: "
        "0.81 × (0.75 … 0.88; 95 % confidence, 6 starts), "
        "throughput 1.00 × (0.97 … 1.04)  kept"
    )
    assert point_line(sweep.points[3], sweep.metric).plain == "8  6,190/s (6,116/s … 6,265/s)"
    assert point_line(sweep.points[-1], sweep.metric).plain.startswith("512  refused: AH00180")


def test_a_sweep_that_bounds_nothing_yet_shows_bars_without_ends() -> None:
    text = plain_text(outcome_text(sample.young_sweep()))
    assert "├" not in text
    assert text.count("█") > 100
    assert "not finished yet, or cut off" in text
    sweep = sample.young_sweep().sweep
    assert sweep is not None
    assert point_line(sweep.points[3], sweep.metric).plain == "8  6,190/s (unbounded)"
