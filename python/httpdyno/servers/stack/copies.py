"""A stack that people run: private copies of it, one for each arm.

Their files are read from the snapshot and never from where they lie, so that all arms of all runs
are copies of the same. What a configuration changes is a change of their own text, and the
difference between two configurations is a difference between two states of their files.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import Rights
from httpdyno.host.foreign_text import kept_text
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    KnobInfo,
    Level,
    Listener,
    Member,
    ServerSpec,
    Site,
)
from httpdyno.reason import Reason
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running, shown_as
from httpdyno.servers.limits.limit_group import limit_values
from httpdyno.servers.render import Variables, rendered_prepare
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.sandbox.attempts import Refusals
from httpdyno.servers.sandbox.sandbox import CellWish, OpenSandbox, Seat
from httpdyno.servers.stack.adapter import ServerAdapter
from httpdyno.servers.stack.beside import (
    Beside,
    SharedSide,
    copy_environment,
    copy_variables,
    shared_variables,
    shown_variables,
    study_variables,
)
from httpdyno.servers.stack.environment import as_own_user
from httpdyno.servers.stack.names import by_member, knob_name, loaded_listener, reached_at
from httpdyno.servers.stack.running import Loaded, RunningCopy
from httpdyno.servers.stack.seats import SeatMaker
from httpdyno.servers.stack.service import CopiedService
from httpdyno.servers.stack.snapshot import Found, Snapshot, edited_files, version_of
from httpdyno.servers.stack.stack import Stack

SITE = "site"
"""What a study of a site calls its adapter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Changed:
    """One member as a configuration wants it."""

    found: Found
    adapter: ServerAdapter
    values: Mapping[str, Level]
    changes: ChangeSet


