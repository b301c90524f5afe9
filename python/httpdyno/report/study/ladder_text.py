"""The ladder on a terminal: a change to a row, and what memory the server with it had."""

from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from httpdyno.metrics import named, of_ratio
from httpdyno.metrics.table import CALL_RATIOS
from httpdyno.model import ArmSummary, Comparison, LadderStep
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.second_text import mark, marks_text
from httpdyno.report.study.verdict_style import verdict_text
from httpdyno.report.study.verdict_text import (
    bounds_text,
    interval_ratio_text,
    is_telling,
    of_objective,
    ratio_text,
    shown_ratios,
    step_name,
)
from httpdyno.units import format_bytes

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
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="")
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
    text = verdict_text(compared)
    if compared.decided_by:
        text.append(f"\nby {named(compared.decided_by).short}", "dim")
    return text


def _middle(comparison: Comparison, name: str) -> float | None:
    interval = shown_ratios(comparison).get(name)
    return interval.ratio if interval is not None and is_telling(interval) else None
