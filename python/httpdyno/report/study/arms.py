"""What arms did, in their own units: figures, calls, answers, headers, workers."""

import math
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.text import Text

from httpdyno.metrics import METRICS, named
from httpdyno.model import (
    ArmSummary,
    CallFigures,
    Comparison,
    HeaderWords,
    Look,
    OfWorkers,
    Outcome,
    Study,
    WorkersSeen,
)
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.phrase import NOTHING, oxford
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.view import Folded, Grid, plain_table
from httpdyno.report.shared.workload_text import workload_text
from httpdyno.report.study.finding import factorial_arms, reference_name
from httpdyno.report.study.verdict import status_badge
from httpdyno.stats.histogram import is_median_between
from httpdyno.units import format_bytes, format_duration, format_number, format_percent, format_rate

# What calls of bodies of code take, a body to a row: for a terminal and for a page.

Arms = Sequence[tuple[str, ArmSummary]]

CALLS_HEAD = ("CPU/call", "wall/call", "wall/CPU", "taken off", "calls")
CALLS_NOTE = (
    "what a pass of the empty body takes is taken off CPU and wall time of a call; wall/CPU is of "
    "whole batches, and above 1 where others had the core too"
)
_NAME_WIDTH = 28
_MILLION = 1_000_000


def are_calls(arms: Arms) -> bool:
    """Whether these are bodies that a program repeats."""
    return any(arm.calls is not None for _, arm in arms)


def has_figures(arm: ArmSummary) -> bool:
    """Whether an arm was measured at all: it answered, or was called."""
    return arm.throughput_per_s > 0 or arm.calls is not None


def calls_grid(arms: Arms) -> Grid:
    """Return what a call of each takes."""
    rows = [(name, *call_cells(arm)) for name, arm in arms]
    return Grid(head=("", *CALLS_HEAD), rows=rows, note=CALLS_NOTE, name_width=_NAME_WIDTH)


def call_cells(arm: ArmSummary) -> tuple[str, ...]:
    """Return a body's figures in their own units; why there are none where it was not called."""
    calls = arm.calls
    if calls is None:
        what = "not measured" if arm.status == "complete" else status_badge(arm.status)
        return (what, *[NOTHING] * (len(CALLS_HEAD) - 1))
    return (
        cpu_text(calls),
        call_time(calls.wall_s),
        format_number(calls.dilation, 2),
        call_time(calls.empty_cpu_s),
        count_text(calls.n_calls),
    )


def cpu_text(calls: CallFigures) -> str:
    """Return the CPU time of a call."""
    return call_time(calls.cpu_s)


def call_time(seconds: float) -> str:
    """Return a time of a call: nanoseconds as far as they go, signs and all."""
    if abs(seconds) < 1e-6:  # noqa: PLR2004 - a microsecond
        return f"{format_number(seconds * 1e9, 1)} ns"
    return format_duration(seconds) if seconds > 0 else f"-{format_duration(-seconds)}"


def count_text(n: int) -> str:
    """Return a number of calls, millions from where they are."""
    return f"{format_number(n / _MILLION, 1)} million" if n >= _MILLION else f"{n:,}"


def tiles_of(a: CallFigures, b: CallFigures) -> list[tuple[str, str, str]]:
    """Return what stands in large on a page: before and after."""
    return [
        ("CPU per call", cpu_text(a), cpu_text(b)),
        ("wall time per call", call_time(a.wall_s), call_time(b.wall_s)),
        ("taken off", call_time(a.empty_cpu_s), call_time(b.empty_cpu_s)),
    ]


def offered_text(study: Study) -> str:
    """Return what is done to what is measured: the workload, or batches of calls."""
    if study.fragments is None:
        return workload_text(study.load_of(study.start_configuration()))
    return f"bodies of code, called in batches of {format_duration(study.method.window_s)}"


