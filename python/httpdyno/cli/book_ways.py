"""The ways in which experiments of the book are run here."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import structs

from httpdyno import metrics
from httpdyno.advice.bottleneck import differences, memory_differences, named
from httpdyno.book.experiment import (
    Arithmetic,
    Clients,
    Count,
    Experiment,
    Pair,
    Raised,
    Recipe,
    Said,
    Stat,
)
from httpdyno.book.result import Now
from httpdyno.book.rule import borders, judged
from httpdyno.cli.book_counts import arithmetic, count, said, stat
from httpdyno.cli.book_found import (
    Asked,
    Found,
    bounds_text,
    number_text,
    server_of,
    study_here,
)
from httpdyno.cli.book_loads import clients, raised, recipe
from httpdyno.cli.running import outcome_of
from httpdyno.errors import AdapterError, TargetError
from httpdyno.experiment.limit import limit_broken
from httpdyno.experiment.planning import compare_plan, with_budget
from httpdyno.load.engine import start_load
from httpdyno.load.window_plan import WindowPlan
from httpdyno.model import Comparison, MachineCard, Objective, Outcome, Study, level_text
from httpdyno.report.shared.caveat import caveats
from httpdyno.report.shared.message import joined, text
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.study.arms_text import figure_text
from httpdyno.report.study.calls_text import call_time
from httpdyno.telemetry.host import host_facts
from httpdyno.units import format_duration

_BESIDE_S = 10.0
"""Of load: several turns of a parent that acts once a second."""
_UNSOUND = {"failed", "not_measured"}


def run_experiment(asked: Asked, card: MachineCard) -> Now:
    """Run one experiment that has a way; return what came of it.

    Args:
        asked: The experiment, with its budget and seed.
        card: What the machine takes, to stand beside the result.

    Raises:
        HttpdynoError: It cannot run here.
        KeyboardInterrupt: Somebody wants it to end; nothing came of it.
    """
    each = asked.each
    began_s, began_at = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    found = WAYS[type(each.way)](asked)
    host = host_facts()
    return Now(
        name=each.name,
        word=found.word,
        says=found.says,
        measured_at=began_at,
        duration_s=time.monotonic() - began_s,
        host=f"{host.n_cpus} × {host.cpu}, {host.kernel}",
        version=found.version,
        seed=asked.seed,
        command=f"httpdyno book run {each.name} --seed {asked.seed}",
        machine=msgspec.to_builtins(card),
        **found.figures,
    )


def pair(asked: Asked) -> Found:
    """Compare two configurations until the rule's word is told, or the time is over."""
    each, way = asked.each, asked.each.way
    assert isinstance(way, Pair)  # noqa: S101 - by the table below
    study = study_here(way.study)
    # What is asked is one figure; nothing else decides or shares its risk.
    objective = structs.replace(
        study.objective, metric=way.metric, tie_breaker="", second_metric="", also=()
    )
    study = structs.replace(study, objective=objective)
    start = study.start_configuration()
    a, b = start.with_values(way.a), start.with_values(way.b)
    plan = compare_plan(study, a, b, seed=asked.seed, borders=borders(each.then))
    beside_s = _BESIDE_S if way.beside else 0.0
    outcome = outcome_of(with_budget(plan, asked.budget_s - beside_s))
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    found = of_outcome(each, way, outcome)
    if not way.beside:
        return found
    seen = (*found.figures.get("moved", ()), _beside(study, way, seed=asked.seed))
    return replace(found, figures={**found.figures, "moved": seen})


def _beside(study: Study, way: Pair, *, seed: int) -> str:
    """Return in words what one start of the configuration beside answered in some seconds."""
    knobs = ", ".join(f"{name}={level_text(level)}" for name, level in way.beside.items())
    levels = way.b | way.beside
    workload = study.load_of(study.start_configuration().with_values(levels))
    try:
        with server_of(study, levels) as up:
            window = WindowPlan(arm=0, lead_in_s=0.0, measure_s=_BESIDE_S)
            addresses, networks = up.running.addresses[:1], up.running.networks[:1]
            load = start_load(workload, addresses, [window], networks=networks, seed=seed)
            try:
                load.wait()
            finally:
                load.stop()
            [measured] = load.measurements()
    except (AdapterError, TargetError) as error:
        return f"with {knobs}: {error}"
    n_failed = sum(measured.errors.values())
    failed = f", {n_failed:,} came to nothing" if n_failed else ""
    rate = number_text(measured.measured_completed / measured.measured_s)
    return f"with {knobs}: {rate} requests/s{failed}; one start, {format_duration(_BESIDE_S)}"


