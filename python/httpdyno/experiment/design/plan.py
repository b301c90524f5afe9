"""What a step changes, as a result tells it.

What a turn of phases goes through, in words.

From a study to a plan: everything decided before anything is touched.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.experiment.trial.afterwards import watches_of
from httpdyno.load.access_log import read_access_log
from httpdyno.metrics import sources
from httpdyno.model import (
    Arrival,
    Closed,
    Configuration,
    Constant,
    Knob,
    Level,
    Method,
    Phase,
    Plan,
    Poisson,
    Replay,
    Sessions,
    Stages,
    Step,
    Study,
    level_text,
)
from httpdyno.model.workload import rate_at_most_per_s
from httpdyno.units import format_duration


def phases_words(method: Method) -> str:
    """Return what a turn goes through, for people: each phase's name and what it does."""
    return "; ".join(_phase_words(method, phase) for phase in method.phases)


def _phase_words(method: Method, phase: Phase) -> str:
    """Return what a phase does, such as `cold: runs `rm …`, then 500 ms of load`."""
    command = "" if phase.command is None else f"`{' '.join(phase.command.run)}`"
    before = [
        f"runs {command}" if command and phase.at_s is None else "",
        f"a pause of {format_duration(phase.pause_s)}" if phase.pause_s > 0 else "",
    ]
    load = f"{format_duration(method.window_of(phase))} of load"
    if phase.n_requests:
        load = f"{phase.n_requests} requests, in {load} at the most"
    if phase.rate_per_s is not None:
        load += f" at {phase.rate_per_s:g}/s"
    if phase.at_s is not None:
        load += f", {command} {format_duration(phase.at_s)} after its beginning"
    return f"{phase.name}: {', then '.join(filter(None, (*before, load)))}"


MAX_STARTS = 400
"""What no step of a ladder goes beyond, and nothing at all where no time ends it."""


def make_plan(study: Study, *, seed: int, budget_s: float | None = None) -> Plan:
    """Return the plan of what the study's method tries, with another budget if one is given.

    Raises:
        UsageError: It makes no sense, or decisions cannot end what the study asks.
    """
    require_whole_replay(study)
    kind = study.method.kind
    plan = Plan(
        study=study,
        seed=seed,
        steps=STEPS[kind](study),
        reference=study.start_configuration() if kind == "table" else None,
    )
    return plan if budget_s is None else with_budget(plan, budget_s)


def ladder_steps(study: Study) -> tuple[Step, ...]:
    """Return what is tried, in this order: the candidates, then each level of each knob.

    In a ladder a candidate sets the ground that single knobs are then tried on; in a table each
    is a row; in a factorial, which has no candidates, each knob has one.
    """
    candidates = tuple(
        Step(candidate=each.name, set=each.values, book_ratio=each.book_ratio)
        for each in study.candidates
    )
    return candidates + tuple(
        Step(knob=knob.name, to=level, book_ratio=book)
        for knob in study.knobs
        for level, book in zip(knob.levels, _book_ratios(knob), strict=True)
        if level != knob.start
    )


def sweep_steps(study: Study) -> tuple[Step, ...]:
    """Return the levels of the swept knob, in their order."""
    swept = study.knob(study.method.knob)
    books = dict(zip(swept.levels, _book_ratios(swept), strict=True))
    return tuple(
        Step(knob=swept.name, to=level, book_ratio=books.get(level))
        for level in sweep_levels(study)
    )


STEPS: Mapping[str, Callable[[Study], tuple[Step, ...]]] = {
    "ladder": ladder_steps,
    "sweep": sweep_steps,
    "table": ladder_steps,
    "factorial": ladder_steps,
}
"""What is known to be tried, by `method.kind`."""


