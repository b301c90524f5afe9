"""A study's outcome for a terminal: reads well in 80 columns, without colour.

Everything here returns something that rich can print; nothing here prints.
"""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.metrics import METRICS, named, of_ratio
from httpdyno.metrics.table import CALL_RATIOS
from httpdyno.model import ArmSummary, Comparison, LadderStep, Outcome, SecondClaim
from httpdyno.report.shared.caveat import Caveat
from httpdyno.report.shared.interval import (
    bounds_text,
    interval_ratio_text,
    is_telling,
    ratio_bounds_text,
    ratio_text,
)
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.view import plain_table
from httpdyno.report.study.arms import (
    answers_lines,
    answers_text,
    arms_grid,
    arms_table,
    dropped_line,
    has_figures,
    header_notes,
    more_of,
    row_arms,
    rows_grid,
)
from httpdyno.report.study.factorial import factorial_lines
from httpdyno.report.study.finding import (
    arm_names,
    changes_title,
    configuration_changes,
    headline,
    next_command,
    not_tried_text,
    outcome_caveats,
    reference_name,
    so_far,
    undecided_text,
    versus_note,
)
from httpdyno.report.study.limit import limit_lines, own_log_lines
from httpdyno.report.study.phases import age_lines, phase_lines
from httpdyno.report.study.sweep import sweep_chart
from httpdyno.report.study.their_files import proven_cells, their_lines
from httpdyno.report.study.verdict import (
    VERDICT_STYLES,
    also_claims,
    also_words,
    brief_clause,
    decider,
    evidence_text,
    has_figure,
    mark,
    marks_text,
    needed_text,
    of_objective,
    said_ratios,
    second_claim,
    second_figure,
    shown_ratios,
    step_name,
    styled_verdict,
    words_without_figure,
)
from httpdyno.units import format_bytes, format_duration

# The ladder on a terminal: a change to a row, and what memory the server with it had.

_KNOB_WIDTH = 22
_ANY_WIDTH = 1_000


def ladder_table(
    steps: Sequence[LadderStep], *, against: str = "", is_explained: bool = True
) -> RenderableType:
    """Return the ladder: one change to a row, against the best so far.

    Or, where all are compared with the same, one to a row, `against` that.
    """
    bare = _table(steps, against, has_memory=False, is_explained=is_explained)
    memory = "" if against else _memory_line(steps)
    if not memory:
        return bare
    whole = _table(steps, against, has_memory=True, is_explained=is_explained)
    return _Ladder(whole, bare, memory)


