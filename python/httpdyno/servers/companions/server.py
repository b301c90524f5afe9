"""A study's server with its companions, as experiments see a server.

Each is what its own adapter makes of it, in a place of its own beside that of the server. Those
behind are begun first, and waited for, because a server may connect to its database as it begins;
then the server, then those in front of it: so that whoever sends requests on knows where to. All of
them are the server that is measured, whichever is loaded: what moves from one to another is saved
by none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from httpdyno.model import Companion, Configuration, KnobInfo, Peer, ServerSpec, level_text
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running, ServerAdapter
from httpdyno.servers.companions.names import (
    SEPARATOR,
    SERVER,
    known_knobs,
    loaded_name,
    own_values,
    shaping_knobs,
    those_there,
)
from httpdyno.servers.companions.running import Part, Together
from httpdyno.servers.render import peer_placeholder
from httpdyno.servers.run.folder import made, remove_place

_READY_S = 20.0
"""As long as any server may take to come up."""


class WithCompanions:
    """A `ServerAdapter` of several."""

    def __init__(self, adapter: ServerAdapter, others: Mapping[str, ServerAdapter]) -> None:
        """Take the adapter of the server, and those of its companions by their names."""
        self._adapter = adapter
        self._others = others

    @property
    def name(self) -> str:
        """As in study files."""
        return self._adapter.name

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set in all of them; companions' begin with their names."""
        return known_knobs(
            self._adapter.knobs(), {name: each.knobs() for name, each in self._others.items()}
        )

    def settings(self) -> Mapping[str, str]:
        """Return what the server reads of its settings."""
        return self._adapter.settings()

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return what is not installed for any of them."""
        of_all = [self._adapter.missing(spec)]
        of_all += [self._others[each.name].missing(each) for each in spec.companions]
        return tuple(dict.fromkeys(what for found in of_all for what in found))

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        """Return in words what is known to be wrong with one of them."""
        for name, adapter, own, values in self._parts(spec, configuration):
            if words := adapter.complaint(own, study_folder, values):
                return words if name == SERVER else f"companion {name}: {words}"
        return ""

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return the version lines of all of them, the server's first."""
        lines = [self._adapter.version(spec, study_folder)]
        if spec is not None:
            lines += [
                f"{each.name}: {self._others[each.name].version(each, study_folder)}"
                for each in spec.companions
            ]
        return ", ".join(lines)

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files of all that are there, a companion's below its name."""
        files: dict[str, str] = {"which server is loaded": ""}
        environment: dict[str, str] = {}
        prepare: tuple[str, ...] = ()
        for name, adapter, own, values in self._parts(spec, configuration):
            rendered = adapter.render(own, study_folder, values)
            before = "" if name == SERVER else f"{name}/"
            files |= {f"{before}{file}": text for file, text in rendered.files.items()}
            environment |= {
                f"{before}{variable}": text for variable, text in rendered.environment.items()
            }
            prepare += rendered.prepare
        files["which server is loaded"] = f"{loaded_name(spec, configuration.values)}\n"
        return Rendered(files=files, environment=environment, prepare=prepare)

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Begin all that are there, back to front; waits for those behind the server only."""
        loaded = loaded_name(spec, configuration.values)
        behind = {each.name for each in spec.companions if each.side == "behind"}
        parts: list[Part] = []
        peers: dict[str, Peer] = {}
        try:
            for name, adapter, own, values in self._parts(spec, configuration):
                home = _home(place, name)
                running = _begun(
                    adapter.spawn(
                        structs.replace(own, peers=dict(peers)), study_folder, values, home
                    ),
                    is_awaited=name in behind,
                )
                if isinstance(running, NotRunning):
                    _end(parts, place)
                    words = running.detail if name == SERVER else f"{name}: {running.detail}"
                    return NotRunning(status=running.status, detail=words)
                parts.append(Part(name=name, running=running))
                peers[name] = Peer(
                    address=running.addresses[0],
                    run=str(home.folder),
                    memory=str(home.memory_folder),
                )
        except BaseException:
            _end(parts, place)
            raise
        shape = {name: level_text(configuration.values[name]) for name in shaping_knobs(spec)}
        passing = self._passing(spec, study_folder, configuration, loaded)
        return Together(parts, loaded=loaded, shape=shape, passing=passing)

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
            name: _read_by(adapter.render(own, study_folder, values))
            for name, adapter, own, values in self._parts(spec, configuration)
            if name in front
        }
        passing, asked = set[str](), [loaded]
        while asked:
            text = texts[asked.pop()]
            named = {name for name in front - passing - {loaded} if _is_named(name, text)}
            passing |= named
            asked += named
        return frozenset(passing)

    def _parts(
        self, spec: ServerSpec, configuration: Configuration
    ) -> Iterator[tuple[str, ServerAdapter, ServerSpec, Configuration]]:
        """Yield name, adapter, target and configuration of each that is there, back to front."""
        there = those_there(spec, configuration.values)
        taken = frozenset(self._adapter.knobs())
        shape = shaping_knobs(spec)
        peers: dict[str, Peer] = {}

        def part(
            name: str, adapter: ServerAdapter, own: ServerSpec
        ) -> tuple[str, ServerAdapter, ServerSpec, Configuration]:
            whose = "" if name == SERVER else name
            values = own_values(configuration, whose, taken)
            # Plain knobs are the server's to tell of: a companion has its own.
            told = tuple(values.values) if whose else shape
            untold = tuple(n for n in told if f"{whose}{SEPARATOR}{n}" not in configuration.values)
            known = structs.replace(own, companions=(), loaded="", shape=untold, peers=dict(peers))
            peers[name] = peer_placeholder(name)
            return name, adapter, known, values

        for each in _on(there, "behind"):
            yield part(each.name, self._others[each.name], each)
        yield part(SERVER, self._adapter, spec)
        for each in _on(there, "front"):
            yield part(each.name, self._others[each.name], each)


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


def _begun(spawned: Running | NotRunning, *, is_awaited: bool) -> Running | NotRunning:
    """Return a server that was spawned; one that is waited for once it is ready, or why not."""
    if isinstance(spawned, NotRunning) or not is_awaited:
        return spawned
    try:
        answer = spawned.await_ready(_READY_S)
    except BaseException:
        spawned.stop()
        raise
    if isinstance(answer, NotRunning):
        spawned.stop()
        return answer
    return spawned


def _end(parts: list[Part], place: Place) -> None:
    try:
        for part in reversed(parts):
            part.running.stop()
    finally:
        remove_place(place)
