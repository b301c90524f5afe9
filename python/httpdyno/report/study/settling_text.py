"""From which phase after an event on each arm answers as in the last one: words and JSON."""

from httpdyno.advice.phase import Settling, SettlingPhase, settling
from httpdyno.model import Configuration, Level, Outcome, Record
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.phase_arms import phase_arms
from httpdyno.units import format_duration, format_percent


class SettlingJson(Record, frozen=True):
    """Of one arm: a figure, and no claim.

    Each phase's interval has the objective's confidence for itself alone; what is said by all of
    their ends, as `earliest` and `latest` are, has no confidence of its own.
    """

    name: str
    configuration: dict[str, Level]
    percentile: str
    within_ratio: float
    """How far above the last phase's latency an earlier one may lie."""
    last: str
    end_s: float
    """Of load, up to the end of the last but one."""
    n_starts: int
    phases: tuple[SettlingPhase, ...]
    settled: str | None
    """The first phase from which on all are within that; null where not even the last but one is.
    So are the next two, by the low and the high ends of the intervals."""
    earliest: str | None
    latest: str | None


def settling_lines(outcome: Outcome) -> list[str]:
    """Return a sentence for each arm; none where the study's phases do not ask for it."""
    return [f"{name}: {_words(found)}" for name, _, found in _found(outcome)]


def settling_json(outcome: Outcome) -> tuple[SettlingJson, ...]:
    """Return the same as records."""
    return tuple(
        SettlingJson(
            name=name,
            configuration=configuration.values,
            percentile=found.percentile,
            within_ratio=found.within_ratio,
            last=found.last,
            end_s=found.end_s,
            n_starts=found.n_starts,
            phases=found.phases,
            settled=found.settled,
            earliest=found.earliest,
            latest=found.latest,
        )
        for name, configuration, found in _found(outcome)
    )


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
