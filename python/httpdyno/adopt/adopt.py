"""The whole of adopting a site: gathered, copied, rehearsed, proposed, written as a study."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from httpdyno.adopt.discover import Gathered, with_variables
from httpdyno.adopt.memory import OwnServer, PoolLooks
from httpdyno.adopt.remark import remarked
from httpdyno.adopt.smoke_test import BURST_S, RehearsalReport, folders_of, rehearse_site
from httpdyno.adopt.study_text import Offer, StudyText, described
from httpdyno.adopt.suggest import Wanted, named, propose
from httpdyno.advice.proposal import Proposals
from httpdyno.errors import AdapterError, UsageError
from httpdyno.experiment.answer.likeness import Asked, difference_from_own
from httpdyno.host.foreign_files import new_folder
from httpdyno.host.foreign_text import reason
from httpdyno.model import ServerSpec, SideCommand, Site, SiteCommand, Workload
from httpdyno.reason import Reason, because
from httpdyno.report.shared.message import text, texts
from httpdyno.servers.stack.adapter import ServerAdapter
from httpdyno.servers.stack.copies import SITE, CopyStack
from httpdyno.servers.stack.names import loaded_listener
from httpdyno.servers.stack.seats import SeatMaker
from httpdyno.servers.stack.snapshot import Snapshot, take_snapshot, version_of
from httpdyno.study.server import reached_as

REHEARSAL = "rehearsal.json"
_STUDY = "study.toml"
_ALWAYS_PRIVATE = ("/run", "/var/run", "/tmp", "/var/tmp", "/dev/shm", "/var/log")  # noqa: S108


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What a person asked for."""

    folder: Path
    """Of the study, not there yet."""
    site: Site
    """Isolation, listener, host and doors as asked; its members are those that were found."""
    offer: Offer
    ready_path: str
    ready_status: int | None
    budget_s: float
    before: tuple[SideCommand, ...] = ()
    """What is run in each copy before its start."""
    burst_s: float = BURST_S
    """How long the rehearsal sends all clients at a time; 0 leaves that out."""
    wanted: Wanted = field(default_factory=Wanted)
    own: Mapping[str, OwnServer] = field(default_factory=dict)
    """Member → what is known of the server that it is a copy of."""
    asks_running: bool = False
    """Whether that server of the front is asked as well, each request twice."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Adopted:
    """What came of it."""

    folder: Path
    site: Site
    report: RehearsalReport
    proposals: Proposals
    n_files: int
    remarks: tuple[Reason, ...] = ()
    """What was seen that its owner should know, with the way out of it."""


@dataclass(frozen=True, slots=True)
class _OwnFront:
    """A server that runs, as it is asked."""

    addresses: tuple[str, ...]
    networks: tuple[str, ...] = ("",)


def site_of(gathered: Gathered, asked: Site) -> Site:
    """Return the site with the members that were found, its listener and host told.

    Raises:
        UsageError: It does not listen where it is asked.
    """
    front = gathered.members[0].survey
    members = tuple(found.member for found in gathered.members)
    site = msgspec.structs.replace(asked, members=members)
    listener = loaded_listener(site, front.listeners)
    names = [name for name in listener.names if name not in {"_", "localhost", ""}]
    return msgspec.structs.replace(
        site,
        listener=listener.address,
        host=asked.host or next(iter(names), ""),
        caveats=texts(gathered.caveats),
    )


def check_wanted(gathered: Gathered, wanted: Wanted, adapters: Mapping[str, ServerAdapter]) -> None:
    """Refuse knobs and levels that were named and that the site does not have.

    Raises:
        UsageError: With the name, and what there is.
    """
    gathered = with_variables(gathered, wanted.levels, adapters)
    snapshot = Snapshot(members={found.member.name: found for found in gathered.members})
    site = Site(members=tuple(found.member for found in gathered.members))
    server = CopyStack(site, snapshot, adapters, because("adopt.only_looked_at"))
    named(gathered, server.knobs(), wanted)


def adopt(
    gathered: Gathered,
    request: Request,
    adapters: Mapping[str, ServerAdapter],
    make_seat: SeatMaker,
    *,
    tell: Callable[[Reason], None],
) -> Adopted:
    """Write the study's folder; what was begun is taken away again where it fails.

    Args:
        gathered: The site as it was found.
        request: What was asked for.
        adapters: By kind.
        make_seat: Isolates the copy.
        tell: Gets what came of each step.

    Raises:
        UsageError: The folder is there already, or nothing is worth trying.
        AdapterError: The copy does not come up, or the folder cannot be written.
    """
    folder = request.folder
    gathered = with_variables(gathered, request.wanted.levels, adapters)
    site = msgspec.structs.replace(
        site_of(gathered, request.site),
        tls=request.offer.is_tls,
        ready=request.ready_path,
        ready_status=request.ready_status,
        prepare=tuple(SiteCommand(**msgspec.structs.asdict(each)) for each in request.before),
    )
    snapshot = Snapshot(members={found.member.name: found for found in gathered.members})
    spec = ServerSpec(
        adapter=SITE,
        ready_path=request.ready_path,
        ready_status=request.ready_status,
        before=request.before,
    )
    server = CopyStack(site, snapshot, adapters, make_seat)
    infos = server.knobs()
    named(gathered, infos, request.wanted)  # what makes no sense is said before anything runs
    own_address = _own_front(gathered, site, request)
    load = _workload(request.offer, site)
    asked = Asked(load)
    pools = PoolLooks(
        gathered.members,
        request.wanted.memory_bytes,
        {
            found.member.name: own.pools(found)
            for found in gathered.members
            if (own := request.own.get(found.member.name))
        },
    )
    try:
        report = rehearse_site(server, spec, load, asked, burst_s=request.burst_s, pools=pools)
    except AdapterError as error:
        if gathered.outside:
            error.hint, error.hints = "", unreached(gathered)
        raise
    tell(_told(report))
    if own_address:
        tell(_compared_with_own(asked, own_address, load, asks=request.asks_running))
    surveys = [found.survey for found in gathered.members]
    remarks = remarked(report, surveys, is_tls=request.offer.is_tls)
    written = folders_of(report.written, (*_ALWAYS_PRIVATE, *_declared(gathered)))
    site = msgspec.structs.replace(site, writes=(*site.writes, *written))
    proposals = propose(gathered, infos, report, request.offer, request.wanted, servers=request.own)
    study = StudyText(
        name=folder.name,
        title=f"{site.host or folder.name}, as {described(site.members)} serve it"
        if len(site.members) > 1
        else f"{site.host or folder.name}, as {described(site.members)} serves it",
        about=text(_about(gathered, report)),
        site=site,
        ready_path=request.ready_path,
        ready_status=request.ready_status,
        before=request.before,
        offer=_as_answered(request.offer, report),
        proposals=proposals,
        infos=infos,
        budget_s=request.budget_s,
    )
    _write(folder, gathered, study, report, asked)
    n_files = sum(len(found.files.texts) for found in gathered.members)
    return Adopted(
        folder=folder,
        site=site,
        report=report,
        proposals=proposals,
        n_files=n_files,
        remarks=remarks if proposals.tried else (*remarks, _nothing_to_try(infos)),
    )


def unreached(gathered: Gathered) -> tuple[Reason, ...]:
    """Return what a copy cannot reach, each with why and the way out."""
    why = gathered.why_outside
    return tuple(
        because("adopt.out_of_reach", to=each.to, why=why[each.to]) for each in gathered.outside
    )


def check_new(folder: Path) -> None:
    """Refuse a folder that is there: a study is never written over.

    Raises:
        UsageError: It is.
    """
    if folder.exists():
        raise UsageError(
            f"`{folder}` is there already",
            hint="name another one with `-o DIR`, or remove it first",
        )


def _nothing_to_try(infos: Iterable[str]) -> Reason:
    """Return that no knob is proposed, and which can be named."""
    return because("adopt.nothing_to_try", names=sorted(infos))


def _write(
    folder: Path, gathered: Gathered, text: StudyText, report: RehearsalReport, asked: Asked
) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        # Logs, settings and answers in it were perhaps root's alone to read.
        with new_folder(folder) as study:
            with study.below(text.site.snapshot) as snapshot:
                take_snapshot(snapshot, gathered.members, taken_at=now)
            written = msgspec.json.format(msgspec.json.encode(report), indent=1)
            study.write([REHEARSAL], written + b"\n")
            asked.kept(text.site, text.before, at=now).write(study)
            study.write([_STUDY], text.written().encode())
    except OSError as error:
        raise AdapterError(
            f"the study cannot be written into `{folder}`: {reason(error)}",
            hint="name another folder with `-o DIR`",
        ) from error


def _workload(offer: Offer, site: Site) -> Workload:
    """Return the load as the study that is written has it."""
    workload = Workload(requests=offer.requests, connections=offer.connections)
    return reached_as(workload, site.host, is_tls=offer.is_tls)


def _own_front(gathered: Gathered, site: Site, request: Request) -> str:
    """Return where the server answers that the front is a copy of; empty where it does not run.

    Raises:
        UsageError: It is to be asked, and does not run or listen where its copy does.
    """
    front = gathered.members[0]
    listener = loaded_listener(site, front.survey.listeners)
    own = request.own.get(front.member.name)
    address = own.address_of(listener) if own else ""
    if request.asks_running and not address:
        raise UsageError(
            f"`--ask-running`: no {front.member.name} with this configuration listens at "
            f"{listener.address} here",
            hint="start it, or leave the option out",
        )
    return address


def _compared_with_own(copy: Asked, address: str, load: Workload, *, asks: bool) -> Reason:
    """Return what is said of the copy's answers beside those of the server itself.

    Raises:
        AdapterError: It answers otherwise.
    """
    if not asks:
        return because("adopt.own_not_asked")
    own = Asked(load)
    for _ in range(2):
        own.round(_OwnFront((address,)))
    if difference := difference_from_own(copy, own):
        raise AdapterError(
            "the copy answers otherwise than your running server",
            why=[difference],
            hint="what the server reaches and its copy does not is named by `--with` and `--door`; "
            "a server that began before its files were changed answers by the old ones",
        )
    return because("adopt.own_answers_the_same", address=address)


def _as_answered(offer: Offer, report: RehearsalReport) -> Offer:
    """Return the requests with the status that each was answered with, where that was right."""
    seen = {each.path: each.status for each in report.answered if each.is_expected}
    return replace(
        offer,
        requests=tuple(
            msgspec.structs.replace(each, expect_status=seen.get(each.path, each.expect_status))
            for each in offer.requests
        ),
    )


def _declared(gathered: Gathered) -> Sequence[str]:
    return [folder for found in gathered.members for folder in found.survey.writes]


def _told(report: RehearsalReport) -> Reason:
    n = len(report.answered)
    n_right = n - len(report.wrong)
    answers = [
        because("adopt.answered_right", n_right=n_right, n=n)
        if n
        else because("adopt.nothing_asked")
    ]
    if burst := report.burst:
        answers.append(
            because(
                "adopt.burst",
                connections=burst.connections,
                n_answers=burst.n_answers,
                seconds=burst.duration_s,
            )
        )
    return because(
        "adopt.rehearsed_prepared" if report.prepare_s else "adopt.rehearsed",
        ready_s=report.ready_s,
        prepare_s=report.prepare_s,
        answers=answers,
    )


def _about(gathered: Gathered, report: RehearsalReport) -> Reason:
    return because(
        "adopt.about",
        date=datetime.now(UTC).date().isoformat(),
        versions=[version_of(found.survey) for found in gathered.members],
        file=REHEARSAL,
        n_requests=len(report.answered),
    )
