"""A study's outcome for a terminal: reads well in 80 columns, without colour.

Everything here returns something that rich can print; nothing here prints.
"""

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.model import (
    Caveat,
    Comparison,
    LadderStep,
    Outcome,
    RatioInterval,
    Sweep,
    SweepPoint,
    Verdict,
    level_text,
)
from httpdyno.report.phrase import (
    NAMES,
    NOTHING,
    arm_names,
    bounds_text,
    changes_title,
    configuration_changes,
    decider,
    evidence_text,
    has_run,
    headline,
    interval_ratio_text,
    metric_name,
    needed_text,
    next_command,
    of_best_text,
    of_objective,
    outcome_caveats,
    plural,
    rate_bounds_text,
    ratio_bounds_text,
    ratio_key,
    ratio_text,
    short_name,
    so_far,
    step_name,
    throughput_bounds,
)
from httpdyno.units import format_bytes, format_duration, format_rate

VERDICT_STYLES: dict[Verdict, str] = {
    "better": "green",
    "worse": "red",
    "equivalent": "dim",
    "inconclusive": "yellow",
    "failed": "red",
    "not_measured": "yellow",
}
_BAR_WIDTH = 30
_KNOB_WIDTH = 22
_INDENT = (0, 0, 0, 2)


def outcome_text(outcome: Outcome) -> RenderableType:
    """Return the whole report: what was found, the evidence, caveats, and what to do next."""
    parts: list[RenderableType] = [Text(f"{outcome.plan.study.name}: {headline(outcome)}", "bold")]
    if outcome.message and outcome.status != "failed":
        parts.append(Text(outcome.message))
    if outcome.steps:
        parts += [Text(), ladder_table(outcome.steps), *_failures(outcome)]
    if outcome.sweep is not None:
        parts += [Text(), sweep_chart(outcome.sweep)]
    conclusion = _conclusion(outcome)
    if conclusion:
        parts += [Text(), *conclusion]
    caveats = outcome_caveats(outcome)
    if caveats:
        parts += [Text(), *(_caveat_line(caveat) for caveat in caveats)]
    return Group(*parts, Text(), *_closing(outcome))


def ladder_table(steps: Sequence[LadderStep]) -> Table:
    """Return the ladder: one change to a row, against the best so far."""
    has_book = any(step.book_ratio is not None for step in steps)
    key = ratio_key(steps[0].comparison.metric)
    others = _other_ratios(key)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="")
    table.add_column("change", width=_KNOB_WIDTH, overflow="fold")
    table.add_column("ratio", justify="right")
    table.add_column("interval")
    table.add_column("verdict")
    table.add_column("total", justify="right")
    for name in others:
        table.add_column(short_name(name), justify="right")
    if has_book:
        table.add_column("book", justify="right")
    for step in steps:
        table.add_row(*_ladder_row(step, others, has_book=has_book))
    table.caption = Text(
        f"ratio: {NAMES.get(key, key)} over that of the best so far; total: product of the kept; "
        f"{', '.join(f'{short_name(name)}: {NAMES[name]}' for name in others)} (ratios)",
        "dim",
    )
    table.caption_justify = "left"
    return table


def _other_ratios(key: str) -> list[str]:
    """Return the two ratios shown beside the deciding one."""
    order = ("cpu_per_request", "latency_p99", "throughput")
    return [name for name in order if name != key][:2]


def _ladder_row(step: LadderStep, others: Sequence[str], *, has_book: bool) -> list[RenderableType]:
    compared = step.comparison
    interval = of_objective(compared)
    change = Text(step_name(step))
    before, after = level_text(step.before), level_text(step.after)
    fits = len(before) + len(after) + 5 <= _KNOB_WIDTH
    gap = " " if fits else "\n  "
    change.append(f"\n  {before}{gap}→ {after}", "dim")
    cells: list[RenderableType] = [
        change,
        interval_ratio_text(interval),
        bounds_text(interval) if interval else compared.b.status,
        _decided_text(compared),
        ratio_text(step.running_ratio),
        *(ratio_text(_middle(compared, name)) for name in others),
    ]
    if has_book:
        cells.append(ratio_text(step.book_ratio))
    return cells


def _decided_text(compared: Comparison) -> Text:
    """Return the verdict, and the tie breaker where that decided."""
    text = verdict_text(compared.verdict)
    if compared.decided_by:
        text.append(f"\nby {short_name(compared.decided_by)}", "dim")
    return text


