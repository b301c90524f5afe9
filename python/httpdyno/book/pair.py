"""Two configurations of a study compared, and what that means for an experiment."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from msgspec import structs

from httpdyno import metrics
from httpdyno.advice.bottleneck import differences, memory_differences, named_figures
from httpdyno.book.experiment import Experiment, Pair
from httpdyno.book.found import (
    Asked,
    Found,
    bounds_text,
    interval_figures,
    levels_text,
    number_text,
    server_of,
    study_here,
)
from httpdyno.book.rule import borders, judged
from httpdyno.errors import AdapterError, TargetError
from httpdyno.experiment.decide.usable import limit_broken
from httpdyno.experiment.design.plan import compare_plan, with_budget
from httpdyno.load.engine import start_load
from httpdyno.load.message import WindowPlan
from httpdyno.model import Comparison, Objective, Outcome, Study
from httpdyno.report.shared.bottleneck import difference_text
from httpdyno.report.shared.caveat import caveats
from httpdyno.report.shared.message import error_text, joined, text
from httpdyno.report.shared.phrase import NOTHING
from httpdyno.report.study.arms import call_time, figure_text
from httpdyno.units import format_duration

_BESIDE_S = 10.0
"""Of load: several turns of a parent that acts once a second."""
_UNSOUND = {"failed", "not_measured"}


def pair(asked: Asked, way: Pair) -> Found:
    """Compare two configurations until the rule's word is told, or the time is over.

    Raises:
        HttpdynoError: They cannot run here.
        KeyboardInterrupt: Somebody wants it to end; nothing came of it.
    """
    each, study = asked.each, study_here(way.study)
    # What is asked is one figure; nothing else decides or shares its risk.
    objective = structs.replace(
        study.objective, metric=way.metric, tie_breaker="", second_metric="", also=()
    )
    study = structs.replace(study, objective=objective)
    start = study.start_configuration()
    a, b = start.with_values(way.a), start.with_values(way.b)
    plan = compare_plan(study, a, b, seed=asked.seed, borders=borders(each.then))
    beside_s = _BESIDE_S if way.beside else 0.0
    outcome = asked.host.run_plan(with_budget(plan, asked.budget_s - beside_s))
    if outcome.status == "interrupted":
        raise KeyboardInterrupt
    found = of_outcome(each, way, outcome)
    if not way.beside:
        return found
    seen = (*found.figures.get("evidence", ()), _beside(study, way, seed=asked.seed))
    return replace(found, figures={**found.figures, "evidence": seen})


def _beside(study: Study, way: Pair, *, seed: int) -> str:
    """Return in words what one start of the configuration beside answered in some seconds."""
    knobs, levels = levels_text(way.beside), way.b | way.beside
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
        return f"with {knobs}: {error_text(error)}"
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
        return Found(verdict="cannot tell", says=why, server=outcome.host.server, figures=figures)
    word = judged(each.then, interval.low, interval.high, is_artefact=bool(each.artefact))
    figures |= {
        **interval_figures(interval),
        "n_starts": final.n_starts,
        "evidence": _seen(each, final, outcome.plan.study.objective),
    }
    bounds = bounds_text(interval, f"; {final.n_starts} starts")
    return Found(
        verdict=word,
        says=f"{metrics.named(way.metric).label} {bounds}: {_levels(final, way)}",
        server=outcome.host.server,
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
        both = (number_text(arm.figures.get(way.metric, 0.0)) for arm in (a, b))
        return f"{' → '.join(both)} bytes for a request"
    return " → ".join(figure_text(arm, way.metric) for arm in (a, b))


def _seen(each: Experiment, final: Comparison, objective: Objective) -> tuple[str, ...]:
    """Return what the reason rests on, what else moved, and what is to be doubted."""
    found = memory_differences(final, confidence=objective.confidence)
    if final.a.look is not None and final.b.look is not None:
        asked = named_figures(final.a.look, final.b.look, each.evidence)
        moved = differences(final.a.look, final.b.look)
        found = (*asked, *found, *(one for one in moved if one.figure not in each.evidence))
    doubts = tuple(each.message for each in caveats(final.warnings))
    return (*(difference_text(one) for one in found), *_failing(final, objective), *doubts)


def _failing(final: Comparison, objective: Objective) -> Iterator[str]:
    """Yield which side had more failures than the study allows: its figure is of the others."""
    limits = structs.replace(objective, max_p99_s=None, max_memory_bytes=None)
    for name, arm in (("first", final.a), ("second", final.b)):
        if broken := limit_broken(arm, limits):
            yield f"of the {name} side {text(broken)}"