def compare_plan(  # noqa: PLR0913 - what is compared, and what ends it
    study: Study,
    a: Configuration,
    b: Configuration,
    *,
    seed: int,
    budget_s: float | None = None,
    borders: tuple[float, ...] = (),
) -> Plan:
    """Return the plan of one comparison.

    The two may be equal: that is an A/A comparison, and its right answer is "no difference".

    Args:
        study: With the budget, unless another is given.
        a: The reference.
        b: What is compared with it.
        seed: Of everything that is drawn.
        budget_s: Of the whole.
        borders: Ratios that the interval is not to hold in the end, in place of being decided.
    """
    require_whole_replay(study)
    plan = Plan(study=study, seed=seed, compare=(a, b), command="compare", borders=borders)
    return plan if budget_s is None else with_budget(plan, budget_s)


def versus_plan(
    study: Study, a: Configuration, candidates: Mapping[str, Configuration], *, seed: int
) -> Plan:
    """Return the plan of several comparisons, each of a candidate with the same reference.

    Args:
        study: With the budget of all of them together.
        a: The reference.
        candidates: By name, each other than the reference and than the others.
        seed: Of everything that is drawn.
    """
    require_whole_replay(study)
    steps = tuple(
        Step(candidate=name, set={knob: new for knob, (_, new) in a.changes(b).items()})
        for name, b in candidates.items()
    )
    return Plan(study=study, seed=seed, steps=steps, reference=a, command="compare")


def comparisons_ahead(plan: Plan) -> tuple[tuple[Configuration, ...], ...]:
    """Return what a plan compares, in order, were nothing kept on the way but the last step.

    Nobody knows what will be kept. A final claim is in it, for which there must be time.
    """
    study = plan.study
    if plan.compare is not None:
        return (plan.compare,)
    reference = plan.reference or study.start_configuration()
    pairs = tuple((reference, reference.with_values(step.values)) for step in plan.steps)
    if plan.reference is not None:
        return pairs
    final = tuple(pair for pair in pairs if pair[0] != pair[1])[-1:]
    if study.method.kind == "sweep":
        return (tuple(candidate for _, candidate in pairs), *final)
    if study.method.kind == "factorial":
        return (factorial_arms(study), *final)
    return pairs + final


def with_budget(plan: Plan, budget_s: float) -> Plan:
    """Return a plan with another budget for the whole of it.

    Args:
        plan: Of a new run, or of one that goes on.
        budget_s: Infinite: each comparison goes on until it is decided.

    Raises:
        UsageError: It is no time, or decisions cannot end what the plan asks.
    """
    study = plan.study
    if budget_s <= 0:
        raise UsageError(f"the budget is {budget_s:g} s; expected more than zero")
    is_of_method = plan.compare is None and plan.reference is None
    if math.isinf(budget_s) and is_of_method and study.method.kind == "factorial":
        raise UsageError(
            f"study {study.name} is a factorial, which goes on until its budget is spent",
            hint="give it a `--budget`, and two of its combinations to `httpdyno compare`",
        )
    if math.isinf(budget_s) and is_of_method and study.method.kind == "sweep":
        raise UsageError(
            f"study {study.name} is a sweep, which draws a curve: there is nothing to be decided, "
            "so `--until-decided` would never end it",
            hint="give it a `--budget`, and two of its levels to `httpdyno compare`",
        )
    return structs.replace(plan, study=structs.replace(study, budget_s=budget_s))


def require_whole_replay(study: Study) -> None:
    """Refuse a log that no window sees the end of: each window begins it anew.

    Raises:
        UsageError: With how long it takes.
    """
    arrival, method = study.workload.arrival, study.method
    if not isinstance(arrival, Replay):
        return
    offsets_ns = read_access_log(arrival).offsets_ns
    whole_s = offsets_ns[-1] / 1e9 if offsets_ns else 0.0
    # A phase has no lead-in; the shortest window sees least.
    shortest = min(method.phases, key=method.window_of, default=None)
    lead_in_s = 0.0 if shortest else method.lead_in_s
    room_s = method.window_of(shortest) if shortest else lead_in_s + method.window_s
    if whole_s > room_s:
        window = f"the window of phase {shortest.name}" if shortest else "a window with its lead-in"
        key = "window" if shortest else "method.window"
        raise UsageError(
            f"the log `{arrival.log}` takes {format_duration(whole_s)}, and {window} "
            f"{format_duration(room_s)}: each window begins it anew, so none would see its end",
            hint=f'Use `{key} = "{math.ceil(whole_s - lead_in_s)}s"`, a shorter piece of the log, '
            "or a higher speed.",
        )


