"""What limited servers, what changed inside them, and what their own error logs said."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.advice.bottleneck import differences, memory_differences, remark_on, unmoved_calls
from httpdyno.model import (
    ArmSummary,
    Bottleneck,
    Comparison,
    Configuration,
    LogKind,
    LogLines,
    Look,
    Outcome,
    OwnAccount,
    Sweep,
    is_of_words,
    level_text,
)
from httpdyno.report.shared import message
from httpdyno.report.shared.bottleneck import (
    answer_time_text,
    difference_text,
    limit_word,
    rough_time,
    run_queue_text,
)
from httpdyno.report.shared.log_text import TOLD_LEVELS, shortened
from httpdyno.report.shared.message import texts
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.prose import Prose
from httpdyno.report.study.arms import worker_text
from httpdyno.report.study.finding import factorial_arms
from httpdyno.telemetry.log import said, together, worst_first
from httpdyno.units import format_about, format_duration, format_percent, format_rate

# What limited the server, and what kept changes did inside it, as it was looked at under load.

_TOLD_RATIO = 0.005


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitRow:
    """A configuration, and what limited it."""

    name: str
    """`start`, or the change that led to it."""
    limit: str
    """In words."""
    reason: str
    advice: str
    time: str = ""
    """What an answer takes of a worker and at the client; empty where that is not known."""
    run_queue: str = ""
    """Of the machine, where the client or others took cores from it."""
    worker: str = ""
    """What one of its workers is; empty where that is not known."""
    own: tuple[str, ...] = ()
    """What its status pages and its statsd said."""
    moved: tuple[str, ...] = ()
    """What the change did: `private memory of a process 3.10 MiB → 2.20 MiB`, which the starts
    show, then what was seen in the looks: `write calls of an answer 14 → 6.1`."""

    @property
    def has_more(self) -> bool:
        """Whether more was seen than the limit and its reason."""
        return any((self.time, self.run_queue, self.worker, self.own, self.moved))


def limit_rows(outcome: Outcome) -> list[LimitRow]:
    """Return what limited the start, and each configuration after a change that was kept.

    In a comparison of several candidates what limited each of them. Empty where nobody looked.
    """
    seen = _seen(outcome)
    rows = []
    for name, before, after in told_configurations(outcome):
        found = seen.get(after.label())
        if found is None:
            continue
        arm, look, bottleneck = found
        moved: tuple[str, ...] = ()
        if before is not None:
            first = seen.get(before.label())
            moved = (*_memory(outcome, before, after), *(_moved(first.look, look) if first else ()))
        rows.append(
            LimitRow(
                name=name,
                limit=limit_word(bottleneck),
                reason=message.text(bottleneck.reason),
                advice=message.text(bottleneck.advice) if bottleneck.advice else "",
                time=answer_time_text(bottleneck.answer_time),
                run_queue=run_queue_text(look),
                worker=worker_text(arm, look),
                own=tuple(own_account_text(each, look) for each in look.own),
                moved=moved,
            )
        )
    return rows


def _memory(outcome: Outcome, before: Configuration, after: Configuration) -> Iterator[str]:
    """Yield what the last comparison of these two shows of memory: of a second try the second."""
    asked = before.label(), after.label()
    found = comparisons(outcome)
    for compared in reversed(found):
        if (compared.a.configuration.label(), compared.b.configuration.label()) == asked:
            moved = memory_differences(
                compared,
                confidence=outcome.plan.study.objective.confidence,
                n_comparisons=len(found),
            )
            yield from (difference_text(each) for each in moved)
            return


def _moved(before: Look, after: Look) -> tuple[str, ...]:
    moved = tuple(difference_text(each) for each in differences(before, after))
    alike = ", ".join(difference_text(each) for each in unmoved_calls(before, after))
    return (*moved, f"moved by less than half, for an answer: {alike}") if alike else moved


def own_account_text(account: OwnAccount, look: Look) -> str:
    """Return what a server says of itself: `W answering 97 %, … of its workers' time`."""
    if account.answer_s is not None:
        return _own_time_text(account, account.answer_s, look)
    total = sum(account.states.values())
    told = sorted(account.states.items(), key=lambda item: -item[1])
    told = [(name, n) for name, n in told if n >= _TOLD_RATIO * total]
    page = f"{account.server}'s own status page"
    if not told:
        return f"{page}: no other {account.of}"
    if account.of == "connections":
        means = ", ".join(f"{name} {format_about(n)}" for name, n in told)
        return f"{page}, mean connections: {means}"
    shares = ", ".join(f"{name} {format_percent(n / total)}" for name, n in told)
    return f"{page}: {shares} of its {account.of}' time"


def _own_time_text(account: OwnAccount, answer_s: float, look: Look) -> str:
    """Return what a server that counts answers says of itself, beside what the client saw."""
    told = [f"an answer takes {rough_time(answer_s)} of a worker"]
    if account.requests_per_s is not None:
        busy = account.requests_per_s * answer_s
        told.insert(0, f"{format_rate(account.requests_per_s)} requests")
        told.append(f"{format_about(busy)} of {format_about(look.workers)} workers at answers")
    words = f"{account.server}'s own statsd: {', '.join([*told, *texts(account.remarks)])}"
    if not look.answers or not look.seconds:
        return words
    client_s = look.clients * look.seconds / look.answers
    rate = format_rate(look.answers / look.seconds)
    return f"{words}; the client saw {rate} right answers, each after {rough_time(client_s)}"


def limit_words(outcome: Outcome) -> dict[str, str]:
    """Return in words what limited each configuration that was looked at, by its label."""
    return {label: limit_word(found.bottleneck) for label, found in _seen(outcome).items()}


def looked_text(outcome: Outcome) -> str:
    """Return how long servers were looked at: `seen in 0.7 s of load each, of one start`.

    With phases also of what: a load before or between them would be a phase that nobody asked for,
    and so nobody looks until all are through.
    """
    seconds = [each.look.seconds for each in _seen(outcome).values()]
    told = f"seen in {format_duration(max(seconds, default=0.0))} of load each, of one start"
    method = outcome.plan.study.method
    if not method.phases:
        return told
    last = method.phases[-1].name
    load = "its load" if last == method.decides else f"the load of “{method.decides}”"
    return f"{told}, as the last phase, “{last}”, left the server, at {load}"


def told_configurations(
    outcome: Outcome,
) -> Iterator[tuple[str, Configuration | None, Configuration]]:
    """Yield the configurations that a run's reasons are told of: name, the one before, itself."""
    compared = comparisons(outcome)
    if not compared:
        return
    is_compare = outcome.plan.command == "compare"
    yield "a" if is_compare else "start", None, compared[0].a.configuration
    if not outcome.steps and outcome.final is not None:
        final = outcome.final
        if final.a.configuration != final.b.configuration:
            yield "b" if is_compare else "final", final.a.configuration, final.b.configuration
    for step in outcome.steps:
        if step.kept or outcome.plan.reference is not None:
            arms = step.comparison.a.configuration, step.comparison.b.configuration
            yield step.change, *arms


