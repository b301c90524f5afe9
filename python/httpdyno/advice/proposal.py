"""What is proposed to be tried, in which order, and what is not and why. Pure.

Each rule (`advice/knob`) looks at what was found and seen and says a knob's levels with the reason.
Here they are put together: what was seen to limit comes first, then what a finding proposes
(`advice/proposal.py`); what is only allowed by name stays out unless it was, and no more than
twelve are tried, because each costs a step of the budget.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Literal

from msgspec import structs

from httpdyno.advice.rules.declaration import SEVERITIES, Finding, Proposed, Severity
from httpdyno.model import Burst, KnobInfo, Level, Record, Survey, level_text
from httpdyno.reason import Reason, because

# How many workers of a pool memory has room for, with the numbers that say so. Pure.


class WorkerRoom(Record, frozen=True):
    """Of one pool of a copy, while its other pools stay as they are: n = (T − reserve − P) / u.

    Source: `telemetry.pool.MemoryBound`, which it is of.
    """

    member: str
    pool: str = ""
    """Of php-fpm where it has several; else a member is one pool."""
    n: int | None = None
    """Processes; None where that is not known."""
    unknown: Reason | str = ""
    """Why it is not."""
    free_bytes: int = 0
    """What the machine had free before there was a copy."""
    n_copies: int = 1
    """So many share it, one beside the other."""
    held_bytes: int = 0
    """What all else of the copy holds."""
    available_bytes: int = 0
    """T: a copy's share of what is free, less what is held; what a limit leaves, if less."""
    is_by_limit: bool = False
    """Whether T is what the limit of the running server's control group leaves."""
    reserve_bytes: int = 0
    """Of T not given out."""
    once_bytes: int = 0
    """P: the parent, and what its workers share."""
    each_bytes: int = 0
    """In u: the largest worker's own."""
    kernel_bytes: int = 0
    """In u besides: the kernel's for a worker."""
    age_s: float = 0.0
    """Of that worker."""
    is_of_running: bool = False
    """Whether it is one of the server that runs: its workers are older than those of a copy."""

    @property
    def reason(self) -> Reason:
        """How many fit, with the numbers that say so; or why nobody knows."""
        if self.n is None:
            return because("advice.room_unknown", why=self.unknown)
        if self.is_by_limit:
            whole = because("advice.group_leaves", n=self.available_bytes)
        else:
            whole = because(
                "advice.free" if self.n_copies == 1 else "advice.free_for_copies",
                n=self.free_bytes,
                copies=self.n_copies,
            )
            if self.held_bytes:
                whole = because("advice.free_but_held", free=whole, held=self.held_bytes)
        each = because(
            "advice.own_and_kernel" if self.kernel_bytes else "advice.own",
            n=self.each_bytes,
            kernel=self.kernel_bytes,
        )
        return because(
            "advice.room",
            n=self.n,
            pool=f"`{self.pool}`" if self.pool else because("advice.this_pool"),
            room=self.available_bytes - self.reserve_bytes,
            once=self.once_bytes,
            each=each,
            whose=because("advice.of_running" if self.is_of_running else "advice.of_copy"),
            age=self.age_s,
            whole=whole,
            reserve=self.reserve_bytes / self.available_bytes if self.available_bytes else 0.0,
        )


MOST_TRIED = 12
LEAST_PRIOR = 0.3
"""What is less likely to help is listed, and not tried."""
ASKED_FOR = ("stale", "loss")
"""Effects that are tried only where somebody allowed them."""
_AGREED: Mapping[str, str] = {"htaccess": "inline", "link_checks": "links"}
"""Knob → what somebody has to agree to by name, whatever its effect: files that an application
writes are not heard any more, links lead wherever they lead."""

Expects = Literal["cpu", "latency", "throughput", "memory", "reloads"]


