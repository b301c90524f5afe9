"""From which phase after an event on each arm answers as in the last one: words and JSON."""

from typing import Any

from httpdyno.advice.phase import Settling, settling
from httpdyno.model import Configuration, Outcome
from httpdyno.report.shared.phrase import plural
from httpdyno.report.shared.published import published
from httpdyno.report.study.phase_arms import phase_arms
from httpdyno.units import format_duration, format_percent


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
