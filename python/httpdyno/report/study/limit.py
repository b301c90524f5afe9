"""What limited the server, and what kept changes did inside it, as it was looked at under load."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from httpdyno.advice.bottleneck import differences, memory_differences, unmoved_calls
from httpdyno.model import (
    ArmSummary,
    Bottleneck,
    Comparison,
    Configuration,
    Look,
    Outcome,
    OwnAccount,
)
from httpdyno.report.shared import message
from httpdyno.report.shared.bottleneck import (
    answer_time_text,
    difference_text,
    limit_word,
    rough_time,
    run_queue_text,
)
from httpdyno.report.study.worker_text import worker_text
from httpdyno.units import format_about, format_duration, format_percent, format_rate

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
    words = f"{account.server}'s own statsd: {', '.join([*told, *account.remarks])}"
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
