"""What limited pools, where an outcome has the same server with other numbers of workers; pure.

A verdict rests on one look. What was measured of neighbouring levels comes later and elsewhere: on
a curve, in a step, in the final claim. So it is asked of the outcome whenever that has grown.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from msgspec import structs

from httpdyno.advice.bottleneck import OtherSize, bottleneck, with_other_sizes, with_own_words
from httpdyno.experiment.decide.warning import is_unsteady
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    Factorial,
    Knob,
    Look,
    Outcome,
    RatioInterval,
    Study,
    Sweep,
    level_text,
)

_FOLLOWS = 1.25
"""How far what more workers are seen may be off what the level has more, as a ratio, where nobody
said that the knob sets their number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    """Two configurations that differ in the number of workers alone, by their labels."""

    fewer: str
    more: str
    change: str
    throughput: RatioInterval


_Measured = tuple[Configuration, Configuration, RatioInterval]
"""Two configurations, and the throughput of the second one over that of the first one."""


def judged_by_sizes(outcome: Outcome) -> Outcome:
    """Return the outcome with what throughputs at other numbers of workers decide of its verdicts.

    Asked again of what it returned, it returns the same; and what a later doubt takes away is said
    no more.
    """
    looks = {arm.configuration.label(): arm.look for arm in _arms(outcome) if arm.look is not None}
    pairs = _pairs(outcome, looks)

    def judged(arm: ArmSummary) -> ArmSummary:
        if arm.look is None or arm.bottleneck is None:
            return arm
        alone, label = bottleneck(arm.look), arm.configuration.label()
        found = with_other_sizes(alone, arm.look, _others(label, pairs, looks))
        return structs.replace(arm, bottleneck=with_own_words(found, arm.log))

    return _with_arms(outcome, judged) if looks else outcome


def _others(label: str, pairs: Sequence[_Pair], looks: Mapping[str, Look]) -> list[OtherSize]:
    ends = ((each, {each.fewer: each.more, each.more: each.fewer}) for each in pairs)
    return [
        OtherSize(change=pair.change, look=looks[end[label]], throughput=pair.throughput)
        for pair, end in ends
        if label in end
    ]


def _pairs(outcome: Outcome, looks: Mapping[str, Look]) -> list[_Pair]:
    """Return what tells of other sizes, the nearest first."""
    study = outcome.plan.study
    # The schedule of an open loop decides the throughput, and of phases one alone is looked at.
    if study.workload.is_open_loop or study.method.phases:
        return []
    pairs = (_pair(study, looks, *each) for each in _measured(outcome))
    return [each for each in pairs if each is not None]


def _pair(
    study: Study,
    looks: Mapping[str, Look],
    a: Configuration,
    b: Configuration,
    ratio: RatioInterval,
) -> _Pair | None:
    """Return what two configurations tell, where a number of workers is all that differs."""
    changes = a.changes(b) if a.values.keys() == b.values.keys() else {}
    if len(changes) != 1 or not (ratio.low > 0 and math.isfinite(ratio.high)):
        return None
    [(name, (low, high))] = changes.items()
    if isinstance(low, bool | str) or isinstance(high, bool | str):
        return None
    if high < low:
        inverse = structs.replace(
            ratio, ratio=1 / ratio.ratio, low=1 / ratio.high, high=1 / ratio.low
        )
        return _pair(study, looks, b, a, inverse)
    knob = next((each for each in study.knobs if each.name == name), None)
    fewer, more = looks.get(a.label()), looks.get(b.label())
    if knob is None or fewer is None or more is None:
        return None
    if not _sets_workers(knob, (low, high), (fewer.workers, more.workers)):
        return None
    return _Pair(
        fewer=a.label(),
        more=b.label(),
        change=f"{name} {level_text(low)} → {level_text(high)}",
        throughput=ratio,
    )


def _sets_workers(knob: Knob, levels: tuple[float, float], workers: tuple[float, float]) -> bool:
    """Tell whether a knob sets the number of workers, by what is declared or by what was seen."""
    if knob.of != "server" or not 0 < workers[0] < workers[1]:
        return False
    if knob.pool:
        return knob.pool == "workers"
    (low, high), (fewer, more) = levels, workers
    # One worker more for each, beside others that are always there; or several more.
    return _is_near(more - fewer, high - low) or (low > 0 and _is_near(more / fewer, high / low))


def _is_near(seen: float, expected: float) -> bool:
    return expected / _FOLLOWS <= seen <= expected * _FOLLOWS


def _measured(outcome: Outcome) -> Iterator[_Measured]:
    if outcome.sweep is not None and not is_unsteady(outcome.warnings):
        yield from _of_sweep(outcome.sweep)
    if outcome.factorial is not None:
        yield from _of_factorial(outcome.factorial)
    for compared in _comparisons(outcome):
        ratio = compared.ratios.get("throughput")
        is_sound = not compared.is_doubted and not is_unsteady(compared.warnings)
        has_run = compared.a.status == compared.b.status == "complete"
        if ratio is not None and is_sound and has_run:
            yield compared.a.configuration, compared.b.configuration, ratio


def _of_sweep(sweep: Sweep) -> Iterator[_Measured]:
    ran = [point for point in sweep.points if point.arm.status == "complete"]
    for point, after in pairwise(ran):
        if point.next_throughput is not None:
            yield point.arm.configuration, after.arm.configuration, point.next_throughput
    if sweep.metric != "throughput_per_s":
        return
    best = next((point.arm for point in ran if point.level == sweep.best), None)
    for point in ran:
        if best is not None and point.ratio_to_best is not None:
            yield best.configuration, point.arm.configuration, point.ratio_to_best


def _of_factorial(found: Factorial) -> Iterator[_Measured]:
    """Yield what a knob brings at either level of the other one; of three it is a mean."""
    if len(found.levels) != _TWO or found.metric != "throughput_per_s" or found.unclaimed:
        return
    bits = {knob: 1 << place for place, knob in enumerate(found.levels)}
    for each in found.simple:
        before = bits[each.given] if each.is_given_changed else 0
        a, b = found.arms[before], found.arms[before | bits[each.knob]]
        if each.ratio is not None and a.status == b.status == "complete":
            yield a.configuration, b.configuration, each.ratio


_TWO = 2


def _comparisons(outcome: Outcome) -> Iterator[Comparison]:
    yield from (step.comparison for step in outcome.steps)
    if outcome.final is not None:
        yield outcome.final


def _arms(outcome: Outcome) -> Iterator[ArmSummary]:
    if outcome.sweep is not None:
        yield from (point.arm for point in outcome.sweep.points)
    if outcome.factorial is not None:
        yield from outcome.factorial.arms
    for compared in _comparisons(outcome):
        yield from (compared.a, compared.b)


def _with_arms(outcome: Outcome, judged: Callable[[ArmSummary], ArmSummary]) -> Outcome:
    """Return the outcome with each of its arms replaced."""

    def of_both(compared: Comparison) -> Comparison:
        return structs.replace(compared, a=judged(compared.a), b=judged(compared.b))

    sweep, factorial = outcome.sweep, outcome.factorial
    return structs.replace(
        outcome,
        steps=tuple(
            structs.replace(step, comparison=of_both(step.comparison)) for step in outcome.steps
        ),
        final=outcome.final and of_both(outcome.final),
        sweep=sweep
        and structs.replace(
            sweep,
            points=tuple(structs.replace(p, arm=judged(p.arm)) for p in sweep.points),
        ),
        factorial=factorial
        and structs.replace(factorial, arms=tuple(judged(arm) for arm in factorial.arms)),
    )
