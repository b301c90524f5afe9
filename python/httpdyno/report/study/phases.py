"""What the phases of turns saw, when answers are steady after an event, memory by age."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from msgspec import structs
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from httpdyno.advice.phase import ROOM_BYTES, Age, Settling, ages, settling
from httpdyno.model import ArmSummary, Configuration, Outcome, PhaseFigures
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.report.shared.prose import Prose
from httpdyno.report.shared.published import published
from httpdyno.report.shared.view import Grid, table_of
from httpdyno.report.study.arms import header_line, header_name, row_arms
from httpdyno.report.study.finding import arm_names
from httpdyno.units import format_bytes, format_duration, format_percent, format_rate

# The arms whose phases are told.


def phase_arms(outcome: Outcome) -> Sequence[tuple[str, ArmSummary]]:
    """Return both arms of the final claim, or those of a table, with their names."""
    final = outcome.final
    if final is None:
        return row_arms(outcome)
    return list(zip(arm_names(outcome), (final.a, final.b), strict=True))


# From which phase after an event on each arm answers as in the last one: words and JSON.


def settling_lines(outcome: Outcome) -> list[str]:
    """Return a sentence for each arm; none where the study's phases do not ask for it."""
    return [f"{name}: {_words(found)}" for name, _, found in _found(outcome)]