def of_outcome(each: Experiment, way: Pair, outcome: Outcome) -> Found:
    """Return what a comparison means for an experiment.

    Nothing is made of an interval that the comparison itself does not stand by: where a side
    failed, was not measured, its figures contradict each other, or too few starts gave one. Its
    own doubts stand beside what was seen.
    """
    final = outcome.final
    figures: dict[str, Any] = {"run_id": outcome.id}
    interval = final.ratios.get(metrics.named(way.metric).ratio) if final else None
    fewest = outcome.plan.study.method.min_starts
    if final is None or interval is None or interval.low <= 0 or not _is_sound(final, fewest):
        why = joined(final.reasons if final else outcome.ended_by) or outcome.status
        return Found(word="cannot tell", says=why, version=outcome.host.server, figures=figures)
    word = judged(each.then, interval.low, interval.high, is_artefact=bool(each.artefact))
    figures |= {
        "ratio": interval.ratio,
        "low": interval.low,
        "high": interval.high if interval.high < math.inf else None,
        "n_starts": final.n_starts,
        "moved": _seen(each, final, outcome.plan.study.objective),
    }
    bounds = bounds_text(interval, final.n_starts, "starts")
    return Found(
        word=word,
        says=f"{metrics.named(way.metric).label} {bounds}: {_levels(final, way)}",
        version=outcome.host.server,
        figures=figures,
    )


def _is_sound(final: Comparison, fewest: int) -> bool:
    is_told = final.verdict not in _UNSOUND and not final.is_doubted
    # Not every start gives a figure.
    return is_told and len(final.per_start_ratio) >= fewest


def _levels(final: Comparison, way: Pair) -> str:
    """Return both sides' figures, in their own units."""
    a, b = final.a, final.b
    if way.metric == "throughput_per_s":
        return f"{number_text(a.throughput_per_s)} → {number_text(b.throughput_per_s)} requests/s"
    if way.metric == "cpu_s_per_request":
        both = (format_duration(arm.cpu_s_per_request) for arm in (a, b))
        return f"{' → '.join(both)} of CPU for a request"
    if way.metric == "cpu_s_per_call":
        both = (call_time(arm.calls.cpu_s) if arm.calls else NOTHING for arm in (a, b))
        return f"{' → '.join(both)} of CPU for a call, the empty loop taken off"
    if way.metric == "pss_bytes":
        both = (figure_text(arm, way.metric) for arm in (a, b))
        return f"{' → '.join(both)} for the whole pool"
    if way.metric == "bytes_per_request":
        both = (number_text(arm.bytes_per_request) for arm in (a, b))
        return f"{' → '.join(both)} bytes for a request"
    return " → ".join(figure_text(arm, way.metric) for arm in (a, b))


def _seen(each: Experiment, final: Comparison, objective: Objective) -> tuple[str, ...]:
    """Return what the reason rests on, what else moved, and what is to be doubted."""
    found = memory_differences(final, confidence=objective.confidence)
    if final.a.look is not None and final.b.look is not None:
        asked = named(final.a.look, final.b.look, each.evidence)
        moved = differences(final.a.look, final.b.look)
        found = (*asked, *found, *(one for one in moved if one.name not in each.evidence))
    doubts = tuple(each.message for each in caveats(final.warnings))
    return (*(f"{one.name} {one.text}" for one in found), *_failing(final, objective), *doubts)


def _failing(final: Comparison, objective: Objective) -> Iterator[str]:
    """Yield which side had more failures than the study allows: its figure is of the others."""
    limits = structs.replace(objective, max_p99_s=None, max_memory_bytes=None)
    for name, arm in (("first", final.a), ("second", final.b)):
        if broken := limit_broken(arm, limits):
            yield f"of the {name} side {text(broken)}"


WAYS: Mapping[type, Callable[[Asked], Found]] = {
    Pair: pair,
    Count: count,
    Said: said,
    Recipe: recipe,
    Raised: raised,
    Clients: clients,
    Stat: stat,
    Arithmetic: arithmetic,
}