def sweep_levels(study: Study) -> tuple[Level, ...]:
    """Return the levels of a sweep, the start among them: numbers ascending, others as given.

    A start that is not among the levels comes first.
    """
    knob = study.knob(study.method.knob)
    levels = knob.levels if knob.start in knob.levels else (knob.start, *knob.levels)
    numbers = [level for level in levels if not isinstance(level, bool | str)]
    return tuple(sorted(numbers)) if len(numbers) == len(levels) else levels


def factorial_arms(study: Study) -> tuple[Configuration, ...]:
    """Return all combinations: in number c, knob j is at its other level where bit j of c is 1."""
    steps = ladder_steps(study)
    start = study.start_configuration()
    return tuple(
        start.with_values({s.knob: s.to for j, s in enumerate(steps) if number >> j & 1})
        for number in range(2 ** len(steps))
    )


def plan_lines(plan: Plan) -> list[str]:
    """Return what the plan will do, a line each, for people."""
    study, method = plan.study, plan.study.method
    lines = [
        f"study     {study.name}: {study.title}",
        *_target_lines(study),
        f"decides   {_objective_line(study)}, margin ±{study.objective.margin_ratio:.1%}, "
        f"confidence {study.objective.confidence:.0%}{_together(study)} at every look",
        *_window_lines(study),
        f"starts    at least {method.min_starts} of each arm before anything is claimed"
        f"{_starts_note(study)}",
        f"budget    {_budget_text(study)}, seed {plan.seed}",
    ]
    if plan.compare:
        return [
            *lines,
            f"a         {plan.compare[0].label()}",
            f"b         {plan.compare[1].label()}",
        ]
    if plan.reference is not None:
        return [*lines, *_each_line(plan, plan.reference)]
    lines.append(f"start     {study.start_configuration().label()}")
    if method.kind == "sweep":
        levels = ", ".join(level_text(step.to) for step in plan.steps)
        return [*lines, f"sweep     {method.knob}: {levels}"]
    if method.kind == "factorial":
        n_arms = 2 ** len(plan.steps)
        return [
            *lines,
            f"knobs     {', '.join(step.label for step in plan.steps)}: all {n_arms} combinations",
        ]
    return lines + [
        f"step {number:<4} {step.whole_label if step.candidate else step.label}"
        for number, step in enumerate(plan.steps, 1)
    ]


def _target_lines(study: Study) -> list[str]:
    if study.fragments is None:
        return [
            f"server    {study.server.words}",
            *([f"limits    {study.limit_words}"] if study.limits else []),
            f"workload  {_workload_line(study)}",
        ]
    command = " ".join(study.server.command)
    return [f"program   {command}", f"taken off {study.fragments.empty}, the empty body"]


def _each_line(plan: Plan, reference: Configuration) -> list[str]:
    """Return what is compared with the same reference, and with which confidence."""
    whole = plan.study.objective.confidence
    first = (
        f"each      with {plan.objective.confidence:.2%} confidence, so that all "
        f"{len(plan.steps)} verdicts have {whole:.0%} together"
    )
    name = "a" if plan.command == "compare" else "start"
    rows = [
        f"{step.candidate:<9} {Configuration(values=step.values).label()}"
        if step.candidate
        else f"row       {step.label}"
        for step in plan.steps
    ]
    return [first, f"{name:<9} {reference.label()}", *rows]