def _middle(comparison: Comparison, name: str) -> float | None:
    interval = comparison.ratios.get(name)
    return None if interval is None else interval.ratio


def verdict_text(verdict: Verdict) -> Text:
    """Return the verdict, coloured where colour is to be had."""
    return Text(verdict, VERDICT_STYLES[verdict])


def _conclusion(outcome: Outcome) -> list[RenderableType]:
    if outcome.final is None:
        lines: list[RenderableType] = []
        if outcome.steps and any(step.kept for step in outcome.steps):
            lines.append(Text(so_far(outcome), "bold"))
    else:
        book = None if outcome.plan.command == "compare" else outcome.plan.study.book_ratio
        lines = list(comparison_lines(outcome.final, arm_names(outcome), book_ratio=book))
    return lines + _change_lines(outcome)


def comparison_lines(
    comparison: Comparison, names: tuple[str, str], *, book_ratio: float | None = None
) -> tuple[RenderableType, ...]:
    """Return a comparison: the claim, why, the other figures, both arms side by side."""
    said = {ratio_key(comparison.metric), ratio_key(decider(comparison))}
    claim = Text(f"{names[1]} over {names[0]}  ", "bold")
    claim.append(evidence_text(comparison))
    name = metric_name(decider(comparison))
    why = Text.assemble(f"{name}: ", verdict_text(comparison.verdict), f", {comparison.reason}")
    needed = needed_text(comparison)
    if needed:
        why.append(f"; {needed}")
    lines: list[RenderableType] = [claim, Padding(why, _INDENT)]
    if book_ratio is not None:
        lines.append(Padding(Text(f"the book: {ratio_text(book_ratio)} ×"), _INDENT))
    others = [
        f"{NAMES[name]} {interval_ratio_text(comparison.ratios[name])} ×"
        for name in NAMES
        if name in comparison.ratios and name not in said
    ]
    if others:
        lines.append(Padding(Text(", ".join(others)), _INDENT))
    lines += [Text(), Padding(arms_table(comparison, names), _INDENT)]
    return tuple(lines)


def arms_table(comparison: Comparison, names: tuple[str, str]) -> Table:
    """Return what both arms did, in their own units."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column("")
    for name in ("throughput", "CPU/request", "p50", "p99", "errors", "memory"):
        table.add_column(name, justify="right")
    for name, arm in zip(names, (comparison.a, comparison.b), strict=True):
        measured = arm.throughput_per_s > 0
        table.add_row(
            name,
            format_rate(arm.throughput_per_s) if measured else arm.status,
            format_duration(arm.cpu_s_per_request) if measured else NOTHING,
            _latency(arm.latency_s, "p50"),
            _latency(arm.latency_s, "p99"),
            f"{arm.error_ratio * 100:.2g} %" if measured else NOTHING,
            NOTHING if arm.pss_bytes is None else format_bytes(arm.pss_bytes),
        )
    return table


def _latency(latency_s: dict[str, float], name: str) -> str:
    return format_duration(latency_s.get(name, math.nan))


def _failures(outcome: Outcome) -> list[RenderableType]:
    return [
        Text.assemble(
            (f"{step.change}: {step.comparison.b.status}", "red"),
            f": {step.comparison.b.detail or step.comparison.reason}",
        )
        for step in outcome.steps
        if step.comparison.b.status != "complete"
    ]


def _change_lines(outcome: Outcome) -> list[RenderableType]:
    changes = configuration_changes(outcome)
    if not changes:
        return []
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    for knob, before, after in changes:
        table.add_row(Text(knob, "cyan"), f"{before} → {after}")
    return [Text(), Text(changes_title(outcome), "bold"), Padding(table, _INDENT)]


def sweep_chart(sweep: Sweep) -> RenderableType:
    """Return a bar for each level, its interval as `├─┤`, and the knee with its rule."""
    ends = (throughput_bounds(p) or (0.0, p.arm.throughput_per_s) for p in sweep.points)
    top = max((end for _, end in ends), default=0.0)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(Text(sweep.unit or "level"), justify="right")
    table.add_column("", width=_BAR_WIDTH, no_wrap=True)
    table.add_column("throughput", justify="right")
    table.add_column("of best", justify="right")
    table.add_column("p99", justify="right")
    table.add_column("")
    for point in sweep.points:
        table.add_row(*_sweep_row(sweep, point, top))
    return Group(
        Text(f"{sweep.knob}, throughput", "bold"),
        table,
        Text(f"knee: {level_text(sweep.knee)}, {sweep.rule}"),
        *(
            Text(f"{level_text(p.level)}: {p.arm.status}: {p.arm.detail}", "red")
            for p in sweep.points
            if p.arm.status != "complete"
        ),
    )


def _sweep_row(sweep: Sweep, point: SweepPoint, top: float) -> list[RenderableType]:
    level = level_text(point.level)
    if not has_run(point):
        return [level, Text(point.arm.status, "red"), NOTHING, NOTHING, NOTHING, ""]
    marks = [
        name
        for name, marked in (("knee", sweep.knee), ("best", sweep.best))
        if level_text(marked) == level
    ]
    return [
        level,
        bar(point, top),
        format_rate(point.arm.throughput_per_s),
        of_best_text(point, sweep),
        format_duration(point.latency_p99_s or math.nan),
        Text(", ".join(marks), "bold"),
    ]


def bar(point: SweepPoint, top: float, *, width: int = _BAR_WIDTH) -> Text:
    """Return one level's bar, `top` wide at most, its interval drawn over its end."""
    if top <= 0:
        return Text()
    scale = (width - 1) / top
    middle = round(point.arm.throughput_per_s * scale)
    cells = ["█" if i <= middle else " " for i in range(width)]
    bounds = throughput_bounds(point)
    low, high = (min(round(end * scale), width - 1) for end in bounds or (0.0, 0.0))
    if high > low:
        cells[low : high + 1] = ["├", *"─" * (high - low - 1), "┤"]
    return Text("".join(cells).rstrip())


