"""What the rules say of a server. Pure: what is known of it comes in as facts."""

from collections.abc import Iterable

from httpdyno.advice.rules.declaration import LOOKS, SEVERITIES, Finding, Rule, Seen
from httpdyno.advice.rules.facts import Facts

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
        do=seen.do or rule.fix,
        risk=rule.risks,
        wrong_when=rule.unless,
        source=rule.source,
        proposes=tuple(dict.fromkeys(seen.proposes)),
    )


def _evidence(places: tuple[str, ...]) -> str:
    more = len(places) - _N_EVIDENCE
    named = "; ".join(places[:_N_EVIDENCE])
    return f"{named}; and {more:,} more" if more > 0 else named
