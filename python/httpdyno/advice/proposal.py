"""What is proposed to be tried, in which order, and what is not and why. Pure.

Each rule (`advice/knob`) looks at what was found and seen and says a knob's levels with the reason.
Here they are put together: what was seen to limit comes first, then what a finding proposes
(`advice/knob/finding.py`); what is only allowed by name stays out unless it was, and no more than
twelve are tried, because each costs a step of the budget.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec import structs

from httpdyno.advice.room import WorkerRoom
from httpdyno.advice.rules.declaration import SEVERITIES, Severity
from httpdyno.model import Burst, KnobInfo, Level, Record, Survey

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
    why: str
    """The reason, with its numbers."""
    expects: Expects = "throughput"
    prior: float = 0.5
    """How likely it helps, 0 … 1: orders the ladder."""
    is_seen: bool = False
    """Whether the rehearsal saw it limit: clients waited for what there was too little of."""
    found_by: str = ""
    """The rule of `docs/rules.md` whose finding proposes it; empty where no finding does."""
    severity: Severity | None = None
    """Of that finding."""
    blocked: str = ""
    """Why it is shown and not tried, such as `needs --allow stale`; empty where it is tried."""
    memory: str = ""
    """Of a number of workers: which levels memory does not hold, with the numbers, or why nobody
    knows; empty where all fit, and of others."""


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
            blocked = f"needs `--allow {needed}`"
        if not blocked and each.prior < LEAST_PRIOR:
            blocked = "little is to be expected of it here"
        if not blocked and len(tried) >= MOST_TRIED:
            blocked = f"{MOST_TRIED} likelier ones come first"
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