def settling_json(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the same for JSON: of each arm its name, its configuration, and what was found."""
    return [
        {"name": name, "configuration": published(configuration), **published(found)}
        for name, configuration, found in _found(outcome)
    ]


def _found(outcome: Outcome) -> list[tuple[str, Configuration, Settling]]:
    method, objective = outcome.plan.study.method, outcome.plan.objective
    return [
        (name, arm.configuration, found)
        for name, arm in phase_arms(outcome)
        for found in [settling(method, objective.metric, arm, objective.confidence)]
        if found is not None
    ]


def _words(found: Settling) -> str:
    within = format_percent(found.within_ratio)
    told = f"{found.percentile} at most {within} above that of “{found.last}” "
    told += _from(found, found.settled)
    starts = plural(found.n_starts, "start")
    if all(each.low is None for each in found.phases):
        return f"{told}; {starts}: no spread is known"
    if found.earliest == found.latest:
        return f"{told}; so it is by the spread over {starts}"
    others = [_from(found, end) for end in (found.earliest, found.latest) if end != found.settled]
    return f"{told}; by the spread over {starts} perhaps {' or '.join(others)}"


def _from(found: Settling, name: str | None) -> str:
    if name is None:
        end, end_s = found.phases[-1].name, format_duration(found.end_s)
        return f"not before the end of “{end}”, after {end_s} of load"
    after_s = found.after_s(name)
    after = f"after {format_duration(after_s)} of load" if after_s else "the first"
    return f"from “{name}” on, {after}"


# What the phases of turns saw, for a terminal and for a page. All of them in their order, the one
# that decides among them: what a server does warm is read beside what it does cold. All other
# figures of an arm are of the deciding phase alone.

_HEAD = ("throughput", "CPU/request", "p50", "p90", "errors")
_NOTE = "“{}” decides; nothing is claimed of the other phases"
_DECIDES = "{} (decides)"
_NAME_WIDTH = 18
_INDENT = (0, 0, 0, 2)


def phase_lines(outcome: Outcome) -> list[RenderableType]:
    """Return a row for each phase and arm, which phase decides, and when answers are steady.

    None without phases.
    """
    notes = [*map(Text, _header_lines(outcome)), Text(phase_note(outcome), "dim")]
    return _lines(_phase_grid(outcome), [*notes, *map(Text, settling_lines(outcome))])


def phases_page(outcome: Outcome) -> dict[str, Any] | None:
    """Return the same for a page, each phase a group of rows; None where there are no phases."""
    grid = _phase_grid(outcome)
    if grid is None:
        return None
    notes = [*_header_lines(outcome), phase_note(outcome)]
    if not any(_fails(arm) for _, arm in phase_arms(outcome)):
        # On a narrow page a column that says nothing pushes out one that does.
        rows = [row if isinstance(row, str) else row[:-1] for row in grid.rows]
        grid = replace(grid, head=grid.head[:-1], rows=rows)
        notes.append("No request failed in any")
    note = " ".join(f"{line}." for line in notes)
    return {"table": replace(grid, note=note), "settled": settling_lines(outcome)}


def _lines(grid: Grid | None, notes: Iterable[Text]) -> list[RenderableType]:
    if grid is None:
        return []
    parts: list[RenderableType] = [table_of(grid), *map(Prose, notes)]
    return [Text(), *(Padding(part, _INDENT) for part in parts)]


def phase_note(outcome: Outcome) -> str:
    """Return which phase decides."""
    return _NOTE.format(outcome.plan.study.method.decides)


def _header_lines(outcome: Outcome) -> list[str]:
    """Return what answers said in a header in each phase that does not decide, a line each."""
    method, arms = outcome.plan.study.method, phase_arms(outcome)
    found = {
        phase.name: header_line(
            [
                (name, structs.replace(arm, header_words=seen.beside.get(phase.name)))
                for name, arm in arms
                if (seen := arm.header_words) is not None
            ]
        )
        for phase in method.phases
        if phase.name != method.decides
    }
    header = header_name(arm for _, arm in arms)
    return [f"{header} in {name}: {line}" for name, line in found.items() if line]


def _phase_grid(outcome: Outcome) -> Grid | None:
    method, arms = outcome.plan.study.method, phase_arms(outcome)
    if not any(arm.phases for _, arm in arms):
        return None
    rows: list[str | Sequence[str]] = []
    for phase in method.phases:
        is_own = phase.name == method.decides
        rows.append(_DECIDES.format(phase.name) if is_own else phase.name)
        seen = [(name, _own(arm) if is_own else arm.phases.get(phase.name)) for name, arm in arms]
        rows += [(name, *_cells(figures)) for name, figures in seen]
    return Grid(group="phase", head=("", *_HEAD), rows=rows, name_width=_NAME_WIDTH)


def _fails(arm: ArmSummary) -> bool:
    return arm.error_ratio > 0 or any(each.error_ratio > 0 for each in arm.phases.values())


def _own(arm: ArmSummary) -> PhaseFigures | None:
    """Return an arm's figures of the phase that decides."""
    if not arm.phases:
        return None
    return PhaseFigures(
        throughput_per_s=arm.throughput_per_s,
        cpu_s_per_request=arm.cpu_s_per_request,
        error_ratio=arm.error_ratio,
        latency_s=arm.latency_s,
    )


def _cells(seen: PhaseFigures | None) -> list[str]:
    if seen is None:
        return [NOTHING] * len(_HEAD)
    latency = seen.latency_s
    return [
        format_rate(seen.throughput_per_s),
        format_duration(seen.cpu_s_per_request) if seen.cpu_s_per_request else NOTHING,
        format_duration(latency["p50"]) if "p50" in latency else NOTHING,
        format_duration(latency["p90"]) if "p90" in latency else NOTHING,
        format_percent(seen.error_ratio),
    ]


# A pool's memory at several ages: a table for a terminal and for a page.

_ROOM = f"{ROOM_BYTES / (1 << 30):.0f} GiB"
_AGE_HEAD = ("requests", "memory", "there once", "a worker", f"n in {_ROOM}")
_AGE_NOTE = (
    "memory after so many requests to the pool; n = (T − P)/u(r): workers that there is room for "
    f"in {_ROOM}, were all of that age; P there once, the parent and what workers share, u(r) the "
    "largest worker's own, both with what the kernel keeps for a process"
)
_SHORT_OF = 0.02
"""Of its requests: with no more missing a pool is as old as its phase is called."""


def age_lines(outcome: Outcome) -> list[RenderableType]:
    """Return a row for each age and arm; none where phases do not end with requests."""
    grid = age_grid(outcome)
    return _lines(grid, [Text(_AGE_NOTE, "dim"), *map(Text, cut_short(outcome))])


def age_grid(outcome: Outcome) -> Grid | None:
    """Return each age as a group of rows; None where there are none."""
    rows: list[str | Sequence[str]] = []
    for phase, ages_of in groupby(_ages(outcome), key=lambda each: each[1].phase):
        rows += [phase, *((name, *_age_cells(age)) for name, age in ages_of)]
    if not rows:
        return None
    return Grid(head=("", *_AGE_HEAD), rows=rows, note=_AGE_NOTE, name_width=_NAME_WIDTH)


def _ages(outcome: Outcome) -> list[tuple[str, Age]]:
    """Return all ages of the first phase, then those of the next."""
    method = outcome.plan.study.method
    of_arms = [(name, ages(method, arm)) for name, arm in phase_arms(outcome)]
    return [
        (name, age)
        for phase in method.phases
        for name, found in of_arms
        for age in found
        if age.phase == phase.name
    ]


def cut_short(outcome: Outcome) -> list[str]:
    """Return one sentence on phases that are called older than the pools were; none without."""
    fewest: dict[str, Age] = {}
    for _, age in _ages(outcome):
        known = fewest.setdefault(age.phase, age)
        if age.n_requests < known.n_requests:
            fewest[age.phase] = age
    short = ", ".join(
        f"“{age.phase}” ({age.n_requests:,.0f} of {age.n_asked:,})"
        for age in fewest.values()
        if age.n_requests < age.n_asked * (1 - _SHORT_OF)
    )
    return [f"not as old as they are called, for a window was over before: {short}"] * bool(short)


def _age_cells(age: Age) -> list[str]:
    return [
        f"{age.n_requests:,.0f}",
        format_bytes(age.pss_bytes),
        NOTHING if age.once_bytes is None else format_bytes(age.once_bytes),
        NOTHING if age.each_bytes is None else format_bytes(age.each_bytes),
        NOTHING if age.n_fit is None else f"{age.n_fit:,.0f}",
    ]
