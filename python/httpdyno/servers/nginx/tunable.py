"""What every knob of nginx can do: be read, and be written."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, KnobInfo, Level, Reading
from httpdyno.model.rows import rows
from httpdyno.servers.nginx.place import put
from httpdyno.servers.nginx.quantity import level_of, text_of
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tree import walk


class Row(KnobInfo, frozen=True):
    """A row of `settings.toml`: a knob, and how it is a directive where it is just one."""

    compiled: str = ""
    """Its text where nothing sets it; empty where the knob is more than the one directive."""
    context: Literal["main", "events", "http"] = "http"
    in_locations: bool = True


ROWS = {
    name: replace(row, source=f"nginx.org/en/docs/{row.source}")
    for name, row in rows("httpdyno.servers.nginx", "settings.toml", Row).items()
}

Arguments = Mapping[str, tuple[str, ...] | None]
"""Directive → its arguments in force; None where nothing sets it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What puts one value in force."""

    edits: tuple[Edit, ...] = ()
    notes: tuple[str, ...] = ()
    sysctls: Mapping[str, str] | None = None


class Tunable(Protocol):
    """One knob."""

    @property
    def info(self) -> KnobInfo:
        """What it is; its default is the one that is compiled in."""

    def readings(self, conf: Conf) -> Iterable[Reading]:
        """Return what is in force, first for the whole; nothing where it cannot be set."""

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return what puts the level in force in that scope.

        Raises:
            AdapterError: It cannot be set there; says why.
        """


def _always(_conf: Conf, _scope: Scope) -> bool:
    return True


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A knob of one directive, or of several that are set side by side in one scope."""

    info: KnobInfo
    directives: tuple[str, ...]
    """The first one says where it stands."""
    text: Callable[[Arguments], str | None]
    """From the arguments in force: the text of the value; None where it is the compiled one."""
    arguments: Callable[[str, Arguments], Mapping[str, tuple[str, ...]]]
    """From the text wanted, and what is in force: directive → arguments.

    Raises ValueError, with the reason, where it is no value.
    """
    compiled: Callable[[Conf], str] | None = None
    """The text of the value where nothing sets it; None: that of `info.default`."""
    context: str = "http"
    """`main`, `events` or `http`; in `http` it may also stand in servers and locations."""
    in_locations: bool = True
    applies: Callable[[Conf, Scope], bool] = _always
    """Whether it means anything in that scope."""

    def readings(self, conf: Conf) -> Iterable[Reading]:
        """Return what is in force for the whole and in each scope that sets it."""
        whole = self._whole(conf)
        if whole is None:
            return
        origins = set()
        # Without any scope that it applies in, or where all hosts say otherwise, it does nothing.
        if not self._is_overridden(conf, whole) and any(
            self.applies(conf, each) for each in self._scopes(conf, whole)
        ):
            reading = self._reading(conf, whole, "")
            origins.add(reading.origin)
            yield reading
        for scope in self._scopes(conf, whole)[1:]:
            if scope.own(self.directives[0]) and self.applies(conf, scope):
                reading = self._reading(conf, scope, scope.label)
                if reading.origin not in origins:
                    origins.add(reading.origin)
                    yield reading

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return the smallest edits of its directives."""
        found = conf.labelled(scope) if scope else self._whole(conf)
        if found is None:
            where = f"`{scope}`" if scope else f"`{self.context}`"
            raise AdapterError(f"`{self.info.name}` cannot be set in {where}: there is none")
        if found.kind == "location" and not self.in_locations:
            raise AdapterError(f"`{self.info.name}` cannot be set in a location")
        reading = self._reading(conf, found, scope)
        if level_of(self.info, reading.text) == level:
            return Change()
        in_force = self._in_force(found)
        like = reading.text if reading.origin is not None else ""
        try:
            wanted = self.arguments(text_of(self.info, level, like), in_force)
        except ValueError as error:
            raise AdapterError(f"`{self.info.name}` cannot be `{level}`: {error}") from error
        edits: list[Edit] = []
        for name, arguments in wanted.items():
            if in_force.get(name) != arguments:
                edits += put(conf.texts, found, name, arguments)
        return Change(edits=tuple(edits), notes=shared(conf, edits, self.info.name))

    def _whole(self, conf: Conf) -> Scope | None:
        if self.context == "http":
            return conf.place(self.directives[0])
        return conf.main if self.context == "main" else conf.events

    def _scopes(self, conf: Conf, whole: Scope) -> tuple[Scope, ...]:
        kinds = ("server", "location") if self.in_locations else ("server",)
        inner = conf.of_kind(*kinds) if self.context == "http" else ()
        return (whole, *(scope for scope in inner if scope is not whole))

    def _is_overridden(self, conf: Conf, whole: Scope) -> bool:
        hosts = conf.hosts if whole.kind == "http" else ()
        return bool(hosts) and all(host.own(self.directives[0]) for host in hosts)

    def _in_force(self, scope: Scope) -> Arguments:
        return {name: scope.arguments(name) for name in self.directives}

    def _reading(self, conf: Conf, scope: Scope, label: str) -> Reading:
        set_here = scope.in_force(self.directives[0])
        text = self.text(self._in_force(scope))
        if text is None:
            text = str(self.info.default) if self.compiled is None else self.compiled(conf)
        return Reading(
            name=self.info.name,
            scope=label,
            text=text,
            origin=set_here[-1].origin if set_here else None,
        )


def shared(conf: Conf, edits: Iterable[Edit], name: str) -> tuple[str, ...]:
    """Say which of the edited files are included in several places: it changes in all."""
    n_of: Counter[tuple[str, int]] = Counter((d.file, d.start) for d in walk(conf.tree))
    n_places: dict[str, int] = {}
    for (file, _), count in n_of.items():
        n_places[file] = max(count, n_places.get(file, 0))
    files = dict.fromkeys(edit.file for edit in edits)
    return tuple(
        f"`{name}` changes in all {n_places[file]} places that include `{file}`"
        for file in files
        if n_places.get(file, 0) > 1
    )
