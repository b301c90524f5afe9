"""What is tried of a gathered site: rules of `advice`, their findings, what a person said. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from httpdyno.adopt.discover import Gathered, reaches
from httpdyno.adopt.memory import OwnServer
from httpdyno.adopt.smoke_test import RehearsalReport
from httpdyno.adopt.study_text import Offer
from httpdyno.advice.knob import rules
from httpdyno.advice.proposal import (
    KnobProposal,
    Offered,
    Proposals,
    Shape,
    chosen,
    with_findings,
    within_room,
)
from httpdyno.advice.rules import all_rules
from httpdyno.advice.rules.declaration import Finding, findings_of
from httpdyno.advice.rules.facts import Facts, configured
from httpdyno.errors import UsageError
from httpdyno.model import KnobInfo, Level, level_text
from httpdyno.reason import because
from httpdyno.servers.apache.survey import is_whole
from httpdyno.servers.php_fpm.survey import pool_names
from httpdyno.servers.stack.names import knob_name
from httpdyno.servers.stack.snapshot import Found
from httpdyno.study.complaint import nearest
from httpdyno.study.server import whole_name

_ASKED = 0.45
"""What somebody named comes after what a rule has a reason for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a person said of the knobs."""

    allowed: Sequence[str] = ()
    """Effects that may be tried: `stale`, `loss`."""
    levels: Mapping[str, tuple[Level, ...]] = field(default_factory=dict)
    """`--knob NAME=L1,L2`: tried with these levels, whatever the rules say. A single member may be
    left out of the name."""
    left_out: Sequence[str] = ()
    """`--not-knob NAME`."""
    memory_bytes: int = 0
    """What the machine has free for copies; 0 where nobody knows."""
    n_cpus: int = 1


def propose(  # noqa: PLR0913 - what is known of a site and wanted of it
    gathered: Gathered,
    infos: Mapping[str, KnobInfo],
    report: RehearsalReport,
    offer: Offer,
    wanted: Wanted,
    *,
    servers: Mapping[str, OwnServer] | None = None,
) -> Proposals:
    """Return what is tried and what is listed, under whole names.

    Args:
        gathered: The site as it was found.
        infos: What can be set, by whole names.
        report: What one start of a copy showed.
        offer: What it is asked for.
        wanted: What a person said.
        servers: Member → what is known of the server itself; without it settings alone tell.

    Raises:
        UsageError: A knob that was named is not there, or would stay as it is.
    """
    shape = Shape(
        n_cpus=wanted.n_cpus,
        connections=offer.connections,
        static_share=report.static_share,
        has_compressed=report.has_compressed,
        words=report.words,
        burst=report.burst,
    )
    asked, left_out = named(gathered, infos, wanted)
    unused = _unused(gathered, report)
    proposed: dict[str, KnobProposal] = {}
    surveys = {found.member.kind: found.survey for found in gathered.members}
    for found in gathered.members:
        member = found.member
        own = {
            name.partition(":")[2]: info
            for name, info in infos.items()
            if name.startswith(f"{member.name}:")
        }
        looked_at = Offered(
            kind=member.kind,
            survey=found.survey,
            knobs=own,
            shape=shape,
            others={kind: survey for kind, survey in surveys.items() if kind != member.kind},
            rooms={room.pool: room for room in report.rooms if room.member == member.name},
        )
        server = (servers or {}).get(member.name)
        findings = _findings(found, wanted.n_cpus, server.facts if server else None)
        reasons = with_findings(looked_at, _likeliest(looked_at), findings)
        for name, each in within_room(looked_at, reasons).items():
            whole = knob_name(member.name, name)
            of_nobody = name.partition("@")[2] in unused[member.name]
            blocked = each.blocked or (because("advice.unreached") if of_nobody else None)
            proposed[whole] = structs.replace(each, name=whole, blocked=blocked)
    proposed |= asked
    kept = [each for name, each in proposed.items() if name not in left_out]
    return chosen(kept, infos, allowed=wanted.allowed)


def _unused(gathered: Gathered, report: RehearsalReport) -> Mapping[str, frozenset[str]]:
    """Return member → the scopes of its knobs that no request of the study reaches."""
    asleep = [
        listener
        for found in gathered.members
        if found.member.kind == "php-fpm"
        for pool, listener in zip(pool_names(found.survey), found.survey.listeners, strict=False)
        if f"{found.member.name}@{pool}" in report.unused
    ]
    away = {each.to for each in gathered.outside}
    used: dict[str, frozenset[str]] = {}
    for found in gathered.members:
        name = found.member.name
        scopes = {each.partition("@")[2] for each in report.unused if each.startswith(f"{name}@")}
        groups: dict[str, list[bool]] = {}
        for each in found.survey.backends:
            is_asleep = any(reaches(listener, each.to) for listener in asleep)
            groups.setdefault(each.group or each.to, []).append(is_asleep or each.to in away)
        used[name] = frozenset(
            scopes | {group for group, away_all in groups.items() if all(away_all)}
        )
    return used


def _likeliest(offered: Offered) -> dict[str, KnobProposal]:
    """Return what the rules of knobs propose; where two do, the likelier."""
    found: dict[str, KnobProposal] = {}
    for rule in rules(offered.kind):
        for each in rule(offered):
            if each.name not in found or each.prior > found[each.name].prior:
                found[each.name] = each
    return found


def _findings(found: Found, n_cpus: int, own: Facts | None) -> tuple[Finding, ...]:
    """Return what the rules say of a member's settings, and of its server where somebody looked."""
    told = own or configured(found.member, found.survey, is_whole=is_whole(found.survey))
    # Of these what the copy has, which is what will be tuned.
    names = found.member.environment_names
    return findings_of(structs.replace(told, n_cpus=n_cpus, environment_names=names), all_rules())


def named(
    gathered: Gathered, infos: Mapping[str, KnobInfo], wanted: Wanted
) -> tuple[dict[str, KnobProposal], list[str]]:
    """Return what a person named to be tried, by whole names, and what is to be left out.

    Raises:
        UsageError: A knob that was named is not there, or would stay as it is.
    """
    members = [found.member.name for found in gathered.members]
    levels = {whole_name(name, members, infos): each for name, each in wanted.levels.items()}
    left_out = [whole_name(name, members, infos) for name in wanted.left_out]
    for name in (*levels, *left_out):
        if name not in infos:
            raise UsageError(
                f"the site has no knob `{name}`",
                hint=nearest(name, infos)
                or f"its knobs: {', '.join(sorted(infos))}; a variable is named `env.NAME=…`",
            )
    kinds = {found.member.name: found.member.kind for found in gathered.members}
    return {
        name: _asked(name, each, infos[name], kinds[name.partition(":")[0]])
        for name, each in levels.items()
    }, left_out


def _asked(name: str, levels: tuple[Level, ...], info: KnobInfo, kind: str) -> KnobProposal:
    for level in levels:
        try:
            info.check(level)
        except ValueError as error:
            raise UsageError(
                f"`{name}={level_text(level)}` is outside the knob's domain: expected {error}",
                hint=f"`httpdyno knobs {kind}` lists what each may be",
            ) from error
    start = info.default if info.default is not None else ""
    others = tuple(level for level in levels if level != start)
    if not others:
        raise UsageError(
            f"`{name}` is {level_text(start)} already", hint="name a level that differs"
        )
    return KnobProposal(
        name=name, start=start, levels=others, why=because("advice.asked_for"), prior=_ASKED
    )