class _Ladder:
    """A ladder that has what memory each server had as a column, or below where that has no room.

    Of all columns it is the one that yields: it is no ratio, and its figures say all in a line too.
    """

    def __init__(self, whole: Table, bare: Table, memory: str) -> None:
        self._whole = whole
        self._narrow = Group(bare, Prose(Text(memory)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = Measurement.get(console, options.update(width=_ANY_WIDTH), self._whole).maximum
        yield self._whole if width <= options.max_width else self._narrow


def _table(
    steps: Sequence[LadderStep], against: str, *, has_memory: bool, is_explained: bool
) -> Table:
    is_ladder = not against
    has_book = any(step.book_ratio is not None for step in steps)
    key = named(steps[0].comparison.metric).ratio
    others = _other_ratios(key)
    table = plain_table(gap=1, has_head=True)
    table.add_column("change", width=_KNOB_WIDTH, overflow="fold")
    table.add_column("ratio", justify="right")
    table.add_column("interval")
    table.add_column("verdict")
    if is_ladder:
        table.add_column("total", justify="right")
    for name in others:
        table.add_column(of_ratio(name).short, justify="right")
    if has_book:
        table.add_column("book", justify="right")
    if has_memory:
        table.add_column("memory", justify="right")
    for step in steps:
        cells = _ladder_row(step, others, has_book=has_book, is_ladder=is_ladder)
        table.add_row(*cells, *([_memory(step.comparison.b) or NOTHING] * has_memory))
    explained = ", ".join(f"{of_ratio(name).short}: {of_ratio(name).label}" for name in others)
    marks = marks_text([step.comparison for step in steps], others)
    of = "the best so far; total: the kept ones multiplied" if is_ladder else against
    if is_explained:
        words = [f"{explained}, as ratios", *([marks] if marks else [])]
        words += ["book: the published figure"] if has_book else []
    else:
        of = of.partition(";")[0]
        words = [marks] if marks else []
    words += [f"memory: with the change, {_at_first(steps)}"] if has_memory else []
    table.caption = Text(
        "; ".join([f"ratio: {of_ratio(key).label} over that of {of}", *words]), "dim"
    )
    table.caption_justify = "left"
    return table


def _memory_line(steps: Sequence[LadderStep]) -> str:
    """Return what memory each server had; empty where none is known.

    `memory: 58.7 MiB at the start; state_dir 31.2 MiB, workers 80.4 MiB`.
    """
    first = _memory(steps[0].comparison.a)
    # Of a knob with several levels a name alone would say nothing.
    is_one_each = len({*map(step_name, steps)}) == len(steps)
    names = [step_name(step) if is_one_each else f"{step.label}:" for step in steps]
    told = [(name, _memory(step.comparison.b)) for name, step in zip(names, steps, strict=True)]
    if not any(text for _, text in told):
        return ""
    if all(text == first for _, text in told):
        return f"memory: {first} at the start, and with each change"
    each = ", ".join(f"{name} {text}" for name, text in told if text)
    return f"memory: {_at_first(steps)}; {each}"


def _at_first(steps: Sequence[LadderStep]) -> str:
    return f"{_memory(steps[0].comparison.a) or NOTHING} at the start"


def _memory(arm: ArmSummary) -> str:
    """Return an arm's memory; empty where it is not known, and of code without a server."""
    return "" if arm.pss_bytes is None or arm.calls is not None else format_bytes(arm.pss_bytes)


def _other_ratios(key: str) -> list[str]:
    """Return the two ratios shown beside the deciding one."""
    if key in CALL_RATIOS:
        return [name for name in CALL_RATIOS if name != key]
    order = ("cpu_per_request", "latency_p99", "throughput")
    return [name for name in order if name != key][:2]


def _ladder_row(
    step: LadderStep, others: Sequence[str], *, has_book: bool, is_ladder: bool
) -> list[RenderableType]:
    compared = step.comparison
    interval = of_objective(compared)
    change = Text(_in_lines(step_name(step)))
    for line in step.change_lines:
        fits = len(line) + 2 <= _KNOB_WIDTH
        broken = line if fits else line.replace(" → ", "\n  → ")
        change.append(f"\n  {broken}", "dim")
    cells: list[RenderableType] = [
        change,
        interval_ratio_text(interval),
        bounds_text(interval),
        _decided_text(compared),
        *([ratio_text(step.running_ratio)] * is_ladder),
        *(mark(compared, name) + ratio_text(_middle(compared, name)) for name in others),
    ]
    if has_book:
        cells.append(ratio_text(step.book_ratio))
    return cells


def _in_lines(name: str) -> str:
    """Return a name in lines that fit, broken behind a member and before a scope."""
    if len(name) <= _KNOB_WIDTH:
        return name
    member, colon, rest = name.rpartition(":")
    knob, at, scope = rest.partition("@")
    return "\n".join(part for part in (member + colon, knob, at + scope) if part)


def _decided_text(compared: Comparison) -> Text:
    """Return the verdict, and the tie breaker where that decided."""
    text = styled_verdict(compared)
    if compared.decided_by:
        text.append(f"\nby {named(compared.decided_by).short}", "dim")
    return text


def _middle(comparison: Comparison, name: str) -> float | None:
    interval = shown_ratios(comparison).get(name)
    return interval.ratio if interval is not None and is_telling(interval) else None


# A study's outcome for a terminal: reads well in 80 columns, without colour.

_SIZES = frozenset({"memory", "uss_per_process", "bytes_per_request"})
_INDENT = (0, 0, 0, 2)


def outcome_text(
    outcome: Outcome, *, has_page: bool = False, is_verbose: bool = False
) -> RenderableType:
    """Return the whole report: what was found, the evidence, caveats, and what to do next.

    Args:
        has_page: Whether the report is written as a page too, so that nobody is told to write it.
        is_verbose: Whether all is told that limited a ladder's steps, and what its columns are.
    """
    parts: list[RenderableType] = [Text(f"{outcome.plan.study.name}: {headline(outcome)}", "bold")]
    if outcome.ended_by and outcome.status != "failed":
        parts.append(Text(joined(outcome.ended_by)))
    changes = _change_lines(outcome) + their_lines(outcome, is_whole=is_verbose)
    is_ladder = bool(outcome.steps) and outcome.plan.reference is None
    if is_ladder:
        # What to change and what is gained come first: the rest is why.
        parts += changes
    parts += _steps(outcome, is_explained=is_verbose)
    if outcome.not_tried:
        parts.append(Text(not_tried_text(outcome)))
    if outcome.sweep is not None:
        parts += [Text(), sweep_chart(outcome.sweep)]
    if outcome.factorial is not None:
        parts += factorial_lines(outcome.factorial)
    conclusion = _conclusion(outcome)
    if not is_ladder:
        conclusion += changes if conclusion else changes[1:]
    if conclusion:
        parts += [Text(), *conclusion]
    parts += phase_lines(outcome)
    parts += age_lines(outcome)
    is_whole = is_verbose or not outcome.steps
    parts += limit_lines(outcome, is_whole=is_whole) + own_log_lines(outcome)
    caveats = outcome_caveats(outcome)
    if caveats:
        parts += [Text(), *(_caveat_line(caveat) for caveat in caveats)]
    parts += [Text(), *_closing(outcome, has_page=has_page)]
    return Group(*(Prose(part) if isinstance(part, Text) else part for part in parts))


def _steps(outcome: Outcome, *, is_explained: bool) -> list[RenderableType]:
    """Return what came of each change or candidate, as a table and what that has no room for."""
    if not outcome.steps:
        return []
    against = "" if outcome.plan.reference is None else reference_name(outcome)
    table = ladder_table(outcome.steps, against=against, is_explained=is_explained)
    parts: list[RenderableType] = [Text(), table]
    if against:
        parts.append(Text(versus_note(outcome)))
    parts += [*_also_rows(outcome), *_failures(outcome)]
    return parts + (_rows_lines(outcome) if against else [])


def _conclusion(outcome: Outcome) -> list[RenderableType]:
    if outcome.final is None:
        lines: list[RenderableType] = []
        is_ladder = outcome.plan.reference is None
        told = so_far(outcome)
        is_told = told in headline(outcome)
        if is_ladder and not is_told and any(step.kept for step in outcome.steps):
            lines.append(Text(told, "bold"))
        return lines
    book = None if outcome.plan.command == "compare" else outcome.plan.study.book_ratio
    return list(comparison_lines(outcome.final, arm_names(outcome), book_ratio=book))


def comparison_lines(
    comparison: Comparison, names: tuple[str, str], *, book_ratio: float | None = None
) -> tuple[RenderableType, ...]:
    """Return a comparison: the claim, why, the other figures, both arms side by side."""
    claim = Text(f"{names[1]} over {names[0]}  ", "bold")
    arms = list(zip(names, (comparison.a, comparison.b), strict=True))
    lines: list[RenderableType]
    if not has_figure(comparison):
        lines = [claim.append(_without_figure(comparison)), *_second_line(comparison)]
    else:
        lines = [claim.append(evidence_text(comparison)), *_reasons(comparison)]
    if book_ratio is not None:
        lines.append(Padding(Prose(Text(f"published: {ratio_text(book_ratio)} ×")), _INDENT))
    if has_figures(comparison.a) or has_figures(comparison.b):
        table = arms_table(arms_grid(arms, more=more_of(comparison)))
        lines += [Text(), Padding(table, _INDENT)]
    answers = answers_lines(arms)
    if answers:
        table = plain_table()
        for name, text in answers:
            table.add_row(*([Text(name)] * bool(name)), Text(text))
        lines += [Text(), Padding(table, _INDENT)]
    if dropped := dropped_line(arms):
        lines.append(Padding(Prose(Text(dropped)), _INDENT))
    for note in header_notes((comparison.a, comparison.b)):
        lines.append(Padding(Prose(Text(note)), _INDENT))
    return tuple(lines)


def _without_figure(comparison: Comparison) -> Text:
    """Return why there is no figure: the server's own words in full, or what to do."""
    verdict = styled_verdict(comparison)
    words = words_without_figure(comparison)
    return verdict.append(f": {words}" if words else "", "default")


def _reasons(comparison: Comparison) -> list[RenderableType]:
    """Return why the verdict is what it is, and the figures that did not decide."""
    said = said_ratios(comparison)
    name = named(decider(comparison)).label
    why = Text.assemble(f"{name}: ", styled_verdict(comparison), f", {joined(comparison.reasons)}")
    needed = needed_text(comparison)
    if needed:
        why.append(f"; {needed}")
    shown = shown_ratios(comparison)
    others = [
        f"{each.label} {ratio_bounds_text(shown[each.ratio])}"
        for each in METRICS
        # Both sides of these stand in the table, and seldom differ.
        if each.ratio not in _SIZES
        if each.ratio not in said and is_telling(shown.get(each.ratio))
    ]
    lines: list[RenderableType] = [Padding(Prose(why), _INDENT), *_second_line(comparison)]
    words = ", ".join(others)
    # The word once: `p50 latency 0.2 ×, p99 latency 0.3 ×` is a line too long.
    first, _, more = words.partition(" latency ")
    words = f"{first} latency {more.replace(' latency', '')}" if more else words
    return lines + ([Padding(Prose(Text(words)), _INDENT)] if words else [])


def _second_line(comparison: Comparison) -> list[RenderableType]:
    """Return what is proven of the second metric, if anything is; and what is asked for besides."""
    second = second_claim(comparison)
    told = [] if second is None else [(second, second_figure(comparison, second))]
    told += [(each, also_words(comparison, each)) for each in also_claims(comparison)]
    lines = []
    for claim, words in told:
        too = " too" if claim.verdict == comparison.verdict and claim is second else ""
        lines.append(Padding(Prose(_claim_line(claim, f"{too}, {words}")), _INDENT))
    return [*lines]


def _claim_line(claim: SecondClaim, words: str) -> Text:
    verdict = (claim.verdict.replace("_", " "), VERDICT_STYLES[claim.verdict])
    return Text.assemble(f"{named(claim.metric).label}: ", verdict, words)


def _also_rows(outcome: Outcome) -> list[RenderableType]:
    """Return what is asked for besides of each row: its table has the usual ratios, no verdicts."""
    return [
        Text(f"{step_name(step)}, ").append(_claim_line(each, f", {words}"))
        for step in outcome.steps
        for each in also_claims(step.comparison)
        if (words := also_words(step.comparison, each))
    ]


def _rows_lines(outcome: Outcome) -> list[RenderableType]:
    """Return the figures behind ratios to one reference, in their own units."""
    grid = rows_grid(outcome)
    if grid is None:
        return []
    notes = header_notes(arm for _, arm in row_arms(outcome))
    return [Text(), arms_table(grid), *(Prose(Text(note, "dim")) for note in notes)]


def _failures(outcome: Outcome) -> list[RenderableType]:
    """Return what the table has no room for: why a step has no figure, and what failed."""
    lines: list[RenderableType] = []
    for step in outcome.steps:
        compared = step.comparison
        if not has_figure(compared):
            lines.append(Text(f"{step.change}: ").append(_without_figure(compared)))
        if compared.a.errors or compared.b.errors:
            arms = [("before", compared.a), ("after", compared.b)]
            told = "; ".join(f"{name} {answers_text(arm)}" for name, arm in arms)
            lines.append(Text(f"{step.change}: {told}", "yellow"))
        if dropped := dropped_line([("before", compared.a), ("after", compared.b)]):
            lines.append(Text(f"{step.change}: {dropped}"))
    return lines


def _change_lines(outcome: Outcome) -> list[RenderableType]:
    changes = configuration_changes(outcome)
    if not changes:
        return []
    table = plain_table(gap=1)
    table.add_column(no_wrap=True)
    for knob, before, after in changes:
        table.add_row(Text(knob, "cyan"), f"{before} → {after}", *proven_cells(outcome, knob))
    return [Text(), Text(changes_title(outcome), "bold"), Padding(table, _INDENT)]


def _caveat_line(caveat: Caveat) -> RenderableType:
    return Text.assemble(("caveat: ", "yellow"), caveat.message)


def _closing(outcome: Outcome, *, has_page: bool) -> list[RenderableType]:
    undecided = undecided_text(outcome)
    lines: list[RenderableType] = [Text(undecided)] if undecided else []
    # Time is counted by starts: before the first has ended there is none to tell.
    took = f"took {format_duration(outcome.duration_s)}, " if outcome.duration_s > 0 else ""
    lines.append(Text("; ".join([*_state(outcome), f"{took}seed {outcome.plan.seed}"])))
    if command := next_command(outcome, has_page=has_page):
        lines.append(Text.assemble("next: ", (f"`{command}`", "cyan")))
    return lines


def _state(outcome: Outcome) -> list[str]:
    """Return how the server was left, as far as it is known: a failure may be that it was not."""
    if outcome.status == "running":
        return ["not finished yet, or cut off"]
    has_server = outcome.plan.study.fragments is None
    return ["the server is as it was found"] if has_server and outcome.status != "failed" else []


def claim_text(comparison: Comparison) -> Text:
    """Return the verdict and the ratio that decided, and what else is proven, for progress."""
    gap = " " if comparison.decided_by else "  "
    second = brief_clause(comparison)
    return Text.assemble(styled_verdict(comparison), gap, evidence_text(comparison), second)


def step_line(step: LadderStep, number: int, n_steps: int, *, is_of_ladder: bool = True) -> Text:
    """Return a finished step in one line, for progress."""
    line = Text(f"{_step_number(step, number, n_steps)}  {step.change}  ")
    if not is_of_ladder:
        line = Text(f"{number} of {n_steps}  {step.change}  ")
    line.append(claim_text(step.comparison))
    tail = "kept" if step.kept else "not kept"
    return line.append(f"  {tail}") if is_of_ladder else line


def _step_number(step: LadderStep, number: int, n_steps: int) -> str:
    return "again" if step.attempt > 1 else f"step {number} of {n_steps}"
