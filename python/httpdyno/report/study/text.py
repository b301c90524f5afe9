"""A study's outcome for a terminal: reads well in 80 columns, without colour.

Everything here returns something that rich can print; nothing here prints.
"""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from httpdyno.metrics import METRICS, named
from httpdyno.model import (
    Comparison,
    LadderStep,
    Outcome,
    SecondClaim,
)
from httpdyno.report.shared.caveat import Caveat
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.age_text import age_lines
from httpdyno.report.study.also_text import also_claims, also_words, said_ratios
from httpdyno.report.study.arms_text import ROWS_NOTE, arms_table, more_of, row_arms
from httpdyno.report.study.calls_text import has_figures
from httpdyno.report.study.dropped import dropped_line
from httpdyno.report.study.factorial_text import factorial_lines
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
from httpdyno.report.study.header_text import header_notes
from httpdyno.report.study.http_answers import answers_lines, answers_text
from httpdyno.report.study.ladder_text import ladder_table
from httpdyno.report.study.limit_text import limit_lines
from httpdyno.report.study.own_log_text import own_log_lines
from httpdyno.report.study.phase_text import phase_lines
from httpdyno.report.study.second_text import (
    brief_clause,
    second_claim,
    second_figure,
)
from httpdyno.report.study.sweep_text import sweep_chart
from httpdyno.report.study.their_files import proven_cells, their_lines
from httpdyno.report.study.verdict_style import VERDICT_STYLES, verdict_text
from httpdyno.report.study.verdict_text import (
    decider,
    evidence_text,
    has_figure,
    is_telling,
    needed_text,
    ratio_bounds_text,
    ratio_text,
    shown_ratios,
    step_name,
    words_without_figure,
)
from httpdyno.units import format_duration

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
    lines: list[RenderableType]
    if not has_figure(comparison):
        lines = [claim.append(_without_figure(comparison)), *_second_line(comparison)]
    else:
        lines = [claim.append(evidence_text(comparison)), *_reasons(comparison)]
    if book_ratio is not None:
        lines.append(Padding(Prose(Text(f"published: {ratio_text(book_ratio)} ×")), _INDENT))
    if has_figures(comparison.a) or has_figures(comparison.b):
        arms = list(zip(names, (comparison.a, comparison.b), strict=True))
        table = arms_table(arms, more=more_of(comparison))
        lines += [Text(), Padding(table, _INDENT)]
    answers = answers_lines(list(zip(names, (comparison.a, comparison.b), strict=True)))
    if answers:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        for name, text in answers:
            table.add_row(*([Text(name)] * bool(name)), Text(text))
        lines += [Text(), Padding(table, _INDENT)]
    if dropped := dropped_line(list(zip(names, (comparison.a, comparison.b), strict=True))):
        lines.append(Padding(Prose(Text(dropped)), _INDENT))
    for note in header_notes((comparison.a, comparison.b)):
        lines.append(Padding(Prose(Text(note)), _INDENT))
    return tuple(lines)


def _without_figure(comparison: Comparison) -> Text:
    """Return why there is no figure: the server's own words in full, or what to do."""
    verdict = verdict_text(comparison)
    words = words_without_figure(comparison)
    return verdict.append(f": {words}" if words else "", "default")


def _reasons(comparison: Comparison) -> list[RenderableType]:
    """Return why the verdict is what it is, and the figures that did not decide."""
    said = said_ratios(comparison)
    name = named(decider(comparison)).label
    why = Text.assemble(f"{name}: ", verdict_text(comparison), f", {joined(comparison.reasons)}")
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
    arms = row_arms(outcome)
    if not arms:
        return []
    table = arms_table(arms, more=more_of(outcome.steps[0].comparison))
    notes = (ROWS_NOTE, *header_notes(arm for _, arm in arms))
    return [Text(), table, *(Prose(Text(note, "dim")) for note in notes)]


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
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
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
    return Text.assemble(verdict_text(comparison), gap, evidence_text(comparison), second)


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
