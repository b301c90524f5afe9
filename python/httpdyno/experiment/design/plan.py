"""From a study to a plan: everything decided before anything is touched."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from httpdyno.errors import UsageError
from httpdyno.load.access_log import read_access_log
from httpdyno.model import (
    Configuration,
    Knob,
    Level,
    Plan,
    Replay,
    Step,
    Study,
)
from httpdyno.units import format_duration

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
        key = "window" if shortest else "method.window"
        raise UsageError(
            f"the log `{arrival.log}` takes {format_duration(whole_s)}, and "
            + (f"the window of phase {shortest.name}" if shortest else "a window with its lead-in")
            + f" {format_duration(room_s)}: each window begins it anew, so none would see its end",
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