def _caveat_line(caveat: Caveat) -> RenderableType:
    return Text.assemble(("caveat: ", "yellow"), caveat.message)


def _closing(outcome: Outcome) -> list[RenderableType]:
    # Of a step that was tried again, the second try is what counts.
    last = {(step.knob, step.after): step for step in outcome.steps}
    undecided = [step for step in last.values() if needed_text(step.comparison)]
    lines: list[RenderableType] = [
        Text(f"{step.knob} is undecided: {needed_text(step.comparison)}") for step in undecided
    ]
    took = f"took {format_duration(outcome.duration_s)}, seed {outcome.plan.seed}"
    lines.append(Text("; ".join([*_state(outcome), took])))
    lines.append(Text.assemble("next: ", (f"`{next_command(outcome)}`", "cyan")))
    return lines


def _state(outcome: Outcome) -> list[str]:
    """Return how the server was left, as far as it is known: a failure may be that it was not."""
    if outcome.status == "running":
        return ["not finished yet, or cut off"]
    return [] if outcome.status == "failed" else ["the server is as it was found"]


def claim_text(comparison: Comparison) -> Text:
    """Return the verdict and the ratio that decided, for progress."""
    gap = " " if comparison.decided_by else "  "
    return Text.assemble(verdict_text(comparison.verdict), gap, evidence_text(comparison))


def step_line(step: LadderStep, number: int, n_steps: int) -> Text:
    """Return a finished step in one line, for progress."""
    tail = "kept" if step.kept else "not kept"
    return Text.assemble(
        f"{_step_number(step, number, n_steps)}  {step.change}  ",
        claim_text(step.comparison),
        f"  {tail}",
    )


def _step_number(step: LadderStep, number: int, n_steps: int) -> str:
    return "again" if step.attempt > 1 else f"step {number} of {n_steps}"


def standing_line(stage: str, n_starts: int, interval: RatioInterval | None) -> Text:
    """Return where an unfinished comparison stands, for progress."""
    where = "no interval yet" if interval is None else ratio_bounds_text(interval)
    return Text(f"{stage}  {plural(n_starts, 'start')}  {where}")


def point_line(point: SweepPoint) -> Text:
    """Return a sweep's level in one line, for progress."""
    if not has_run(point):
        return Text(f"{level_text(point.level)}  {point.arm.status}: {point.arm.detail}")
    rate = format_rate(point.arm.throughput_per_s)
    return Text(f"{level_text(point.level)}  {rate} ({rate_bounds_text(point)})")
