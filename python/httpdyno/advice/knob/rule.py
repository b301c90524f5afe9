"""What rules of all kinds share: they go over a knob in each of its scopes."""

from collections.abc import Callable, Iterable, Iterator

from httpdyno.advice.proposal import Expects, KnobProposal, Offered
from httpdyno.model import Burst, Level

Rule = Callable[[Offered], Iterable[KnobProposal]]

LIKELY = 0.8
POSSIBLE = 0.5
_LONG_QUEUE = 4096
_BUSY_RATIO = 0.6
"""Of the CPUs that its workers can use: one that keeps fewer busy waits for something else."""
_IDLE_RATIO = 0.25
"""Of this machine's CPU time, unused: with less a worker may just not have come to run, where the
kernel does not tell."""
_MOST_PER_CPU = 16
"""Processes, where all of them wait: beyond that threads take less memory for the same."""
WEAK = 0.2
"""Below `proposal.LEAST_PRIOR`: listed with its reason, tried where somebody asks for it."""


def number(level: Level | None) -> float | None:
    """Return a level that is a number; None for all else."""
    if isinstance(level, bool) or not isinstance(level, int | float):
        return None
    return float(level)


def proposals(  # noqa: PLR0913 - a proposal has these parts
    offered: Offered,
    name: str,
    when: Callable[[Level], bool],
    levels: Callable[[Level], tuple[Level, ...]],
    why: Callable[[Level], str],
    *,
    prior: float = POSSIBLE,
    expects: Expects = "throughput",
    blocked: str = "",
    is_seen: bool = False,
) -> Iterator[KnobProposal]:
    """Yield a proposal for each scope of a knob whose value as found calls for one.

    Args:
        offered: What is looked at.
        name: The knob, without scope.
        when: From the value as found to whether there is anything to propose.
        levels: From the value as found to what is tried; what equals it is left out.
        why: From the value as found to the reason, with its numbers.
        prior: How likely it helps.
        expects: What gets better.
        blocked: Why it is only shown.
        is_seen: Whether the rehearsal saw clients wait for it.
    """
    for key in offered.named(name):
        found = offered.knobs[key].default
        if found is None or not when(found):
            continue
        tried = tuple(level for level in dict.fromkeys(levels(found)) if level != found)
        if tried:
            yield KnobProposal(
                name=key,
                start=found,
                levels=tried,
                why=why(found),
                expects=expects,
                prior=prior,
                blocked=blocked,
                is_seen=is_seen,
            )


def overflowing(offered: Offered, name: str) -> Iterator[KnobProposal]:
    """Yield a proposal for a longer queue where connections found one full in the rehearsal."""
    burst = offered.shape.burst
    if burst is not None and burst.overflows and _may_wait_at(offered, burst):
        yield from proposals(
            offered,
            name,
            lambda found: (number(found) or _LONG_QUEUE) < _LONG_QUEUE,
            lambda _: (_LONG_QUEUE,),
            lambda found: (
                f"{burst.overflows} connections of {burst.connections} clients found a queue "
                f"of {found} full"
            ),
            prior=LIKELY,
            expects="latency",
        )


def uncompressed(offered: Offered) -> str:
    """Return why no level of compression would change anything; empty where one may."""
    return "" if offered.shape.has_compressed else "no request was answered compressed"


def is_waited_for(offered: Offered, n_workers: float) -> bool:
    """Whether clients waited in the rehearsal for workers that waited themselves.

    They waited to be accepted or, where all are accepted at once, to be read. The workers used
    little of the time in which they did not wait for a CPU themselves, that others have here.
    """
    burst = offered.shape.burst
    if burst is None or not (burst.waiting or burst.unread) or not _may_wait_at(offered, burst):
        return False
    if burst.ready_s is None and burst.idle_ratio < _IDLE_RATIO:
        return False
    return burst.cpus_wanted(n_workers) < _BUSY_RATIO * min(n_workers, offered.shape.n_cpus)


def leaves_unread(offered: Offered) -> bool:
    """Whether it accepted clients in the rehearsal that it did not read: its loop is blocked."""
    burst = offered.shape.burst
    return burst is not None and _is_its_own(offered, burst.unread)


def waiting_levels(offered: Offered) -> tuple[int, int]:
    """Return the numbers of workers that are proposed where all wait: half of the most, and all.

    Who waits takes no CPU, so as many as there are clients gain most, and are tried soon.
    """
    most = min(offered.shape.connections, _MOST_PER_CPU * offered.shape.n_cpus)
    return most // 2, most


def _may_wait_at(offered: Offered, burst: Burst) -> bool:
    """Whether it may be this member that connections waited for, of those that listen."""
    waited_at = (*burst.waiting, *burst.unread)
    return not (offered.survey.listeners and waited_at) or _is_its_own(offered, waited_at)


def _is_its_own(offered: Offered, addresses: Iterable[str]) -> bool:
    """Whether it listens at one of these by its port, or by the path of its socket.

    The kernel has a path as it was bound, which may begin in the folder of the server.
    """
    own = [each.address.rpartition(":")[2] for each in offered.survey.listeners]
    told = [address.rpartition(":")[2].removeprefix("./") for address in addresses]
    return any(each == one or each.endswith(f"/{one}") for each in own for one in told)


def above(found: Level, levels: Iterable[int]) -> tuple[int, ...]:
    """Return the levels that are more than what was found."""
    return tuple(level for level in levels if level > (number(found) or 0))
