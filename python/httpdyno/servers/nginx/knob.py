"""What every knob of nginx can do: be read, and be written.

One kind is a directive of a scope, another sets several directives at once: one step, one verdict,
one way back. A third are options of `listen`: of a socket, which several servers may share. Only
one `listen` of an address may say anything of its socket (`duplicate listen options`), so an option
goes where such a one stands already, else to the address's first.

Source of all: nginx.org/en/docs.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, KnobInfo, Level, Reading
from httpdyno.model.rows import rows
from httpdyno.reason import Reason, because
from httpdyno.servers.nginx.conf import Conf, Scope, changed, put
from httpdyno.servers.nginx.endpoint import Listen, by_address, listens
from httpdyno.servers.nginx.text import level_of, size_bytes, size_text, text_of, walk


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
    notes: tuple[Reason, ...] = ()
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


def shared(conf: Conf, edits: Iterable[Edit], name: str) -> tuple[Reason, ...]:
    """Say which of the edited files are included in several places: it changes in all."""
    n_of: Counter[tuple[str, int]] = Counter((d.file, d.start) for d in walk(conf.tree))
    n_places: dict[str, int] = {}
    for (file, _), count in n_of.items():
        n_places[file] = max(count, n_places.get(file, 0))
    files = dict.fromkeys(edit.file for edit in edits)
    return tuple(
        because("nginx.changes_everywhere", name=name, n=n_places[file], file=file)
        for file in files
        if n_places.get(file, 0) > 1
    )


SOMAXCONN = "net.core.somaxconn"


@dataclass(frozen=True, kw_only=True, slots=True)
class SocketOption:
    """A knob of the sockets that are like the first one, or of one address, then its scope."""

    info: KnobInfo
    option: str
    """The word in `listen`; with `=` and a number where it is no switch."""

    def readings(self, conf: Conf) -> Iterator[Reading]:
        """Return what the first address has, as the value of the whole, and each of several."""
        found = [self._reading(address, _holder(all_of)) for address, all_of in self._at(conf)]
        for reading in found[:1]:
            yield Reading(name=reading.name, scope="", text=reading.text, origin=reading.origin)
        if len(found) > 1:
            yield from found

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return the edits of one `listen` for each address."""
        wanted = {scope} if scope else self.alike(conf)
        found = [_holder(all_of) for address, all_of in self._at(conf) if address in wanted]
        if not found:
            raise AdapterError(
                f"`{self.info.name}` cannot be set: nothing listens at `{scope or 'TCP'}`"
            )
        edits: list[Edit] = []
        for holder in found:
            edits += self._edits(holder, level)
        done = list(dict.fromkeys(edits))
        return Change(
            edits=tuple(done),
            notes=shared(conf, done, self.info.name),
            # As it was found the kernel may cut it, and a copy of that is cut, too.
            sysctls={SOMAXCONN: str(level)} if done and self.option == "backlog" else None,
        )

    def alike(self, conf: Conf) -> tuple[str, ...]:
        """Return the addresses that are set as the first is: those of the knob without a scope."""
        texts = {address: self._text(_holder(all_of)) for address, all_of in self._at(conf)}
        first = next(iter(texts.values()), None)
        return tuple(address for address, text in texts.items() if text == first)

    def _at(self, conf: Conf) -> Iterable[tuple[str, list[Listen]]]:
        is_switch = self.info.kind == "boolean"
        # A unix socket has no `reuseport`, and where no `listen` is written none has an option.
        return [
            (address, sharing)
            for address, sharing in by_address(conf).items()
            if not (is_switch and address.startswith("unix:"))
            and _holder(sharing).directive is not None
        ]

    def _reading(self, address: str, holder: Listen) -> Reading:
        return Reading(
            name=self.info.name,
            scope=address,
            text=self._text(holder),
            origin=holder.origin if self._is_set(holder) else None,
        )

    def _is_set(self, holder: Listen) -> bool:
        return self.option in holder.options or holder.setting(self.option) is not None

    def _text(self, holder: Listen) -> str:
        if self.info.kind == "boolean":
            return "on" if self.option in holder.options else "off"
        return holder.setting(self.option) or str(self.info.default)

    def _edits(self, holder: Listen, level: Level) -> tuple[Edit, ...]:
        if level_of(self.info, self._text(holder)) == level:
            return ()
        words = [
            text
            for text in holder.options
            if text != self.option and not text.startswith(f"{self.option}=")
        ]
        if self.info.kind != "boolean":
            words.append(f"{self.option}={text_of(self.info, level)}")
        elif level:
            words.append(self.option)
        if holder.directive is None:
            return ()
        old = holder.directive.texts
        in_place = [
            f"{self.option}={text_of(self.info, level)}" if t.startswith(f"{self.option}=") else t
            for t in old
        ]
        new = in_place if in_place != list(old) else [old[0], *words]
        return changed(holder.directive, tuple(new))