class KnobProposal(Record, frozen=True):
    """A knob that may be worth trying."""

    name: str
    """As its member calls it: `NAME` or `NAME@SCOPE`."""
    start: Level
    """As found."""
    levels: tuple[Level, ...]
    why: Reason | None = None
    """The reason, with its numbers; None while only a finding proposes it."""
    expects: Expects = "throughput"
    prior: float = 0.5
    """How likely it helps, 0 … 1: orders the ladder."""
    is_seen: bool = False
    """Whether the rehearsal saw it limit: clients waited for what there was too little of."""
    found_by: str = ""
    """The rule whose finding proposes it; empty where no finding does."""
    severity: Severity | None = None
    """Of that finding."""
    blocked: Reason | None = None
    """Why it is shown and not tried, such as that it needs `--allow stale`; None: it is tried."""
    memory: Reason | None = None
    """Of a number of workers: which levels memory does not hold, with the numbers, or why nobody
    knows; None where all fit, and of others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """What is known of the load and of what it did to the copy, as far as it was seen."""

    n_cpus: int
    connections: int
    static_share: float | None = None
    """Of the requests, by weight: answered from files. None where nobody looked."""
    is_keep_alive: bool = True
    has_compressed: bool = True
    """Whether an answer was compressed; where nobody looked one may be."""
    burst: Burst | None = None
    """What some clients at a time did to the copy; None where nobody tried."""
    words: tuple[str, ...] = ()
    """Lines of the servers' error logs of the rehearsal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Offered:
    """What a rule looks at: one member, what can be set in it, and what was seen."""

    kind: str
    survey: Survey
    knobs: Mapping[str, KnobInfo]
    shape: Shape
    others: Mapping[str, Survey] = field(default_factory=dict)
    """The other members of the site, by kind."""
    rooms: Mapping[str, WorkerRoom] = field(default_factory=dict)
    """Pool → how many workers memory has room for; empty where nobody looked."""

    def found(self, name: str) -> Level | None:
        """Return a knob's value as found; None where it cannot be set here."""
        info = self.knobs.get(name)
        return None if info is None else info.default

    def named(self, name: str) -> list[str]:
        """Return the knobs of that name in all scopes, the whole server first."""
        return sorted(key for key in self.knobs if key == name or key.startswith(f"{name}@"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposals:
    """What is tried, in order, and what is only listed."""

    tried: tuple[KnobProposal, ...]
    listed: tuple[KnobProposal, ...]
    """With the reason in `blocked`."""


def chosen(
    proposed: Iterable[KnobProposal], knobs: Mapping[str, KnobInfo], *, allowed: Sequence[str] = ()
) -> Proposals:
    """Return what is tried of these, twelve at most.

    First what the rehearsal saw waiting, then what findings propose, the worst first, then the
    likeliest.

    Args:
        proposed: Under the names of the study.
        knobs: What can be set, by the same names.
        allowed: What somebody agreed to: `stale`, `loss`, `inline`, `links`.
    """
    tried: list[KnobProposal] = []
    listed: list[KnobProposal] = []
    for each in sorted(proposed, key=_place):
        blocked = each.blocked
        needed = allowance(each.name, knobs[each.name])
        if not blocked and needed and needed not in allowed:
            blocked = because("advice.needs_allowing", effect=needed)
        if not blocked and each.prior < LEAST_PRIOR:
            blocked = because("advice.little_expected")
        if not blocked and len(tried) >= MOST_TRIED:
            blocked = because("advice.likelier_first", n=MOST_TRIED)
        if blocked:
            listed.append(structs.replace(each, blocked=blocked))
        else:
            tried.append(each)
    return Proposals(tried=tuple(tried), listed=tuple(listed))


def allowance(name: str, knob: KnobInfo) -> str:
    """Return what has to be allowed before a knob is tried, such as `stale`; mostly nothing.

    Args:
        name: Of the knob, with its member and its scope or without.
        knob: What it is declared to be.
    """
    agreed = _AGREED.get(name) or _AGREED.get(name.partition(":")[2])
    return agreed or (knob.effect if knob.effect in ASKED_FOR else "")


def _place(proposal: KnobProposal) -> tuple[int, float]:
    """Return what comes first.

    What was seen to limit, what is wrong by what is set, then what is likeliest to help, hints
    among it.
    """
    found = proposal.severity
    is_wrong = found is not None and found != "hint"
    place = SEVERITIES.index(found) if is_wrong else len(SEVERITIES)
    return -1 if proposal.is_seen else place, -proposal.prior


# What rules of all kinds share: they go over a knob in each of its scopes.

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
    why: Reason | Callable[[Level], Reason],
    *,
    prior: float = POSSIBLE,
    expects: Expects = "throughput",
    blocked: Reason | None = None,
    is_seen: bool = False,
) -> Iterator[KnobProposal]:
    """Yield a proposal for each scope of a knob whose value as found calls for one.

    Args:
        offered: What is looked at.
        name: The knob, without scope.
        when: From the value as found to whether there is anything to propose.
        levels: From the value as found to what is tried; what equals it is left out.
        why: The reason, or from the value as found to the reason with its numbers.
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
                why=why if isinstance(why, Reason) else why(found),
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
            lambda found: because(
                "advice.queue_was_full",
                n=burst.overflows,
                clients=burst.connections,
                found=found,
            ),
            prior=LIKELY,
            expects="latency",
        )


def uncompressed(offered: Offered) -> Reason | None:
    """Return why no level of compression would change anything; None where one may."""
    return None if offered.shape.has_compressed else because("advice.none_compressed")


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


# What findings of a server's settings add to the knobs that are proposed. Pure.
#
# A finding says what would be worth a try by what it saw, and so do the rules of knobs. Both
# together are what is tried: a finding's knob comes first and has the finding's evidence as its
# reason, its values stand among the levels, and what a rule of knobs has blocked stays so.

_BY_LOAD = frozenset({"MaxRequestWorkers", "pm.max_children", "workers", "threads"})
"""Knobs whose levels follow from clients and CPUs: what rules of knobs say of these is told too."""


def with_findings(
    offered: Offered, proposed: Mapping[str, KnobProposal], findings: Iterable[Finding]
) -> dict[str, KnobProposal]:
    """Return what is proposed, with what findings propose of it or besides.

    Values that are in force already or that this server's knob does not have are passed over, and
    so is a knob that cannot be set here. What memory does not hold is left out later
    (`adopt/memory.py`).

    Args:
        offered: What can be set, and what was seen.
        proposed: What rules of knobs propose, by the member's own names.
        findings: The worst first: the first one that names a knob gives the reason.
    """
    whole = dict(proposed)
    for finding in findings:
        for each in finding.proposes:
            info = offered.knobs.get(each.knob)
            if info is None or info.default is None or not _is_possible(info, each):
                continue
            known = whole.get(each.knob) or KnobProposal(
                name=each.knob, start=info.default, levels=()
            )
            # Who was seen to be waited for is to be as many as wait, whatever a rule of thumb says.
            levels = known.levels if known.is_seen else _levels(known, each.value)
            added = structs.replace(known, levels=levels)
            whole[each.knob] = added if known.found_by else _reasoned(added, finding)
    return whole


def _is_possible(info: KnobInfo, proposed: Proposed) -> bool:
    return proposed.value != info.default and info.takes(proposed.value)


def _levels(known: KnobProposal, value: Level) -> tuple[Level, ...]:
    """Return the levels with one more: numbers from the start on, of others the new one first."""
    levels = tuple(dict.fromkeys((value, *known.levels)))
    start = number(known.start)
    numbers = [each for level in levels if (each := number(level)) is not None]
    if start is None or len(numbers) < len(levels):
        return levels
    return tuple(sorted(levels, key=lambda level: abs((number(level) or 0) - start)))


def _reasoned(proposal: KnobProposal, finding: Finding) -> KnobProposal:
    is_by_load = proposal.name.partition("@")[0] in _BY_LOAD
    why = because(
        "advice.found_at" if finding.evidence else "advice.found",
        what=finding.what,
        evidence=finding.evidence,
        rule=finding.name,
    )
    if proposal.why and is_by_load:
        why = because("advice.found_besides", why=why, besides=proposal.why)
    return structs.replace(
        proposal,
        why=why,
        # What is seen here is likelier to help than what rarely does.
        prior=max(proposal.prior, POSSIBLE),
        found_by=finding.name,
        severity=finding.severity,
    )


# What of the proposed numbers of workers memory holds, each pool's by its own room. Pure.
#
# Rules say how many there is a use for, by clients, CPUs and what was found; here that is cut to
# what fits, and what was left out is said with the numbers. Fewer than run now are always possible.

PROCESSES = frozenset(
    {
        *("MaxRequestWorkers", "pm.max_children", "worker_processes"),
        # Of gunicorn and uvicorn, and what people call their programs' own options for it.
        *("workers", "worker-processes", "processes", "num-workers", "instances", "cluster"),
    }
)
"""Knobs that are a number of processes, which takes memory."""
_THREADS = {"MaxRequestWorkers": "ThreadsPerChild"}
"""Knob → the one that says how many of it a process is."""


def within_room(offered: Offered, proposed: Mapping[str, KnobProposal]) -> dict[str, KnobProposal]:
    """Return what is proposed, without workers that memory does not hold.

    Of levels beyond what fits, what fits stays; a knob of which nothing else is left is blocked.

    Args:
        offered: What can be set, and the room of each pool.
        proposed: By the member's own names.
    """
    return {name: _within(offered, each) for name, each in proposed.items()}


def _within(offered: Offered, proposal: KnobProposal) -> KnobProposal:
    bare, _, scope = proposal.name.partition("@")
    room = offered.rooms.get(scope)
    if bare not in PROCESSES or room is None:
        return proposal
    if room.n is None:
        return structs.replace(proposal, memory=room.reason)
    most = room.n * int(number(offered.found(_THREADS.get(bare, ""))) or 1)
    start = number(proposal.start) or 0
    left_out = [level for level in proposal.levels if _is_more(level, max(most, start))]
    if not left_out:
        return proposal
    fitting: tuple[Level, ...] = (most,) if most > start else ()
    kept = [
        each for level in proposal.levels for each in (fitting if level in left_out else (level,))
    ]
    said = because(
        "advice.left_out", levels=[level_text(each) for each in left_out], room=room.reason
    )
    if not kept:
        blocked = proposal.blocked or said
        return structs.replace(proposal, memory=said, blocked=blocked)
    return structs.replace(proposal, levels=tuple(dict.fromkeys(kept)), memory=said)


def _is_more(level: Level, most: float) -> bool:
    n = number(level)
    return n is not None and n > most


# What an answer tells of how it came to be. Pure.

_HEX = re.compile(r'(?:W/)?"([0-9a-f]+)-([0-9a-f]+)(?:-[a-z]+)?"')
"""nginx has it weak where it compresses, Apache's modules add the coding's name."""
_MICROSECONDS = 1_000_000


def is_from_file(etag: str, last_modified: str, n_bytes: int) -> bool | None:
    """Whether nginx or Apache answered from a file: the ETag is made of its time and length.

    What an application sends has another one or none, so a file that it sends is no such answer.
    None where that cannot be told: a file's time without an ETag, which can be switched off (`etag
    off`, `FileETag None`).

    Args:
        etag: As it came.
        last_modified: As it came.
        n_bytes: Of the body, decoded.

    Source:
        nginx: ngx_http_set_etag, `"%xT-%xO"`: seconds, then length. Apache 2.4: FileETag MTime
        Size, `"length-microseconds"` (httpd.apache.org/docs/2.4/mod/core.html#fileetag).
    """
    if last_modified and not etag:
        return None
    match = _HEX.fullmatch(etag)
    if match is None:
        return False
    try:
        changed_s = int(parsedate_to_datetime(last_modified).timestamp())
    except (TypeError, ValueError):
        return False
    first, second = int(match[1], 16), int(match[2], 16)
    return (first, second) == (changed_s, n_bytes) or (
        first == n_bytes and second // _MICROSECONDS == changed_s
    )