def method_words(outcome: Outcome) -> str:
    """Return how calls were measured, in a sentence or two."""
    method, fragments = outcome.plan.study.method, outcome.plan.study.fragments
    empty = fragments.empty if fragments else ""
    return (
        "Each start was a process of its own, with an environment of another length and the bodies "
        "called first in another order. In it both bodies and the empty one "
        f"(`{empty}`) were called in turn, in random order, up to "
        f"{method.blocks_per_start:,} batches of "
        f"{format_duration(method.window_s)} each; the CPU time is the kernel's account of that "
        "process, whatever it says itself. What a pass of the empty body took in the same blocks "
        f"was taken off, and nothing is claimed from fewer than {method.min_starts} such starts, "
        "nor of a body that is not clearly above the empty one."
    )


# What answers said in the header that a study counts, in words: how many, and which part.

_MOST_WORDS = 3
"""A column has no room for more."""
_OTHERS = "others"
_WITHOUT = "without"
_UNCOUNTED = "not counted"


def words_text(found: HeaderWords | None) -> str:
    """Return `HIT 1,140 (95 %), MISS 60 (5 %)`, most frequent first; a dash without a count."""
    if found is None:
        return NOTHING
    n = found.n_answers
    if not n:
        return _UNCOUNTED
    ordered = sorted(found.counts.items(), key=lambda each: (-each[1], each[0]))
    rest = sum(count for _, count in ordered[_MOST_WORDS:])
    told = [*ordered[:_MOST_WORDS], (_OTHERS, rest), (_WITHOUT, found.n_without)]
    return ", ".join(
        f"{word} {count:,} ({format_percent(count / n)})" for word, count in told if count
    )


def header_name(arms: Iterable[ArmSummary]) -> str:
    """Return the header that was counted of some of them; empty where none was."""
    return next((arm.header_words.name for arm in arms if arm.header_words is not None), "")


def header_line(arms: Arms) -> str:
    """Return `off: without 200 (100 %); disk: HIT 200 (100 %)`; empty without a count."""
    return "; ".join(f"{of}: {text}" for of, text in _told(arms))


def header_table(arms: Arms) -> list[RenderableType]:
    """Return the same as lines, an arm to each, with what they are; empty without a count."""
    notes = header_notes(arm for _, arm in arms)
    if not notes:
        return []
    table = plain_table(gap=1)
    table.add_column(justify="right")
    for of, text in _told(arms):
        table.add_row(Text(of), Text(text))  # what a server said is no markup
    return [*(Prose(Text(note)) for note in notes), table]


def header_notes(arms: Iterable[ArmSummary]) -> list[str]:
    """Return what the words are of, and why some are missing; empty where nothing was counted."""
    found = [arm.header_words for arm in arms if arm.header_words is not None]
    if not found:
        return []
    name = found[0].name
    why = [joined(each.uncounted) for each in found]
    why += [
        f"phase {of}, {joined(s.uncounted)}"
        for w in found
        for of, s in w.beside.items()
        if s.uncounted
    ]
    return [
        f"{name}: its first word, in answers to the same load after the windows",
        *(f"{name} was not counted of some answers: {each}" for each in dict.fromkeys(why) if each),
    ]


def header_sentences(outcome: Outcome) -> list[str]:
    """Return the same of a whole outcome, as sentences."""
    compared = [step.comparison for step in outcome.steps]
    compared += [] if outcome.final is None else [outcome.final]
    arms = [arm for each in compared for arm in (each.a, each.b)]
    if outcome.sweep is not None:
        arms += [point.arm for point in outcome.sweep.points]
    if outcome.factorial is not None:
        arms += [arm for _, arm in factorial_arms(outcome.factorial)]
    return [f"{note}." for note in header_notes(arms)]


def _told(arms: Arms) -> list[tuple[str, str]]:
    return [(of, words_text(arm.header_words)) for of, arm in arms if arm.header_words is not None]


# What became of the requests to one arm, in words: answers by status, errors by kind.


def answers_text(arm: ArmSummary) -> str:
    """Return `5,012 with 200, 4,990 with 503; errors: 4,990 wrong status`; empty if not kept."""
    answers = ", ".join(f"{n:,} with {status}" for status, n in _ranked(arm.statuses))
    errors = errors_text(arm)
    return "; ".join(part for part in (answers, f"errors: {errors}" * bool(errors)) if part)


def errors_text(arm: ArmSummary) -> str:
    """Return `4,990 wrong status, 3 timeout`; empty where all got the right answer."""
    return ", ".join(f"{n:,} {_kind(kind)}" for kind, n in _ranked(arm.errors))