def comparisons(outcome: Outcome) -> list[Comparison]:
    """Return all comparisons of a run, the final one last."""
    steps = [step.comparison for step in outcome.steps]
    return steps if outcome.final is None else [*steps, outcome.final]


def _arms(outcome: Outcome) -> Iterator[ArmSummary]:
    """Yield all arms of a run in the order in which they were measured."""
    if outcome.sweep is not None:
        yield from (point.arm for point in outcome.sweep.points)
    if outcome.factorial is not None:
        yield from outcome.factorial.arms
    for compared in comparisons(outcome):
        yield from (compared.a, compared.b)


class _Seen(NamedTuple):
    arm: ArmSummary
    look: Look
    bottleneck: Bottleneck


def _seen(outcome: Outcome) -> dict[str, _Seen]:
    """Return what was seen of each configuration that was looked at, by its label.

    Of several looks at one the first in which its system calls were counted, or else the first.
    """
    seen = [
        _Seen(arm, arm.look, arm.bottleneck)
        for arm in reversed([*_arms(outcome)])
        if arm.look is not None and arm.bottleneck is not None
    ]
    # The last one of a name counts.
    seen.sort(key=lambda each: bool(each.look.calls))
    return {each.arm.configuration.label(): each for each in seen}


# What limited what has no row of its own, by its word alone: levels, combinations, lost steps.


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Configurations that the same limited."""

    levels: str
    """`2 … 8`; empty where the line's name says which."""
    limit: str
    """In words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BriefLimit:
    """A line of limits."""

    name: str
    """A sweep's knob, a combination, or a step's change."""
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """What follows the name: ` 2 … 8: too few workers; 16 … 64: CPU`, or `: CPU`."""
        told = (f"{part.levels}: {part.limit}" for part in self.parts if part.levels)
        return f" {'; '.join(told)}" if self.parts[0].levels else f": {self.parts[0].limit}"


def brief_limits(outcome: Outcome) -> list[BriefLimit]:
    """Return a sweep's levels in a line, then combinations of a factorial, or lost steps.

    Those have no row among those of the start and of what was kept. Each that was limited by
    something else than the start has a line, all others one together. Empty where nobody looked.
    """
    words = limit_words(outcome)
    lines = [] if outcome.sweep is None else _of_sweep(outcome.sweep, words)
    told = {after.label() for _, _, after in told_configurations(outcome)}
    # Of a step that was tried twice the second time counts.
    labels = {
        name: label
        for name, configuration in _others(outcome)
        if (label := configuration.label()) in words and label not in told
    }
    # Without a final claim the start is one of them.
    start = _start(outcome).label()
    alike = [
        name
        for name, label in labels.items()
        if label != start and words[label] == words.get(start)
    ]
    lines += [_brief(name, words[label]) for name, label in labels.items() if name not in alike]
    if alike:
        what = "combinations" if outcome.factorial is not None else "lost steps"
        name = alike[0] if len(alike) == 1 else f"{len(alike)} {what}"
        lines.append(_brief(name, f"the start's limit ({words[start]})"))
    return lines


def _brief(name: str, limit: str) -> BriefLimit:
    return BriefLimit(name=name, parts=(Part(levels="", limit=limit),))


def _start(outcome: Outcome) -> Configuration:
    compared = comparisons(outcome)
    if compared:
        return compared[0].a.configuration
    return outcome.plan.study.start_configuration()


def _others(outcome: Outcome) -> Iterator[tuple[str, Configuration]]:
    if outcome.factorial is not None:
        for name, arm in factorial_arms(outcome.factorial):
            yield name, arm.configuration
    for step in outcome.steps:
        if not step.kept:
            yield step.change, step.comparison.b.configuration


def _of_sweep(sweep: Sweep, words: dict[str, str]) -> list[BriefLimit]:
    """Return its levels in runs of neighbours that the same limited; none where nobody looked."""
    limits = [(point.level, words.get(point.arm.configuration.label())) for point in sweep.points]
    parts = []
    for limit, run in groupby(limits, key=lambda each: each[1]):
        levels = [level for level, _ in run]
        if limit is None:
            continue
        names = [level_text(level) for level in levels]
        is_range = len(names) > 1 and not is_of_words(levels)
        text = f"{names[0]} … {names[-1]}" if is_range else ", ".join(names)
        parts.append(Part(levels=text, limit=limit))
    return [BriefLimit(name=sweep.knob, parts=tuple(parts))] if parts else []


# What limited the server, for the terminal.

_INDENT = (0, 0, 0, 2)
_DEEPER = (0, 0, 0, 4)


def limit_lines(outcome: Outcome, *, is_whole: bool = True) -> list[RenderableType]:
    """Return what limited each configuration that counts, and the others in a line each.

    Empty where nobody looked.

    Args:
        outcome: Of the run.
        is_whole: Whether all is told; else of the first and the last row what limited them.
    """
    rows, others = limit_rows(outcome), brief_limits(outcome)
    if not (rows or others):
        return []
    title = Text.assemble(("what limited it", "bold"), f" ({looked_text(outcome)})")
    if rows and not is_whole:
        told = (rows[0], *rows[-1:]) if len(rows) > 1 else rows
        return [Text(), Prose(title), *map(_line, told)]
    lines: list[RenderableType] = [Text(), Prose(title)]
    for row in rows:
        lines.append(_line(row))
        for text in (row.time, row.run_queue, row.worker, *row.own, "; ".join(row.moved)):
            if text:
                lines.append(Padding(Prose(Text(text)), _DEEPER))
    for other in others:
        lines.append(Padding(Prose(Text.assemble((other.name, "cyan"), other.text)), _INDENT))
    return lines


def _line(row: LimitRow) -> RenderableType:
    line = Text.assemble((row.name, "cyan"), f": {row.limit}; {row.reason}")
    return Padding(Prose(line), _INDENT)


# What the servers' own error logs said of each configuration while it was loaded.

LOG_TITLE = "what their error logs said"
LOG_NOTE = "warnings and worse, from when a server was ready to the end of its load"
_MOST_ROWS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class LogRow:
    """A kind of line, and which configurations' servers wrote it."""

    level: str
    text: str
    """The first such line, without time, level and process; shortened."""
    where: str
    """`start: 12 lines in 6 of 6 starts; final: none`."""
    remark: str
    """What should be known of it; empty for most."""


