"""What a rule is: a row of `rules.toml`, and the function that says when it speaks."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from httpdyno.advice.rules.facts import Facts
from httpdyno.model import Level, Reading, Record
from httpdyno.reason import Reason, because

Severity = Literal["bad", "doubtful", "hint"]
"""`bad`: it does not do what it says, or harms under load. `doubtful`: it mostly costs more than it
gives. `hint`: it costs something, and somebody may want that."""

SEVERITIES: tuple[Severity, ...] = ("bad", "doubtful", "hint")
"""The worst first."""


class Proposed(Record, frozen=True):
    """A value of a knob that is worth a try, by what a rule saw."""

    knob: str
    """As the server's own table of knobs calls it: `NAME` or `NAME@SCOPE`."""
    value: Level


class Proposes(Record, frozen=True):
    """A knob that a rule may propose, as it is declared."""

    knob: str
    """`NAME`, in the table of each kind of server that it is about."""
    value: str
    """What it proposes, in words."""
    kinds: tuple[str, ...] = ()
    """Of the rule's kinds; empty: all of them."""


class Seen(Record, frozen=True):
    """A rule's case in one server, with its numbers."""

    what: Reason
    """Of the rule's own words (`says`), mostly."""
    evidence: tuple[str | Reason, ...] = ()
    """Where it is seen: a file and a line, processes, the kernel."""
    do: Reason | None = None
    """What to do about this very case; None: what the rule says."""
    severity: Severity | None = None
    """Where it is not the rule's own."""
    proposes: tuple[Proposed, ...] = ()
    """What is worth a try in this very case, of what the rule declares."""


Look = Callable[[Facts], Iterator[Seen]]
"""Pure, and silent where something that it needs is not known."""


class Rule(Record, frozen=True):
    """Something about a server's settings that a machine can check: a row of `rules.toml`."""

    name: str
    """For machines, and for whoever looks it up: `clipped-workers`."""
    kinds: tuple[str, ...]
    """Of the servers that it is about."""
    severity: Severity
    checks: str
    """What it checks, a sentence; the heading of its paragraph."""
    why: str
    """Why it matters."""
    says: str | dict[str, str]
    """What its findings say, as templates (`report/shared/message.py`): of `rules.NAME`, or by
    what follows that: of `rules.NAME.CASE`."""
    fix: str
    """What to do, in an imperative without a full stop."""
    risks: str
    """What doing so risks."""
    unless: str
    """When the advice is wrong."""
    source: str
    needs: str = ""
    """Evidence needed, without which the rule says nothing; empty where `checks` says it."""
    proposes: tuple[Proposes, ...] = ()
    """What it proposes to try; empty where no knob stands for what it says, or where load on a
    copy would not show it."""


LOOKS: dict[str, Look] = {}
"""When a rule speaks, by its name."""


def rule(name: str) -> Callable[[Look], Look]:
    """Return what makes a function the one that says when a rule speaks.

    Args:
        name: Of its row.
    """

    def keep(look: Look) -> Look:
        if name in LOOKS:
            raise ValueError(f"two functions are of the rule `{name}`")
        LOOKS[name] = look
        return look

    return keep


class Finding(Seen, frozen=True, kw_only=True):
    """What a rule says of one server: of the evidence the first places, and how many more."""

    name: str
    """Of the rule."""
    severity: Severity


def where_said(readings: Iterable[Reading], knob: str, value: Level) -> tuple[Proposed, ...]:
    """Return a value proposed in each scope in which a setting was read."""
    scopes = dict.fromkeys(each.scope for each in readings)
    return tuple(
        Proposed(knob=f"{knob}@{scope}" if scope else knob, value=value) for scope in scopes
    )


# What the rules say of a server. Pure: what is known of it comes in as facts.

_N_EVIDENCE = 3
"""So many places are named; of more, how many."""


def findings_of(facts: Facts, rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """Return what rules find in a server, the worst first, each rule's cases side by side."""
    found = [
        _finding(rule, seen)
        for rule in rules
        if facts.kind in rule.kinds
        for seen in LOOKS[rule.name](facts)
    ]
    return tuple(sorted(found, key=lambda each: SEVERITIES.index(each.severity)))


def _finding(rule: Rule, seen: Seen) -> Finding:
    return Finding(
        name=rule.name,
        severity=seen.severity or rule.severity,
        what=seen.what,
        evidence=_evidence(tuple(dict.fromkeys(seen.evidence))),
        do=seen.do,
        proposes=tuple(dict.fromkeys(seen.proposes)),
    )


def _evidence(places: tuple[str | Reason, ...]) -> tuple[str | Reason, ...]:
    more = len(places) - _N_EVIDENCE
    return (*places[:_N_EVIDENCE], because("advice.more", n=more)) if more > 0 else places
