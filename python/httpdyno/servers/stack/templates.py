"""A stack that a study's templates make: its server, and companions before and behind it.

Each service lives in a place of its own, those of companions beside that of the server. Those
behind are begun first, and waited for, because a server may connect to its database as it begins;
then the server, then those in front of it: so that whoever sends requests on knows where to. All of
them are the server that is measured, whichever is loaded: what moves from one to another is saved
by none.
"""

import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.model import Companion, Configuration, KnobInfo, Peer, ServerSpec, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running, shown_as
from httpdyno.servers.network.address import HeldPort
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import (
    COMMAND_LINE,
    Variables,
    knobs_of_limits,
    peer_placeholder,
    rendered_configuration,
    rendered_limits,
)
from httpdyno.servers.run.folder import made, remove_place
from httpdyno.servers.stack.adapter import Launch, ServerAdapter
from httpdyno.servers.stack.names import (
    SEPARATOR,
    SERVER,
    known_knobs,
    loaded_name,
    own_values,
    shaping_knobs,
    those_there,
)
from httpdyno.servers.stack.running import RunningStack
from httpdyno.servers.stack.service import Asked, Listening, MadeService
from httpdyno.servers.stack.stack import Stack
from httpdyno.servers.staging import act, environment, finish, hand_over, stage, writable_folders

_READY_S = 20.0
"""As long as any server may take to come up."""
_WHO_IS_LOADED = shown_as(label="which server is loaded")
_ALONE: Mapping[str, ServerAdapter] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Service:
    """One service as a configuration wants it."""

    name: str
    """`server`, or a companion's."""
    adapter: ServerAdapter
    spec: ServerSpec
    configuration: Configuration

    def variables(self) -> Variables:
        """Return what templates may use, with placeholders for what differs between starts."""
        user = self.adapter.server_user()
        return Variables.placeholders(self.spec, self.configuration, server_user=user)

    def render(self, study_folder: Path) -> Rendered:
        """Return the files as they would be written."""
        variables = self.variables()
        launch = self.adapter.made(self.spec, study_folder, variables)
        own = dict(launch.files)
        if launch.is_shown:
            own[COMMAND_LINE] = "".join(f"{argument}\n" for argument in launch.command)
        return rendered_configuration(self.spec, study_folder, variables, own)

    def check(self, study_folder: Path) -> None:
        """Look for what is wrong with the study's files.

        Raises:
            AdapterError: Something is; names a companion.
        """
        try:
            self.adapter.check(self.spec, study_folder, self.variables())
        except AdapterError as error:
            if self.name == SERVER:
                raise
            raise AdapterError(**error.within(f"companion {self.name}")) from error

    def start(self, study_folder: Path, place: Place) -> MadeService | NotRunning:
        """Write the files and start it; the place is removed where it is not started."""
        if why := self.adapter.refused(self.spec, self.configuration):
            remove_place(place)
            return self._named(NotRunning(status="refused", detail=why))
        port = HeldPort(network=place.network)
        try:
            service = self._started(study_folder, place, port)
        except BaseException:
            port.release()
            raise
        if isinstance(service, NotRunning):
            port.release()
            remove_place(place)
            return self._named(service)
        return service

    def _named(self, failed: NotRunning) -> NotRunning:
        if self.name == SERVER:
            return failed
        return replace(failed, detail=because("servers.of", name=self.name, why=failed.detail))

    def _started(
        self, study_folder: Path, place: Place, port: HeldPort
    ) -> MadeService | NotRunning:
        spec, adapter = self.spec, self.adapter
        variables = Variables(
            knobs=self.configuration.values,
            settings=spec.settings,
            run=str(place.folder),
            memory=str(place.memory_folder),
            port=str(port.number),
            server_user=adapter.server_user(),
            shared=str(place.shared or ""),
            peers=spec.peers,
        )
        launch: Launch = adapter.made(spec, study_folder, variables)
        limits = rendered_limits(spec, variables)
        for folder in launch.folders:
            (place.folder / folder).mkdir()
        if refusal := stage(spec, study_folder, place, variables, extra=launch.files):
            return refusal
        own_environment = environment(spec, variables, place, launch.environment)
        if launch.answers_as:
            hand_over(place, launch.answers_as, writable_folders(spec, variables))
        process = ServerProcess.spawn(
            launch.command,
            place=place,
            environment=own_environment,
            log=place.folder / f"{adapter.name}.log",
            output_to=launch.output_to,
            folder=launch.folder,
            stop_signal=signal.Signals[f"SIG{spec.stop}"],
            limits=limits,
        )
        return MadeService(
            name=self.name,
            process=process,
            listening=Listening(addresses=tuple(launch.addresses) or (port.address,), port=port),
            place=place,
            asked=Asked(
                spec=spec,
                configuration=self.configuration,
                known=frozenset(adapter.knobs()),
                of_limits=knobs_of_limits(spec, variables),
            ),
            insight=launch.insight(process) if launch.insight is not None else None,
            error_logs=launch.error_logs,
            act=partial(act, variables, place, own_environment),
            finish=partial(finish, spec, variables, place, own_environment)
            if spec.finish
            else None,
        )


