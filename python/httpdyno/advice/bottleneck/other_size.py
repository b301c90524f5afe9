"""What another number of workers says of a pool that one look cannot tell of; pure.

Where all workers wait for what they share and requests wait for a worker, more workers help only if
that serves more at a time. The throughput of the same server with more of them tells. If it rises,
they were too few. If it does not, though more of them wait for the backend, each waits for so much
longer (Little's law): the backend serves no more at a time, neither to the fewer nor to the more.

The other way round a look may see too few workers where each waits by itself for what serves one at
a time. If more of them bring hardly anything, it is something else, which the look cannot tell.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec import structs

from httpdyno.advice.bottleneck.facts import Facts
from httpdyno.advice.bottleneck.verdict import (
    MORE_WORKERS,
    backend,
    bottleneck,
    too_few_workers,
    where,
)
from httpdyno.model import Bottleneck, Look, RatioInterval
from httpdyno.reason import Reason, because

_GROWTH = 1.15
"""Of busy workers: where they are fewer, a look is too short to tell how many more there are."""
_FLAT, _FLAT_OF_GROWTH = 0.05, 0.1
"""What more workers may bring at the most where they help nothing: of the throughput, and of what
they would bring if each did as much as one before, whichever is less."""
_HELPS, _HELPS_OF_GROWTH = 0.1, 0.3
"""What they bring at the least where they were too few, likewise. In between neither is said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherSize:
    """The same server with another number of workers, under the same closed loop."""

    change: str
    """From the fewer to the more: `MaxRequestWorkers 4 → 8`."""
    look: Look
    """At the other one."""
    throughput: RatioInterval
    """With more of them over with fewer; its end is finite."""


def with_other_sizes(found: Bottleneck, look: Look, others: Sequence[OtherSize]) -> Bottleneck:
    """Return a look's verdict with what other numbers of workers decide of it.

    Args:
        found: The verdict on that look alone.
        look: At the pool.
        others: Of the same server, the nearest first.

    Returns:
        Of too few workers or of a backend, where `found` leaves open which of them and the others
        prove one and nothing else; of too few workers also where it is of a backend and requests
        wait, since processes beside the pool may be free while all of its workers wait. Of too few
        workers that more of them contradict, that it cannot be told. `found` elsewhere.
    """
    facts = Facts(look)
    if found.limit == "too_few_workers":
        return _contradicted(found, facts, others)
    is_open = _is_open(backend, found, facts) or _is_open(too_few_workers, found, facts)
    if not is_open and not (found.limit == "backend" and facts.unserved >= 1):
        return found
    helpful = [each for each in others if _helps(facts, each)]
    # What more of them bring comes before what fewer lost.
    ordered = sorted(others, key=lambda each: each.look.workers < look.workers)
    flat = [each for each in ordered if _is_flat(facts, each)]
    if helpful and not flat:
        return _too_few(found, facts, helpful[0])
    if flat and not helpful and is_open:
        return _backend(found, facts, flat[0])
    return found


def _is_open(test: Callable[[Facts], Bottleneck | None], found: Bottleneck, facts: Facts) -> bool:
    """Whether that test is the one which found that it cannot be told."""
    said = test(facts)
    return said is not None and said.limit == "unknown" and said.reason == found.reason


def _waits_for_backend(facts: Facts) -> bool:
    found = bottleneck(facts.look)
    return found.limit == "backend" or _is_open(backend, found, facts)


def _helps(facts: Facts, other: OtherSize) -> bool:
    growth = Facts(other.look).busy / facts.busy
    least = min(_HELPS, _HELPS_OF_GROWTH * (growth - 1))
    return growth >= _GROWTH and other.throughput.low >= 1 + least


def _is_flat(facts: Facts, other: OtherSize) -> bool:
    both = sorted((facts, Facts(other.look)), key=lambda each: each.workers)
    if not all(_waits_for_backend(each) for each in both):
        return False
    growth = both[1].at("backend") / both[0].at("backend")
    return growth >= _GROWTH and other.throughput.high <= _most_of_flat(growth)


def _contradicted(found: Bottleneck, facts: Facts, others: Sequence[OtherSize]) -> Bottleneck:
    """Return too few workers, or that it cannot be told where more of them are proven no help."""
    more = [each for each in others if each.look.workers >= _GROWTH * facts.workers]
    flat = [
        each
        for each in more
        if each.throughput.high <= _most_of_flat(each.look.workers / facts.workers)
    ]
    if not flat or any(_helps(facts, each) for each in more):
        return found
    return structs.replace(
        found,
        limit="unknown",
        reason=because(
            "advice.more_no_help",
            workers=facts.workers,
            unserved=facts.unserved,
            change=flat[0].change,
            ratio=_ratio(flat[0]),
        ),
        evidence={
            "workers": facts.workers,
            "unserved": facts.unserved,
            "other_workers": flat[0].look.workers,
            **_ratio_evidence(flat[0]),
        },
        advice=None,
    )


def _most_of_flat(growth: float) -> float:
    """Return the throughput of so many times as many, over that of the fewer, that is no gain."""
    return 1 + min(_FLAT, _FLAT_OF_GROWTH * (growth - 1))


def _too_few(found: Bottleneck, facts: Facts, other: OtherSize) -> Bottleneck:
    more = Facts(other.look)
    return structs.replace(
        found,
        limit="too_few_workers",
        reason=because(
            "advice.more_help" if facts.are_all_busy else "advice.more_help_some",
            busy=facts.busy,
            workers=facts.workers,
            unserved=facts.unserved,
            cores=facts.cores,
            change=other.change,
            ratio=_ratio(other),
        ),
        evidence={
            "workers": facts.workers,
            "unserved": facts.unserved,
            "server_cores": facts.cpu_cores,
            "other_workers": more.workers,
            **_ratio_evidence(other),
        },
        advice=MORE_WORKERS,
    )


def _backend(found: Bottleneck, facts: Facts, other: OtherSize) -> Bottleneck:
    fewer, more = sorted((facts, Facts(other.look)), key=lambda each: each.workers)
    return structs.replace(
        found,
        limit="backend",
        reason=because(
            "advice.backend_full",
            busy=facts.busy,
            n=facts.at("backend"),
            what=where(facts),
            cores=facts.cores,
            fewer=fewer.at("backend"),
            more=more.at("backend"),
            change=other.change,
            ratio=_ratio(other),
        ),
        evidence={
            "backend_workers": facts.at("backend"),
            "busy_workers": facts.busy,
            "other_backend_workers": Facts(other.look).at("backend"),
            **_ratio_evidence(other),
        },
        advice=because("advice.try_backend_only"),
    )


def _ratio(other: OtherSize) -> Reason:
    """Return the throughput with more workers over that with fewer."""
    ratio = other.throughput
    return because("advice.ratio", ratio=ratio.ratio, low=ratio.low, high=ratio.high)


def _ratio_evidence(other: OtherSize) -> dict[str, float]:
    """Return the throughput with more workers over that with fewer, with its interval."""
    ratio = other.throughput
    return {
        "throughput_ratio": ratio.ratio,
        "throughput_ratio_low": ratio.low,
        "throughput_ratio_high": ratio.high,
    }
