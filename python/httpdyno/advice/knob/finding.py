"""What findings of a server's settings add to the knobs that are proposed. Pure.

A finding says what would be worth a try by what it saw, and so do the rules of knobs. Both together
are what is tried: a finding's knob comes first and has the finding's evidence as its reason, its
values stand among the levels, and what a rule of knobs has blocked stays so.
"""

from collections.abc import Iterable, Mapping

from msgspec import structs

from httpdyno.advice.knob.rule import POSSIBLE, most_workers, number
from httpdyno.advice.proposal import KnobProposal, Offered
from httpdyno.advice.rules.declaration import Finding, Proposed
from httpdyno.model import KnobInfo, Level

_PROCESSES = frozenset({"MaxRequestWorkers", "pm.max_children", "workers"})
"""Knobs that are a number of processes, which takes memory."""
_BY_LOAD = _PROCESSES | {"threads"}
"""Knobs whose levels follow from clients and CPUs: what rules of knobs say of these is told too."""


def with_findings(
    offered: Offered, proposed: Mapping[str, KnobProposal], findings: Iterable[Finding]
) -> dict[str, KnobProposal]:
    """Return what is proposed, with what findings propose of it or besides.

    Values that are in force already, that this server's knob does not have or that memory does not
    hold are passed over, and so is a knob that cannot be set here.

    Args:
        offered: What can be set, and what was seen.
        proposed: What rules of knobs propose, by the member's own names.
        findings: The worst first: the first one that names a knob gives the reason.
    """
    whole = dict(proposed)
    for finding in findings:
        for each in finding.proposes:
            info = offered.knobs.get(each.knob)
            if info is None or info.default is None or not _is_possible(offered, info, each):
                continue
            known = whole.get(each.knob) or KnobProposal(
                name=each.knob, start=info.default, levels=(), why=""
            )
            added = structs.replace(known, levels=_levels(known, each.value))
            whole[each.knob] = added if known.found_by else _reasoned(added, finding)
    return whole


def _is_possible(offered: Offered, info: KnobInfo, proposed: Proposed) -> bool:
    if proposed.value == info.default or info.complaint(proposed.value):
        return False
    bare = proposed.knob.partition("@")[0]
    n = number(proposed.value)
    if bare not in _PROCESSES or n is None:
        return True
    return n <= most_workers(offered, int(n), n_pools=len(offered.named(bare)))


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