def log_rows(outcome: Outcome) -> list[LogRow]:
    """Return the worst kinds of lines, once each, with the number of each configuration.

    Those without a level of their own are not among them: many programs print what is no trouble.
    """
    logs = dict(_logs(outcome))
    kinds: dict[tuple[str, str], dict[str, LogKind]] = {}
    for name, log in logs.items():
        for kind in log.kinds:
            if kind.level in TOLD_LEVELS:
                kinds.setdefault((kind.level, kind.form), {})[name] = kind
    first = worst_first(next(iter(found.values())) for found in kinds.values())
    return [
        LogRow(
            level=kind.level,
            text=shortened(said(kind.example)),
            where=_where(kinds[kind.level, kind.form], logs),
            remark=message.text(remark) if (remark := remark_on(kind)) else "",
        )
        for kind in first
    ]


def shown_rows(rows: list[LogRow]) -> tuple[list[LogRow], str]:
    """Return the rows that fit, and in words how many there are besides."""
    more = len(rows) - _MOST_ROWS
    return rows[:_MOST_ROWS], f"and {plural(more, 'kind')} of lines more" if more > 0 else ""


def _logs(outcome: Outcome) -> Iterator[tuple[str, LogLines]]:
    """Yield the logs of each configuration that is told of, over all comparisons."""
    arms: dict[str, list[ArmSummary]] = {}
    for compared in comparisons(outcome):
        for arm in (compared.a, compared.b):
            arms.setdefault(arm.configuration.label(), []).append(arm)
    for name, _, configuration in told_configurations(outcome):
        parts = [arm.log for arm in arms.get(configuration.label(), ()) if arm.log is not None]
        if log := together(parts):
            yield name, log