class TemplateStack(Stack):
    """One that a study's `[server]` describes."""

    def __init__(
        self, adapter: ServerAdapter, companions: Mapping[str, ServerAdapter] = _ALONE
    ) -> None:
        """Take the adapter of the server, and those of its companions by their names."""
        self._adapter = adapter
        self._companions = companions

    @property
    def name(self) -> str:
        """As in study files."""
        return self._adapter.name

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set in all of them; companions' begin with their names."""
        others = {name: each.knobs() for name, each in self._companions.items()}
        return known_knobs(self._adapter.knobs(), others)

    def settings(self) -> frozenset[str]:
        """Return the names that the server reads of its settings."""
        return self._adapter.settings()

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what is not installed for any of them."""
        of_all = [self._adapter.missing(spec)]
        of_all += [self._companions[each.name].missing(each) for each in spec.companions]
        return tuple(dict.fromkeys(what for found in of_all for what in found))

    def check(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> None:
        """Look for what is known to be wrong with the files of one of them."""
        for each in self._services(spec, configuration):
            each.check(study_folder)

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return the version lines of all of them, the server's first."""
        lines = [self._adapter.version(spec, study_folder)]
        lines += [
            f"{each.name}: {self._companions[each.name].version(each, study_folder)}"
            for each in (() if spec is None else spec.companions)
        ]
        return ", ".join(lines)

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files of all that are there, a companion's below its name."""
        files: dict[str, str] = {_WHO_IS_LOADED: ""} if spec.companions else {}
        environment: dict[str, str] = {}
        prepare: tuple[str, ...] = ()
        for each in self._services(spec, configuration):
            rendered = each.render(study_folder)
            before = "" if each.name == SERVER else f"{each.name}/"
            files |= {f"{before}{file}": text for file, text in rendered.files.items()}
            environment |= {
                f"{before}{variable}": text for variable, text in rendered.environment.items()
            }
            prepare += rendered.prepare
        if spec.companions:
            files[_WHO_IS_LOADED] = f"{loaded_name(spec, configuration.values)}\n"
        return Rendered(files=files, environment=environment, prepare=prepare)

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Begin all that are there, back to front; waits for those behind the server only."""
        loaded = loaded_name(spec, configuration.values)
        behind = {each.name for each in spec.companions if each.side == "behind"}
        services: list[MadeService] = []
        peers: dict[str, Peer] = {}
        try:
            for each in self._services(spec, configuration):
                home = _home(place, each.name)
                own = replace(each, spec=structs.replace(each.spec, peers=dict(peers)))
                service = own.start(study_folder, home)
                if isinstance(service, MadeService) and each.name in behind:
                    service = _awaited(service)
                if isinstance(service, NotRunning):
                    _end(services, place)
                    return service
                services.append(service)
                peers[each.name] = Peer(
                    address=service.addresses[0],
                    run=str(home.folder),
                    memory=str(home.memory_folder),
                )
            shape = shaping_knobs(spec) if spec.companions else ()
            return RunningStack(
                services,
                loaded=loaded,
                shape={name: level_text(configuration.values[name]) for name in shape},
                passing=self._passing(spec, study_folder, configuration, loaded),
            )
        except BaseException:
            _end(services, place)
            raise

    def _passing(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, loaded: str
    ) -> frozenset[str]:
        """Return those in front of the server that the one that is loaded sends requests on to.

        They are whom it names, and whom these name: whoever is there and named by none of them,
        such as one that cleans up, gets no request.
        """
        front = {each.name for each in _on(those_there(spec, configuration.values), "front")}
        if loaded not in front or len(front) == 1:
            return frozenset()
        texts = {
            each.name: _read_by(each.render(study_folder))
            for each in self._services(spec, configuration)
            if each.name in front
        }
        passing, asked = set[str](), [loaded]
        while asked:
            text = texts[asked.pop()]
            named = {name for name in front - passing - {loaded} if _is_named(name, text)}
            passing |= named
            asked += named
        return frozenset(passing)

    def _services(self, spec: ServerSpec, configuration: Configuration) -> Iterator[_Service]:
        """Yield each service that is there, back to front, with where it finds those before it."""
        if not spec.companions:
            yield _Service(
                name=SERVER, adapter=self._adapter, spec=spec, configuration=configuration
            )
            return
        there = those_there(spec, configuration.values)
        taken = frozenset(self._adapter.knobs())
        shape = shaping_knobs(spec)
        peers: dict[str, Peer] = {}
        in_order = [
            *((each.name, self._companions[each.name], each) for each in _on(there, "behind")),
            (SERVER, self._adapter, spec),
            *((each.name, self._companions[each.name], each) for each in _on(there, "front")),
        ]
        for name, adapter, own in in_order:
            whose = "" if name == SERVER else name
            values = own_values(configuration, whose, taken)
            # Plain knobs are the server's to tell of: a companion has its own.
            told = tuple(values.values) if whose else shape
            untold = tuple(n for n in told if f"{whose}{SEPARATOR}{n}" not in configuration.values)
            known = structs.replace(own, companions=(), loaded="", shape=untold, peers=dict(peers))
            peers[name] = peer_placeholder(name)
            yield _Service(name=name, adapter=adapter, spec=known, configuration=values)


def _read_by(rendered: Rendered) -> str:
    """Return all that a server reads and is started with, as one text."""
    texts = (*rendered.files.values(), *rendered.environment.values(), *rendered.prepare)
    return "\n".join(texts)


def _is_named(name: str, text: str) -> bool:
    """Whether what was rendered for diffs says where a server is: its port, or a socket's path."""
    where = peer_placeholder(name)
    either = "|".join(map(re.escape, (where.address, where.run, where.memory)))
    return re.search(rf"(?<!\w)(?:{either})(?!\w)", text) is not None


def _on(companions: tuple[Companion, ...], side: str) -> Iterator[Companion]:
    return (each for each in companions if each.side == side)


def _home(place: Place, name: str) -> Place:
    """Return where one of them lives: the server in the place, a companion in one beside it."""
    if name == SERVER:
        return place
    return made(
        replace(
            place,
            folder=place.folder.with_name(f"{place.folder.name}-{name}"),
            memory_folder=place.memory_folder.with_name(f"{place.memory_folder.name}-{name}"),
        )
    )


def _awaited(service: MadeService) -> MadeService | NotRunning:
    """Return a service once it is ready, and what is in force is what was asked; or why not."""
    try:
        answer = RunningStack([service], loaded=service.name).await_ready(_READY_S)
    except BaseException:
        service.stop()
        raise
    if isinstance(answer, NotRunning):
        service.stop()
        return answer
    return service


def _end(services: list[MadeService], place: Place) -> None:
    try:
        for each in reversed(services):
            each.stop()
    finally:
        remove_place(place)
