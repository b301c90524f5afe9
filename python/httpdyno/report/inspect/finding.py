"""What of a server its owner should know. Pure: what is looked at comes in as it was seen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.declaration import Proposed, findings_of
from httpdyno.advice.rules.facts import Facts, Measured
from httpdyno.model import KnobInfo
from httpdyno.report.inspect.facts import (
    NOT_MEASURED,
    NOTHING_KNOWN,
    Asked,
    Surroundings,
    facts_of,
)
from httpdyno.report.shared import message
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.servers.discover.inspection import Inspected
from httpdyno.telemetry.observed import Observed

Severity = Literal["bad", "warning", "doubtful", "note", "hint"]
_SEVERITIES: tuple[Severity, ...] = ("bad", "warning", "doubtful", "note", "hint")
"""The worst first."""
RULE_SEVERITIES: frozenset[Severity] = frozenset({"bad", "doubtful", "hint"})
"""Of what a rule of `docs/reference/rules.md` says."""
_N_NAMED = 3
"""So many files are named; of more, how many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that is wrong with a server, or not as it looks."""

    name: str
    """For machines: `changed-files`."""
    severity: Severity
    """A warning: what runs is not what one would think. A note: something is not known. The others
    are of rules."""
    what: str
    evidence: str = ""
    """Where it is seen: a file and a line, processes."""
    do: str = ""
    """What takes it away."""
    risk: str = ""
    """What doing so risks."""
    wrong_when: str = ""
    """When the advice is wrong."""
    source: str = ""
    proposes: tuple[Proposed, ...] = ()
    """What is worth a try, of what can be set there and is not in force."""

    def __str__(self) -> str:
        evidence = f" ({self.evidence})" if self.evidence else ""
        return f"{self.what}{evidence}{f': {self.do}' if self.do else ''}"


def findings(
    seen: Inspected,
    observed: Observed | None,
    surroundings: Surroundings = NOTHING_KNOWN,
    asked: Asked | None = None,
    measured: Measured = NOT_MEASURED,
) -> tuple[Finding, ...]:
    """Return what is wrong with a server, or not as it looks, the worst first.

    Args:
        seen: What it is configured to.
        observed: Its processes; None where it does not run.
        surroundings: What of the machine it is beside.
        asked: A census of it; None where there is none.
        measured: Of its workers.
    """
    found = (
        *_of_files(seen),
        *_of_processes(observed),
        *_not_seen(seen),
        *_of_rules(facts_of(seen, observed, surroundings, asked, measured), seen.knobs),
    )
    return tuple(sorted(found, key=lambda each: _SEVERITIES.index(each.severity)))


def _of_rules(facts: Facts | None, knobs: Mapping[str, KnobInfo]) -> Iterator[Finding]:
    rules = {each.name: each for each in all_rules()}
    for each in findings_of(facts, rules.values()) if facts else ():
        rule = rules[each.name]
        possible = tuple(
            proposed
            for proposed in each.proposes
            if (info := knobs.get(proposed.knob))
            and info.default != proposed.value
            and info.takes(proposed.value)
        )
        yield Finding(
            name=each.name,
            severity=each.severity,
            what=message.text(each.what),
            evidence=message.joined(each.evidence),
            do=message.text(each.do) if each.do else rule.fix,
            risk=rule.risks,
            wrong_when=rule.unless,
            source=rule.source,
            proposes=possible,
        )


def _of_files(seen: Inspected) -> Iterator[Finding]:
    found = seen.found
    if seen.trouble:
        yield Finding(
            name="configuration-not-read", severity="note", what=message.text(seen.trouble)
        )
    if found.root is not None and found.root.is_replaced:
        yield Finding(
            name="program-replaced",
            severity="warning",
            what="its program file was replaced after it started",
            do="restart it to run the new one",
        )
    if found.unit is not None and found.unit.needs_daemon_reload:
        yield Finding(
            name="unit-changed",
            severity="warning",
            what=f"the files of {found.unit.name} were changed since systemd read them",
            do="`systemctl daemon-reload` reads them",
        )
    if seen.changed:
        yield Finding(
            name="files-changed",
            severity="warning",
            what=f"{_were(seen.changed)} changed after the server read {_it(seen.changed)}",
        )
    if seen.perhaps_changed:
        yield Finding(
            name="files-perhaps-changed",
            severity="note",
            what=f"{_were(seen.perhaps_changed)} changed after the server started: unknown "
            f"whether it read {_it(seen.perhaps_changed)} again",
        )
    for notice in seen.survey.notices if seen.survey else ():
        origin = notice.origin
        yield Finding(
            name="configuration",
            severity="warning",
            what=message.text(notice.why),
            evidence=f"{origin.file}:{origin.line}" if origin else "",
        )


def _of_processes(observed: Observed | None) -> Iterator[Finding]:
    zombies = observed.pool.zombies if observed else ()
    if zombies:
        yield Finding(
            name="zombies",
            severity="note",
            what=f"{plural(len(zombies), 'zombie')}: ended, and the parent has not waited for "
            f"{_it(zombies)}",
            evidence=oxford(zombies) if len(zombies) <= _N_NAMED else f"the first: {zombies[0]}",
        )
    workers = observed.workers if observed else ()
    if careless := [f"{each.name} ({each.pid})" for each in workers if each.ignores_children]:
        yield Finding(
            name="children-not-counted",
            severity="note",
            what="a process ignores how its children end: no process's CPU time has what these "
            "children used",
            evidence=oxford(careless) if len(careless) <= _N_NAMED else f"the first: {careless[0]}",
        )


def _not_seen(seen: Inspected) -> Iterator[Finding]:
    for path in seen.survey.unreadable if seen.survey else ():
        yield Finding(
            name="file-not-readable", severity="note", what=f"this user cannot read {path}"
        )
    if seen.found.hidden:
        yield Finding(
            name="not-visible",
            severity="note",
            what=f"this user may not see its {oxford(seen.found.hidden)}",
            do="`sudo` shows more",
        )


def _were(paths: Sequence[str]) -> str:
    if len(paths) > _N_NAMED:
        return f"{paths[0]} and {len(paths) - 1:,} more files were"
    return f"{oxford(paths)} {'was' if len(paths) == 1 else 'were'}"


def _it(several: Sequence[str]) -> str:
    return "it" if len(several) == 1 else "them"