def _where(of: dict[str, LogKind], logs: dict[str, LogLines]) -> str:
    texts = []
    for name, log in logs.items():
        kind = of.get(name)
        if kind is None:
            texts.append(f"{name}: none")
            continue
        starts = f"{kind.n_starts} of {plural(log.n_starts, 'start')}"
        lines = f"{'at least ' if log.unread_bytes else ''}{plural(kind.count, 'line')}"
        texts.append(f"{name}: {lines} in {starts}")
    return "; ".join(texts)


# What the servers' own error logs said, for the terminal.

_STYLES = {"critical": "red", "error": "red", "warning": "yellow"}


def own_log_lines(outcome: Outcome) -> list[RenderableType]:
    """Return each kind of line with who wrote it; empty where none was bad."""
    rows, more = shown_rows(log_rows(outcome))
    if not rows:
        return []
    title = Text.assemble((LOG_TITLE, "bold"), f" ({LOG_NOTE})")
    lines: list[RenderableType] = [Text(), Prose(title)]
    for row in rows:
        line = Text.assemble((row.level, _STYLES[row.level]), f": {row.text}")
        lines.append(Padding(Prose(line), _INDENT))
        lines += [Padding(Prose(Text(text)), _DEEPER) for text in (row.where, row.remark) if text]
    return [*lines, *([Padding(Prose(Text(more)), _INDENT)] if more else [])]