def answers_lines(arms: list[tuple[str, ArmSummary]]) -> list[tuple[str, str]]:
    """Return each arm's name with its answers; one line without a name where all were right."""
    told = [(name, arm) for name, arm in arms if arm.statuses or arm.errors]
    if told and not any(arm.errors for _, arm in told):
        statuses = sorted({status for _, arm in told for status in arm.statuses})
        return [("", f"all answers were right: status {oxford(statuses)}")]
    return [(name, answers_text(arm)) for name, arm in told]


def answers_table(arms: list[tuple[str, ArmSummary]]) -> Grid | None:
    """Return the counts of every status and kind of error by arm; None where none is kept."""
    statuses = sorted({status for _, arm in arms for status in arm.statuses})
    kinds = sorted({kind for _, arm in arms for kind in arm.errors})
    if not statuses and not kinds:
        return None
    beside = [each for each in _BESIDE if any(each.of(arm) for _, arm in arms)]
    heads = [f"status {each}" for each in statuses] + [_kind(each) for each in kinds]
    rows = [
        (
            name,
            *(_cell(arm.statuses.get(each, 0)) for each in statuses),
            *(_cell(arm.errors.get(each, 0)) for each in kinds),
            *(_cell(each.of(arm)) for each in beside),
        )
        for name, arm in arms
    ]
    return Grid(head=("", *heads, *(each.head for each in beside)), rows=rows)


class _Beside(NamedTuple):
    """A count of an arm's that is none of its answers."""

    head: str
    of: Callable[[ArmSummary], int]


_BESIDE = (
    _Beside("listen queue full", lambda arm: arm.connecting.listen_overflows),
    _Beside("connects sent again", lambda arm: arm.connecting.syn_retransmits),
)


def _ranked(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])


def _kind(kind: str) -> str:
    return kind.replace("_", " ")


def _cell(n: int) -> str:
    return f"{n:,}" if n else NOTHING


# How often a connect to an arm found the listen queue full, or was sent again, in words.

_OF_ALL = "as the kernel counts for the whole machine"
"""For the network namespace, to be exact, which has other servers and clients too."""


def dropped_text(arm: ArmSummary) -> str:
    """Return `the listen queue was full 312 times, 298 connects were sent again`; empty if none."""
    n_full, n_again = arm.connecting.listen_overflows, arm.connecting.syn_retransmits
    parts = [
        f"the listen queue was full {_times(n_full)}" * bool(n_full),
        f"{n_again:,} connect{'s were' if n_again > 1 else ' was'} sent again" * bool(n_again),
    ]
    return ", ".join(filter(None, parts))


def dropped_line(arms: Sequence[tuple[str, ArmSummary]]) -> str:
    """Return that of all arms, with what it is counted of; empty where there is nothing to tell."""
    told = [f"{name}: {text}" for name, arm in arms if (text := dropped_text(arm))]
    return f"{'; '.join(told)} ({_OF_ALL})" if told else ""


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


# What a worker of a server is, as the last edges of starts found it: what says something of it.

_USUAL = frozenset({"sleeping", "running", "idle"})
_MUCH_LARGER = 1.1
"""The largest beside the median: of less nothing is said."""


def worker_text(arm: ArmSummary, look: Look | None = None) -> str:
    """Return `a worker: 24.1 MiB PSS, 9 descriptors, 1 thread`; empty where it is not known.

    Args:
        arm: Its largest pool is told of.
        look: Of the same server, for what its status page said.
    """
    parts = _of(next(iter(arm.workers), None))
    if not parts:
        return ""
    told = ", ".join([*parts, *_answered(look), *_zombies(arm)])
    largest = arm.workers[0]
    name = f" of {largest.program}" if len(arm.workers) > 1 else ""
    idle = f"; {largest.n_idle:.3g} more used no CPU" if largest.n_idle else ""
    return f"a worker{name}: {told}{idle}"