def _holder(sharing: list[Listen]) -> Listen:
    """Return the `listen` that may say something of the socket."""
    return next((each for each in sharing if each.sets_socket), sharing[0])


SOCKET_OPTIONS = (
    SocketOption(
        info=ROWS["listen_backlog"].bare(),
        option="backlog",
    ),
    SocketOption(
        info=ROWS["listen_reuseport"].bare(),
        option="reuseport",
    ),
)


def everywhere(_conf: Conf, _scope: Scope) -> bool:
    """Return True: it means something in every scope."""
    return True


def with_tls(conf: Conf, scope: Scope) -> bool:
    """Whether a server of that scope speaks TLS."""
    return any(each.is_tls and _is_within(each.server, scope) for each in listens(conf))


def with_directive(name: str) -> Callable[[Conf, Scope], bool]:
    """Return whether something in a scope, or in one inside of it, has that directive."""

    def applies(conf: Conf, scope: Scope) -> bool:
        return any(each.own(name) for each in conf.scopes if _is_within(each, scope))

    return applies


def _with_gzip(conf: Conf, scope: Scope) -> bool:
    if scope.arguments("gzip") == ("on",):
        return True
    inner = (each for each in conf.scopes if _is_within(each, scope))
    return any(directive.texts == ("on",) for each in inner for directive in each.own("gzip"))


def _with_gzip_static(conf: Conf, _scope: Scope) -> bool:
    return "--with-http_gzip_static_module" in conf.build.options


def _is_set(conf: Conf, _scope: Scope) -> bool:
    return bool(conf.main.own("worker_rlimit_nofile"))


def _is_within(scope: Scope, outer: Scope) -> bool:
    return scope is outer or (scope.parent is not None and _is_within(scope.parent, outer))


def _keepalive_requests(conf: Conf) -> str:
    return "1000" if conf.build.version >= (1, 19, 10) else "100"


_APPLIES: Mapping[str, Callable[[Conf, Scope], bool]] = {
    "gzip_comp_level": _with_gzip,
    "gzip_min_length": _with_gzip,
    "gzip_static": _with_gzip_static,
    "ssl_buffer_size": with_tls,
    "worker_rlimit_nofile": _is_set,
}
"""Setting → where it means something; the others do everywhere."""
_COMPILED: Mapping[str, Callable[[Conf], str]] = {"keepalive_requests": _keepalive_requests}
"""Setting → its text where nothing sets it, where that depends on the version."""