def _starts_note(study: Study) -> str:
    method = study.method
    is_one_by_one = method.side_by_side == 1 or method.is_fresh or method.is_all_at_once
    beside = "" if is_one_by_one else f"; up to {method.side_by_side} side by side"
    of = sources(study.objective.named)
    counted = ["system calls"] * ("system calls" in of)
    counted += [each.what for each in watches_of(study.objective).values()]
    counts = "".join(f"; each counts {what} after its windows" for what in counted)
    if "coming up" in of:
        counts += "; servers come up one after the other"
    header = study.counted_header
    words = f"; what answers say in `{header}` is counted after windows" if header else ""
    if words and method.phases and "header words" in of:
        words += ", in a turn more of each start"
    return f"{beside}{counts}{words}"


def _window_lines(study: Study) -> list[str]:
    method = study.method
    most = f"up to {method.blocks_per_start} per arm and start"
    if study.fragments is not None:
        return [f"batches   {format_duration(method.window_s)} of calls each, {most}"]
    if not method.phases:
        lead_in = f"after {format_duration(method.lead_in_s)} of lead-in"
        each = f"windows   {format_duration(method.window_s)} each, {lead_in}"
        return [*_warm_up_lines(method), f"{each}, {most}{_windows_note(study)}"]
    return [
        *_warm_up_lines(method),
        f"phases    {phases_words(method)}",
        f"turns     {most}, each through all phases; `{method.decides}` decides",
    ]


def _warm_up_lines(method: Method) -> list[str]:
    if not method.warm_up_requests:
        return []
    limit = f"within {format_duration(method.warm_up_s)}"
    return [f"warm-up   {method.warm_up_requests:,} answers of each arm in a start, {limit}"]


def _windows_note(study: Study) -> str:
    method = study.method
    if study.workload.is_open_loop or method.is_fresh:
        return ""
    return "; fewer and longer where latencies demand it"


def _objective_line(study: Study) -> str:
    objective = study.objective
    then = f", then {objective.tie_breaker}" if objective.tie_breaker else ""
    beside = f" (told beside it: {', '.join(objective.beside)})" if objective.beside else ""
    return f"{objective.metric}{then}{beside}"


def _together(study: Study) -> str:
    """Return of what the confidence is, where several metrics share the risk."""
    if study.objective.also:
        return " of all together"
    return " of both together" if study.objective.second else ""


def _workload_line(study: Study) -> str:
    load = study.load_of(study.start_configuration())
    alive = "keep-alive" if load.keep_alive else "a connection per request"
    paths = ", ".join(f"{request.method} {request.path}" for request in load.asked)
    if load.first:
        first = ", ".join(f"{request.method} {request.path}" for request in load.first)
        paths = f"{paths}; each user first does {first}"
    return f"{load.connections} connections, {_arrival_text(load.arrival)}, {alive}: {paths}"


def _arrival_text(arrival: Arrival) -> str:
    match arrival:
        case Closed():
            return "closed loop"
        case Constant():
            return f"{arrival.rate_per_s:g}/s open loop"
        case Poisson():
            return f"{arrival.rate_per_s:g}/s open loop (Poisson)"
        case Stages():
            return f"stages up to {rate_at_most_per_s(arrival):g}/s"
        case Sessions():
            return f"sessions at up to {rate_at_most_per_s(arrival):g}/s"
        case Replay():
            return f"replay of {arrival.log}"


def _budget_text(study: Study) -> str:
    if study.is_until_decided:
        return f"until decided, or out of reach of {MAX_STARTS} starts"
    return format_duration(study.budget_s)


def _book_ratios(knob: Knob) -> tuple[float | None, ...]:
    return knob.book_ratio or (None,) * len(knob.levels)


def change_of(
    study: Study, step: Step, arms: tuple[Configuration, Configuration]
) -> dict[str, Any]:
    """Return what a step changes from one arm to the other, as keyword arguments of `LadderStep`.

    A candidate may be one that a command line names, which the study knows nothing of.
    """
    changes = arms[0].changes(arms[1])
    if step.candidate:
        titles = {each.name: each.title for each in study.candidates}
        title = titles.get(step.candidate, "")
        return {"candidate": step.candidate, "title": title, "changed": changes}
    before, after = changes[step.knob]
    return {
        "knob": step.knob,
        "title": study.knob(step.knob).title,
        "before": before,
        "after": after,
    }