def worker_change(before: ArmSummary, after: ArmSummary) -> str:
    """Return `24.1 MiB PSS → 30.2 MiB PSS, 9 descriptors, 1 thread`; empty where it is not known.

    Of one program on both sides, that of the first one's largest pool. Parts of which one side has
    nothing to say are left out.
    """
    first = next(iter(before.workers), None)
    same = next((each for each in after.workers if first and each.program == first.program), None)
    parts = zip(_of(first), _of(same), strict=False)
    return ", ".join(a if a == b else f"{a} → {b}" for a, b in parts)


def _of(workers: WorkersSeen | None) -> list[str]:
    """Return its size first, then what it has open, and what went wrong; empty if not known."""
    if workers is None or workers.pss_bytes is None:
        return []
    return [
        _size(workers.pss_bytes),
        *_counted(workers.n_descriptors, "descriptor"),
        *_counted(workers.n_threads, "thread"),
        *_faults(workers),
        *(f"{n:.3g} {state}" for state, n in workers.states.items() if state not in _USUAL),
    ]


def _size(pss: OfWorkers) -> str:
    told = f"{format_bytes(pss.median)} PSS"
    is_uneven = pss.largest > _MUCH_LARGER * pss.median
    return f"{told} (the largest {format_bytes(pss.largest)})" if is_uneven else told


def _counted(figure: OfWorkers | None, name: str) -> list[str]:
    if figure is None:
        return []
    return [f"{figure.median:,.0f} {name}{'' if round(figure.median) == 1 else 's'}"]


def _faults(workers: WorkersSeen) -> list[str]:
    faults = workers.major_faults
    if faults is None or not faults.largest:
        return []
    pages = f"page{'' if faults.largest == 1 else 's'}"
    return [f"up to {faults.largest:,.0f} {pages} read from a disk"]


def _answered(look: Look | None) -> list[str]:
    told = next((each.requests for each in look.own if each.requests), None) if look else None
    return [f"{told.median:,.0f} requests answered"] if told else []


def _zombies(arm: ArmSummary) -> list[str]:
    return [
        f"{n:.3g} ended that {parent or 'nobody of the server'} did not ask how"
        for parent, n in arm.zombies.items()
    ]


# What arms did, in their own units, an arm to a row: for a terminal and for a page.

ROWS_NOTE = (
    "each row had starts of the reference beside it; its figures here are those of most starts"
)
_OWN = frozenset({"uss_bytes_per_process", "bytes_per_request"})
"""Metrics that are always there and have no column otherwise."""
_OWN_HEADS = {"bytes_per_request": "bytes/request"}
_HEADER = "header "
"""Before the name of one whose words are counted: what its column is called by here."""
_ARM_WIDTH = 16
HEAD = ("throughput", "CPU/request", "p50", "p99", "errors", "memory")


def arms_grid(arms: Arms, *, more: Sequence[str]) -> Grid:
    """Return what arms did, in their own units; what few ask for where it may be folded."""
    if are_calls(arms):
        return calls_grid(arms)
    return Grid(
        head=("", *HEAD, *map(_head_of, more)),
        rows=[(name, *unit_cells(arm, more)) for name, arm in arms],
        name_width=_ARM_WIDTH,
        fold_at=1 + len(HEAD),
    )


def arms_table(grid: Grid) -> RenderableType:
    """Return them for a terminal: in two tables where one is too wide, with what they rest on."""
    return Group(Folded(grid), *([Prose(Text(grid.note, "dim"))] if grid.note else []))


def row_arms(outcome: Outcome) -> list[tuple[str, ArmSummary]]:
    """Return the arms of all comparisons with one reference, that of most starts before them.

    Empty for other outcomes, and where nothing was measured.
    """
    if outcome.plan.reference is None or not outcome.steps:
        return []
    rows = [(step.label, step.comparison.b) for step in outcome.steps]
    # One that failed ended after a start or two: the reference's figures are of most starts.
    first = max((step.comparison for step in outcome.steps), key=lambda each: each.n_starts).a
    arms = [(reference_name(outcome).removeprefix("the "), first), *rows]
    return arms if any(has_figures(arm) for _, arm in arms) else []


def rows_grid(outcome: Outcome) -> Grid | None:
    """Return them as a table, with what it is of; None for other outcomes."""
    arms = row_arms(outcome)
    if not arms:
        return None
    grid = arms_grid(arms, more=more_of(outcome.steps[0].comparison))
    return replace(grid, note="; ".join(filter(None, [ROWS_NOTE, grid.note])))