def _one(row: Row) -> Setting:
    """Return a setting that is the first argument of the directive of its name."""
    name = row.name

    def text(found: Arguments) -> str | None:
        arguments = found[name]
        return arguments[0] if arguments else None

    def arguments(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
        # What stands behind it, as in `keepalive_timeout 65 60`, stays.
        return {name: (wanted, *(found[name] or ())[1:])}

    return Setting(
        info=row.bare(),
        directives=(name,),
        compiled=_COMPILED.get(name, lambda _conf: row.compiled),
        text=text,
        arguments=arguments,
        context=row.context,
        in_locations=row.in_locations,
        applies=_APPLIES.get(name, everywhere),
    )


SETTINGS = tuple(_one(row) for row in ROWS.values() if row.compiled)
"""Of those for `http`, all may stand in servers, and most in locations."""


_DOCS = "nginx.org/en/docs/http/"
_BUFFERS = re.compile(r"(\d+)x(\d+[kKmM]?)")
_OPEN_FILES = re.compile(r"(\d+)/(\d+(?:ms|[smhd])?)")
_SESSIONS = re.compile(r"(\d+[kKmM]?)/(\d+[smhd]?)")
_OPEN_FILES_INACTIVE = "60s"
_SESSION_TIMEOUT = "5m"
_ZONE = "SSL"
_OFF = ("off",)
_PAGE_BYTES = 4096
_FEWEST_BUFFERS = 2


def _sendfile_text(found: Arguments) -> str | None:
    if found["sendfile"] != ("on",):
        return None if found["sendfile"] is None else "off"
    return "on+nopush" if found["tcp_nopush"] == ("on",) else "on"


def _sendfile(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted == "off":
        # Without sendfile the other one does nothing, so it stays as it is.
        return {"sendfile": _OFF}
    if wanted == "on+nopush":
        return {"sendfile": ("on",), "tcp_nopush": ("on",)}
    return {"sendfile": ("on",)} | ({} if found["tcp_nopush"] is None else {"tcp_nopush": _OFF})


def _aio_text(found: Arguments) -> str | None:
    threads, direct = found["aio"], found["directio"]
    if threads is None or threads == _OFF:
        return None if threads is None and direct is None else "off"
    is_direct = direct is not None and direct != _OFF
    return f"{threads[0]}+{direct[0]}" if is_direct and direct else threads[0]


def _aio(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted == "off":
        return {"aio": _OFF}
    if not re.fullmatch(r"threads(\+\d+[kKmM]?)?", wanted):
        raise ValueError("expected `off`, `threads` or such as `threads+4m`")
    threads, _, direct = wanted.partition("+")
    if direct:
        return {"aio": (threads,), "directio": (direct,)}
    return {"aio": (threads,)} | ({} if found["directio"] is None else {"directio": _OFF})


def _with_threads(conf: Conf, _scope: Scope) -> bool:
    return "--with-threads" in conf.build.options


def _open_files_text(found: Arguments) -> str | None:
    arguments = found["open_file_cache"]
    if arguments is None or arguments == _OFF:
        return None if arguments is None else "off"
    given = dict(word.partition("=")[::2] for word in arguments)
    return f"{given.get('max', '')}/{given.get('inactive', _OPEN_FILES_INACTIVE)}"


def _open_files(wanted: str, _found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted == "off":
        return {"open_file_cache": _OFF}
    match = _OPEN_FILES.fullmatch(wanted)
    if match is None:
        raise ValueError("expected `off`, or files and time such as `1000/20s`")
    return {"open_file_cache": (f"max={match[1]}", f"inactive={match[2]}")}


def _sessions_text(found: Arguments) -> str | None:
    cache, timeout = found["ssl_session_cache"], found["ssl_session_timeout"]
    if cache is None or cache[0] in {"none", "off"}:
        return None if cache is None else cache[0]
    shared = [word.split(":") for word in cache if word.startswith("shared:")]
    if len(cache) > 1 or not shared:
        return " ".join(cache)
    return f"{shared[0][-1]}/{timeout[0] if timeout else _SESSION_TIMEOUT}"


def _sessions(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
    if wanted in {"none", "off"}:
        return {"ssl_session_cache": (wanted,)}
    match = _SESSIONS.fullmatch(wanted)
    if match is None:
        raise ValueError("expected `none`, `off`, or size and time such as `10m/5m`")
    now = found["ssl_session_cache"] or ()
    zone = next((word.split(":")[1] for word in now if word.startswith("shared:")), _ZONE)
    cache = {"ssl_session_cache": (f"shared:{zone}:{match[1]}",)}
    timeout = found["ssl_session_timeout"]
    if (timeout[0] if timeout else _SESSION_TIMEOUT) == match[2]:
        return cache
    return {**cache, "ssl_session_timeout": (match[2],)}


def _buffers(protocol: str) -> Setting:
    """Return the buffers of answers of a backend, with the sizes that depend on them."""
    many, head, busy = (
        f"{protocol}_buffers",
        f"{protocol}_buffer_size",
        f"{protocol}_busy_buffers_size",
    )

    def text(found: Arguments) -> str | None:
        arguments = found[many]
        return None if arguments is None else "x".join(arguments)

    def arguments(wanted: str, found: Arguments) -> Mapping[str, tuple[str, ...]]:
        count, each_bytes, each = _count_and_size(wanted)
        # nginx: "must be equal to or greater than the maximum of the value of …_buffer_size and one
        # of the …_buffers", and "less than the size of all …_buffers minus one buffer".
        head_now, busy_now = found[head], found[busy]
        head_bytes = (size_bytes(head_now[0]) if head_now else None) or _PAGE_BYTES
        most_bytes = (count - 1) * each_bytes
        if count < _FEWEST_BUFFERS or head_bytes > most_bytes:
            raise ValueError(
                f"all but one have to hold `{head}`, {size_text(head_bytes)}: "
                f"they hold {size_text(most_bytes)}"
            )
        new: dict[str, tuple[str, ...]] = {many: (str(count), each)}
        least_bytes = max(head_bytes, each_bytes)
        busy_bytes = size_bytes(busy_now[0]) if busy_now else 2 * least_bytes
        if busy_bytes is not None and not least_bytes <= busy_bytes <= most_bytes:
            new[busy] = (size_text(min(2 * least_bytes, most_bytes)),)
        return new

    return Setting(
        info=ROWS[many].bare(),
        directives=(many, head, busy),
        text=text,
        arguments=arguments,
        applies=with_directive(f"{protocol}_pass"),
    )


def _output_text(found: Arguments) -> str | None:
    arguments = found["output_buffers"]
    return None if arguments is None else "x".join(arguments)


def _output(wanted: str, _found: Arguments) -> Mapping[str, tuple[str, ...]]:
    count, _, each = _count_and_size(wanted)
    return {"output_buffers": (str(count), each)}


def _count_and_size(wanted: str) -> tuple[int, int, str]:
    match = _BUFFERS.fullmatch(wanted)
    if match is None or int(match[1]) == 0 or not size_bytes(match[2]):
        raise ValueError("expected a number and a size, such as `8x16k`")
    return int(match[1]), size_bytes(match[2]) or 0, match[2]


BUNDLES = (
    Setting(
        info=ROWS["sendfile"].bare(),
        directives=("sendfile", "tcp_nopush"),
        text=_sendfile_text,
        arguments=_sendfile,
    ),
    Setting(
        info=ROWS["aio"].bare(),
        directives=("aio", "directio"),
        text=_aio_text,
        arguments=_aio,
        applies=_with_threads,
    ),
    Setting(
        info=ROWS["open_file_cache"].bare(),
        directives=("open_file_cache",),
        text=_open_files_text,
        arguments=_open_files,
    ),
    Setting(
        info=ROWS["ssl_session_cache"].bare(),
        directives=("ssl_session_cache", "ssl_session_timeout"),
        text=_sessions_text,
        arguments=_sessions,
        applies=with_tls,
        in_locations=False,
    ),
    Setting(
        info=ROWS["output_buffers"].bare(),
        directives=("output_buffers",),
        text=_output_text,
        arguments=_output,
    ),
    _buffers("proxy"),
    _buffers("fastcgi"),
)