class CopyStack(Stack):
    """A stack of what people run, from a snapshot of it."""

    def __init__(
        self,
        site: Site,
        snapshot: Snapshot,
        adapters: Mapping[str, ServerAdapter],
        make_seat: SeatMaker | Reason,
    ) -> None:
        """Take what a site is made of.

        Args:
            site: As its study says.
            snapshot: Their files, and what was found in force.
            adapters: By the members' kinds.
            make_seat: Isolates copies; why none can be made where that is so.
        """
        self._site = site
        self._snapshot = snapshot
        self._adapters = adapters
        self._make_seat = make_seat

    @property
    def name(self) -> str:
        """As in studies."""
        return SITE

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set in all members, by the names that a study has for them."""
        return {
            knob_name(found.member.name, name): info
            for found in self._snapshot.members.values()
            for name, info in self._adapters[found.member.kind].knobs(found.survey).items()
        }

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what keeps copies from being made here."""
        del spec
        return (self._make_seat,) if isinstance(self._make_seat, Reason) else ()

    def check(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> None:
        """Look whether the start's values can be set.

        Raises:
            HttpdynoError: One cannot.
        """
        del spec, study_folder
        self._changed(configuration)

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return the members' own lines, front to back."""
        del spec, study_folder
        return ", ".join(version_of(found.survey) for found in self._snapshot.members.values())

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return their files with the configuration put in, by the paths that links lead to.

        `patch` refuses to follow links. Each text is one of `foreign_text.kept_text`.
        """
        del study_folder
        texts: dict[str, str] = {}
        environment: dict[str, str] = {}
        shown = shown_variables(spec, configuration.values)
        for each in self._changed(configuration):
            name = each.found.member.name
            files = {
                **each.found.files.texts,
                **edited_files(each.found.files.texts, each.changes.edits),
            }
            edited = {edit.file for edit in each.changes.edits}
            # What is edited comes last: one file may be read by several names.
            for path in sorted(files, key=lambda path: path in edited):
                texts[self._snapshot.real_path(path)] = kept_text(files[path])
            texts |= each.changes.added
            if each.found.member.command:
                head = shown_as(label=f"command line of {name}, an argument to a line")
                texts[head] = _arguments(each)
            if each.changes.sysctls:
                lines = [
                    f"{key} = {value}\n" for key, value in sorted(each.changes.sysctls.items())
                ]
                texts[f"sysctl for {name}"] = "".join(lines)
            own = {**study_variables(each.found.member, shown), **each.changes.environment}
            environment |= {f"{name}: {key}": text for key, text in own.items()}
        return Rendered(files=texts, environment=environment, prepare=rendered_prepare(spec, shown))

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Make a seat with the changed files, prepare it, and start all members, back to front."""
        del study_folder
        return self.spawn_seated(spec, configuration, place, is_measured=True)

    def spawn_seated(
        self,
        spec: ServerSpec,
        configuration: Configuration,
        place: Place,
        *,
        on_seat: Callable[[OpenSandbox], None] = lambda _: None,
        is_measured: bool = False,
    ) -> RunningCopy | NotRunning:
        """Start the copy.

        Args:
            spec: What runs beside it.
            configuration: What is set.
            place: Its own.
            on_seat: Looks at its seat before anything runs in it.
            is_measured: Whether what it tries to reach is told by it, as far as that costs no time,
                and where it writes is known from one that was not.
        """
        make_seat = self._maker()
        try:
            changed = self._changed(configuration)
            listener = loaded_listener(self._site, self._listeners())
            site = self._as_own_users
            variables = copy_variables(spec, site, place, configuration.values)
            seat = self._seat(make_seat, changed, place, is_known=is_measured)
        except BaseException:
            remove_place(place)
            raise
        if isinstance(seat, NotRunning):
            remove_place(place)
            return seat
        beside = Beside(spec, site, seat, place, variables)
        members = {member.name: member for member in site.members}
        started: list[CopiedService] = []
        refusals = None
        try:
            on_seat(seat)
            if failed := beside.prepare("before"):
                seat.close()
                remove_place(place)
                return failed
            if is_measured and seat.kind == "cell":
                refusals = Refusals(seat)
            watch = seat.watch
            for each in reversed(changed):
                seat.watch = None if is_measured and self._reaches_files(each.found) else watch
                member = members[each.found.member.name]
                started.append(_started(member, each, seat, place, variables))
            seat.watch = watch
        except BaseException:
            for up in started:
                up.process.stop()
            if refusals:
                refusals.close()
            seat.close()
            remove_place(place)
            raise
        return RunningCopy(
            started,
            seat=seat,
            place=place,
            beside=beside,
            refusals=refusals,
            loaded=Loaded(
                address=reached_at(seat.port(listener.address)),
                host=self._site.host or next(iter(listener.names), ""),
                ready_path=spec.ready_path,
                ready_status=spec.ready_status,
                is_tls=listener.is_tls,
            ),
        )

    def open_side(self, spec: ServerSpec, place: Place) -> SharedSide:
        """Return where commands of a whole run are run: in a copy as found, without members.

        Raises:
            AdapterError: It cannot be made.
        """
        make_seat = self._maker()
        site = self._as_own_users
        variables = shared_variables(spec, site, place)
        changed = self._changed(Configuration())
        seat = self._seat(make_seat, changed, place, is_known=False)
        if isinstance(seat, NotRunning):
            raise AdapterError("no private copy can be made here", why=[seat.detail])
        return SharedSide(Beside(spec, site, seat, place, variables), seat)

    def _maker(self) -> SeatMaker:
        if isinstance(self._make_seat, Reason):
            raise AdapterError(why=[self._make_seat])
        return self._make_seat

    @cached_property
    def _as_own_users(self) -> Site:
        """The site, with the users that its members may be run as."""
        members = tuple(map(as_own_user, self._site.members))
        return replace(self._site, members=members)

    def _seat(
        self, make_seat: SeatMaker, changed: list[_Changed], place: Place, *, is_known: bool
    ) -> OpenSandbox | NotRunning:
        listening = [
            each.address
            for found in self._snapshot.members.values()
            for each in found.survey.listeners
        ]
        begun = make_seat.begin(place, listening)
        try:
            seat = make_seat.finish(begun, place, self._wish(changed, begun, is_known))
        except BaseException:
            begun.close()
            raise
        if isinstance(seat, NotRunning):
            begun.close()
        return seat

    def _reaches_files(self, found: Found) -> bool:
        """Whether it is to reach others by unix sockets."""
        doors = any(door.to.startswith("unix:") for door in self._site.doors)
        return doors or any(each.to.startswith("unix:") for each in found.survey.backends)

    def _listeners(self) -> tuple[Listener, ...]:
        return self._snapshot.members[self._site.members[0].name].survey.listeners

    def _changed(self, configuration: Configuration) -> list[_Changed]:
        """Return the members as the configuration wants them, front to back.

        Raises:
            HttpdynoError: A value cannot be set.
        """
        values = by_member(configuration.values, self._site.members)
        changed = []
        for found in self._snapshot.members.values():
            adapter = self._adapters[found.member.kind]
            own = values[found.member.name]
            changes = adapter.change_set(found.survey, found.files, own)
            changed.append(_Changed(found=found, adapter=adapter, values=own, changes=changes))
        return changed

    def _wish(self, changed: list[_Changed], begun: Seat, is_known: bool) -> CellWish:
        files: dict[str, bytes] = {}
        writes = dict.fromkeys(self._site.writes)
        logs: dict[str, None] = {}
        sysctls: dict[str, str] = {}
        hidden: dict[str, bytes] = {}
        patterns: dict[str, None] = {}
        served: dict[str, None] = {}
        rights: dict[str, Rights] = {}
        for each in changed:
            survey, own = each.found.survey, each.found.files
            private: tuple[Edit, ...] = each.adapter.private(survey, own, begun)
            edits = (*each.changes.edits, *private)
            files |= {**own.texts, **edited_files(own.texts, edits)}
            files |= {path: text.encode() for path, text in each.changes.added.items()}
            writes |= dict.fromkeys(survey.writes)
            logs |= dict.fromkeys(log.path for log in survey.logs if log.path.startswith("/"))
            sysctls |= each.changes.sysctls
            hidden |= own.stand_ins
            patterns |= dict.fromkeys(own.patterns)
            served |= dict.fromkeys(own.served)
            rights |= own.rights
        return CellWish(
            files=files,
            rights=rights,
            hidden_files=hidden,
            writes=tuple(writes),
            is_known=is_known,
            served=tuple(served),
            patterns=tuple(patterns),
            logs=tuple(logs),
            doors=self._site.doors,
            sysctls=sysctls,
        )


def _started(
    member: Member, each: _Changed, seat: OpenSandbox, place: Place, variables: Variables
) -> CopiedService:
    asked = Configuration(values=dict(each.values))
    launch = each.adapter.launch(member, each.found.survey, seat, asked, each.changes)
    process = seat.spawn(
        launch.command,
        environment={
            **copy_environment(member, seat, place, variables),
            **launch.environment,
            **each.changes.environment,
        },
        folder=launch.folder or "/",
        user=launch.user,
        log=place.folder / f"{member.name}.log",
        output_to=launch.output_to,
        within=limit_values(member.limits),
    )
    return CopiedService(
        member=member,
        process=process,
        insight=launch.insight(process) if launch.insight is not None else None,
        asked=tuple(each.values),
        evidence={
            name: info.evidence
            for name, info in each.adapter.knobs(each.found.survey).items()
            if name in each.values
        },
        error_logs=launch.error_logs,
    )


def _arguments(each: _Changed) -> str:
    """Return the command line as the changes make it."""
    removed = set(each.changes.removed_arguments)
    own = [word for word in each.found.member.command if word not in removed]
    return "".join(f"{word}\n" for word in (*own, *each.changes.arguments))