def more_of(comparison: Comparison) -> tuple[str, ...]:
    """Return the metrics that something is claimed of, and that have no column otherwise."""
    told = {comparison.metric, comparison.decided_by, *(each.metric for each in comparison.also)}
    return more_columns(told, (comparison.a, comparison.b))


def more_columns(told: Set[str], arms: Iterable[ArmSummary]) -> tuple[str, ...]:
    """Return those of the metrics that have no column otherwise, and what stands beside them."""
    all_arms = tuple(arms)
    known = (
        *(m.name for m in METRICS),
        *sorted(metric for metric in filter(None, told) if named(metric).of),
    )
    more = tuple(m for m in known if m in told and (m in _OWN or named(m).is_on_demand))
    beside = (
        name
        for name, each in _COLUMNS.items()
        if name not in more and any(map(each.is_there, all_arms))
    )
    name = header_name(all_arms)
    return (*more, *beside, *([f"{_HEADER}{name}"] if name else []))


def _head_of(metric: str) -> str:
    if metric in _COLUMNS:
        return _COLUMNS[metric].head
    if metric.startswith(_HEADER):
        return metric.removeprefix(_HEADER)
    return _OWN_HEADS.get(metric) or named(metric).short


def unit_cells(arm: ArmSummary, more: Sequence[str] = ()) -> tuple[str, ...]:
    """Return an arm's figures, in their own units, with those of further metrics."""
    is_measured = arm.throughput_per_s > 0
    return (
        format_rate(arm.throughput_per_s) if is_measured else _unmeasured(arm),
        format_duration(arm.cpu_s_per_request) if is_measured else NOTHING,
        latency_text(arm, "p50"),
        latency_text(arm, "p99"),
        format_percent(arm.error_ratio) if is_measured else NOTHING,
        NOTHING if arm.pss_bytes is None else format_bytes(arm.pss_bytes),
        *(_column_cell(arm, metric) for metric in more),
    )


def _column_cell(arm: ArmSummary, metric: str) -> str:
    if metric.startswith(_HEADER):
        return words_text(arm.header_words)
    return _COLUMNS[metric].text(arm) if metric in _COLUMNS else figure_text(arm, metric)


def figure_text(arm: ArmSummary, metric: str) -> str:
    """Return an arm's figure of a metric of requests, in its unit; a dash where there is none."""
    figure = arm.figures.get(metric)
    return NOTHING if figure is None else named(metric).write(figure)


def lookups_text(arm: ArmSummary) -> str:
    """Return how many names the server asked for at a request."""
    n = arm.figures.get("lookups_per_request")
    return NOTHING if n is None else f"{n:.2f}"


def full_handshakes_text(arm: ArmSummary) -> str:
    """Return for which part of the right answers the server signed in a TLS handshake."""
    return format_percent(arm.connecting.handshakes_full_per_request)


def _resumed_text(arm: ArmSummary) -> str:
    return format_percent(arm.connecting.handshakes_resumed_per_request)


class _Column(NamedTuple):
    """A figure that stands beside the metrics where an arm has it, whoever asks for it."""

    head: str
    is_there: Callable[[ArmSummary], bool]
    text: Callable[[ArmSummary], str]


_COLUMNS = {
    "lookups_per_request": _Column(
        "lookups", lambda arm: "lookups_per_request" in arm.figures, lookups_text
    ),
    "handshakes_full_per_request": _Column(
        "handshakes", lambda arm: arm.connecting.has_tls, full_handshakes_text
    ),
    "handshakes_resumed_per_request": _Column(
        "resumed", lambda arm: arm.connecting.has_tls, _resumed_text
    ),
}


def _unmeasured(arm: ArmSummary) -> str:
    return "not measured" if arm.status == "complete" else status_badge(arm.status)


def latency_text(arm: ArmSummary, name: str) -> str:
    """Return one of an arm's percentiles; a dash where the sample does not carry it.

    Nor does it carry a median that lies between two unlike kinds of requests: it is of neither.
    """
    if name == "p50" and is_median_between(arm.latency):
        return NOTHING
    return format_duration(arm.latency_s.get(name, math.nan))
