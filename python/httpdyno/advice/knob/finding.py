"""What findings of a server's settings add to the knobs that are proposed. Pure.

A finding says what would be worth a try by what it saw, and so do the rules of knobs. Both together
are what is tried: a finding's knob comes first and has the finding's evidence as its reason, its
values stand among the levels, and what a rule of knobs has blocked stays so.
"""

from collections.abc import Iterable, Mapping

from msgspec import structs

from httpdyno.advice.knob.rule import POSSIBLE, number
from httpdyno.advice.proposal import KnobProposal, Offered
from httpdyno.advice.rules.declaration import Finding, Proposed
from httpdyno.model import KnobInfo, Level

_BY_LOAD = frozenset({"MaxRequestWorkers", "pm.max_children", "workers", "threads"})
"""Knobs whose levels follow from clients and CPUs: what rules of knobs say of these is told too."""


def with_findings(
    offered: Offered, proposed: Mapping[str, KnobProposal], findings: Iterable[Finding]
) -> dict[str, KnobProposal]:
    """Return what is proposed, with what findings propose of it or besides.

    Values that are in force already or that this server's knob does not have are passed over, and
    so is a knob that cannot be set here. What memory does not hold is left out later (`room.py`).

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
                name=each.knob, start=info.default, levels=(), why=""
            )
            # Who was seen to be waited for is to be as many as wait, whatever a rule of thumb says.
            levels = known.levels if known.is_seen else _levels(known, each.value)
            added = structs.replace(known, levels=levels)
            whole[each.knob] = added if known.found_by else _reasoned(added, finding)
    return whole


def _is_possible(info: KnobInfo, proposed: Proposed) -> bool:
    return proposed.value != info.default and not info.complaint(proposed.value)


def _levels(known: KnobProposal, value: Level) -> tuple[Level, ...]:
    """Return the levels with one more: numbers from the start on, of others the new one first."""
    levels = tuple(dict.fromkeys((value, *known.levels)))
    start = number(known.start)
    numbers = [each for level in levels if (each := number(level)) is not None]
    if start is None or len(numbers) < len(levels):
        return levels
    return tuple(sorted(levels, key=lambda level: abs((number(level) or 0) - start)))


def _reasoned(proposal: KnobProposal, finding: Finding) -> KnobProposal:
    evidence = f" ({finding.evidence})" if finding.evidence else ""
    is_by_load = proposal.name.partition("@")[0] in _BY_LOAD
    besides = f"; {proposal.why}" if proposal.why and is_by_load else ""
    return structs.replace(
        proposal,
        why=f"{finding.what}{evidence} [{finding.name}]{besides}",
        # What is seen here is likelier to help than what rarely does.
        prior=max(proposal.prior, POSSIBLE),
        found_by=finding.name,
        severity=finding.severity,
    )
