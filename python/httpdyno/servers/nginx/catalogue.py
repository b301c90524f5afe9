"""All knobs of nginx by name; with them those of access logs and of idle backends.

The access logs: where each is written, in which format, and the knob of their buffers.

The buffer belongs to the file: nginx refuses one file with two (`already defined with conflicting
parameters`), so the knob is one for all logs. A log whose name has variables cannot be buffered,
and one that is compressed always is.

The knob of idle connections to backends: `keepalive` of an upstream, and what it needs.

`keepalive N` alone does nothing for HTTP before nginx 1.29.7: requests go out as HTTP/1.0 with
`Connection: close`. So one step sets `proxy_http_version 1.1` and an empty `Connection` where the
upstream is used, or `fastcgi_keep_conn on`. An inner `proxy_set_header` replaces all outer ones:
the new one goes beside those in force.

An address that is passed to straight gets an upstream of its own, which changes what `$proxy_host`
is. So the `Host` that was sent by default is spelled out, and the `Location` that was rewritten.

All knobs of nginx by name, as they are found in a survey and as they are asked for.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, KnobInfo, Level, LogPlace, Reading, Survey
from httpdyno.reason import Reason, because
from httpdyno.servers.nginx.conf import Conf, Scope, changed, line, put, removed, written
from httpdyno.servers.nginx.endpoint import (
    Pool,
    default_port,
    name_for,
    pools,
    target_of,
    with_port,
)
from httpdyno.servers.nginx.knob import (
    BUNDLES,
    ROWS,
    SETTINGS,
    SOCKET_OPTIONS,
    Change,
    Tunable,
    shared,
)
from httpdyno.servers.nginx.text import Directive, level_of

_LOG_KNOB = "access_log_buffer"
_LEVEL = re.compile(r"(\d+[kKmM]?)/(\d+(?:ms|[smhd])?)")
_OPTIONS = ("buffer=", "flush=", "gzip", "if=")
_NO_FLUSH = "0"


def logs(conf: Conf) -> tuple[LogPlace, ...]:
    """Return the access logs that are files, each once for each scope that names it."""
    formats = _formats(conf)
    found = [
        LogPlace(
            path=conf.build.full(directive.texts[0]),
            log_format=formats.get(_format(directive), _format(directive)),
            scope=scope.label,
            origin=directive.origin,
        )
        for scope, directive in log_directives(conf)
    ]
    if found or conf.http is None or any(scope.own("access_log") for scope in conf.scopes):
        return tuple(found)
    return (LogPlace(path=conf.build.path("--http-log-path")),)


def log_directives(conf: Conf) -> Iterator[tuple[Scope, Directive]]:
    """Yield the `access_log`s of HTTP that write files, with the scope that each stands in."""
    for scope in conf.of_kind("http", "server", "location", "if"):
        for directive in scope.own("access_log"):
            if directive.args and _is_file(directive.texts[0]):
                yield scope, directive


def _is_file(text: str) -> bool:
    return text != "off" and not text.startswith(("syslog:", "memory:", "/dev/"))


def _formats(conf: Conf) -> dict[str, str]:
    """Return format name → text; what comes before it, such as `escape=json`, stays in front."""
    if conf.http is None:
        return {}
    found = {}
    for directive in conf.http.own("log_format"):
        name, *words = directive.texts
        escape = [word for word in words[:1] if word.startswith("escape=")]
        found[name] = " ".join([*escape, "".join(words[len(escape) :])])
    return found


def _format(directive: Directive) -> str:
    words = directive.texts[1:2]
    return words[0] if words and not words[0].startswith(_OPTIONS) else "combined"


@dataclass(frozen=True, kw_only=True, slots=True)
class LogBuffer:
    """The knob of the buffers of all access logs."""

    info: KnobInfo

    def readings(self, conf: Conf) -> Iterator[Reading]:
        """Return what is in force for the first log; nothing where no log can be buffered."""
        found = list(_bufferable(conf))
        if found:
            yield Reading(name=_LOG_KNOB, scope="", text=_level(found[0]), origin=found[0].origin)
        elif conf.http is not None and not _is_logging_set(conf):
            yield Reading(name=_LOG_KNOB, scope="", text="none")

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return the edits of every log."""
        if scope:
            raise AdapterError(f"`{_LOG_KNOB}` is one for all logs, so it has no scope")
        match = _LEVEL.fullmatch(str(level))
        if match is None and level != "none":
            raise AdapterError(f"`{_LOG_KNOB}` is `none`, or size and time such as `32k/1s`")
        buffer = () if match is None else (f"buffer={match[1]}", f"flush={match[2]}")
        found = list(_bufferable(conf))
        if not found:
            return self._first(conf, buffer)
        if _level(found[0]) == level:
            return Change()
        edits: list[Edit] = []
        for directive in found:
            if _level(directive) != level:
                edits += _buffered(directive, buffer)
        done = tuple(dict.fromkeys(edits))
        return Change(edits=done, notes=shared(conf, done, _LOG_KNOB))

    def _first(self, conf: Conf, buffer: tuple[str, ...]) -> Change:
        """Return a first `access_log`, which says what is compiled in, and its buffer."""
        http = conf.http
        if http is None or _is_logging_set(conf):
            raise AdapterError(f"`{_LOG_KNOB}` cannot be set: no log can be buffered")
        if not buffer:
            return Change()
        path = conf.build.path("--http-log-path")
        text = f"access_log {path} combined {' '.join(buffer)};"
        return Change(edits=(line(conf.texts, http, text),))


def _bufferable(conf: Conf) -> Iterator[Directive]:
    for _, directive in log_directives(conf):
        has_gzip = any(word == "gzip" or word.startswith("gzip=") for word in directive.texts)
        if "$" not in directive.texts[0] and not has_gzip:
            yield directive


def _is_logging_set(conf: Conf) -> bool:
    return any(scope.own("access_log") for scope in conf.scopes)


def _level(directive: Directive) -> str:
    given = dict(word.partition("=")[::2] for word in directive.texts[1:] if "=" in word)
    if "buffer" not in given:
        return "none"
    return f"{given['buffer']}/{given.get('flush', _NO_FLUSH)}"


def _buffered(directive: Directive, buffer: tuple[str, ...]) -> tuple[Edit, ...]:
    path, *words = directive.texts
    kept = [word for word in words if not word.startswith(("buffer=", "flush="))]
    wanted = {word.partition("=")[0]: word for word in buffer}
    in_place = [wanted.get(word.partition("=")[0], word) for word in words]
    if {word.partition("=")[0] for word in words} >= set(wanted) and wanted:
        return changed(directive, (path, *in_place))
    if not kept or kept[0].startswith(_OPTIONS):
        # A buffer is only taken behind the name of a format.
        kept = ["combined", *kept] if buffer else kept
    if_at = next((i for i, word in enumerate(kept) if word.startswith("if=")), len(kept))
    return changed(directive, (path, *kept[:if_at], *buffer, *kept[if_at:]))


LOG_BUFFER = LogBuffer(
    info=ROWS[_LOG_KNOB].bare(),
)


_KNOB = "upstream_keepalive"
_HEADER = "proxy_set_header"
_VERSION = "proxy_http_version"
_KEEPS_BY_ITSELF = (1, 29, 7)
"""From here on an upstream keeps 32 idle connections and speaks HTTP/1.1 when nothing is set."""
_DEFAULT_THEN = "32"
IDLE = "upstream_keepalive_timeout"
"""What the time is called for which an idle connection to a backend is kept."""
_IDLE = "keepalive_timeout"
_ENDS_IDLE_ONES, _DEFAULT_IDLE = (1, 15, 3), "60s"
"""From here on an upstream closes idle connections, by default after so long."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UpstreamKeepalive:
    """The knob; its scope is an upstream or an address, or nothing where there is only one."""

    info: KnobInfo

    def readings(self, conf: Conf) -> Iterator[Reading]:
        """Return what is in force for each that something is passed to and that can be kept."""
        found = pools(conf)
        for label, pool in found.items():
            own = pool.upstream.own("keepalive") if pool.upstream else ()
            if own or not _obstacle(pool):
                yield Reading(
                    name=_KNOB,
                    scope="" if len(found) == 1 else label,
                    text=_text(conf, pool),
                    origin=own[-1].origin if own else None,
                )

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return the edits of the upstream, and of where it is used."""
        found = pools(conf)
        pool = found.get(scope) if scope else next(iter(found.values()), None)
        if pool is None or (not scope and len(found) != 1):
            known = ", ".join(f"`{_KNOB}@{name}`" for name in found)
            raise AdapterError(f"`{_KNOB}` is of one upstream: {known or 'there is none'}")
        if _text(conf, pool) == str(level):
            return Change()
        if level != 0 and (sends := _obstacle(pool)):
            raise AdapterError(
                f"`{_KNOB}` needs an empty `Connection` header: `{sends.label}` sends "
                f"`{sends.connection}`",
                hint="Give WebSockets a location of their own, or empty it when none is upgraded.",
            )
        edits = _kept(conf, pool, level)
        notes: list[Reason] = []
        for user, directive in pool.users if level != 0 else ():
            more, why = _reused(conf, user, directive)
            edits += more
            notes += why
            if pool.upstream is None:
                more, why = _through_an_upstream(conf, user, directive)
                edits += more
                notes += why
        done = tuple(dict.fromkeys(edits))
        return Change(edits=done, notes=(*dict.fromkeys(notes), *shared(conf, done, _KNOB)))


def _text(conf: Conf, pool: Pool) -> str:
    own = pool.upstream.own("keepalive") if pool.upstream else ()
    if own and own[-1].args:
        return own[-1].texts[0]
    is_kept = conf.build.version >= _KEEPS_BY_ITSELF and pool.upstream is not None
    return _DEFAULT_THEN if is_kept else "0"


def _kept(conf: Conf, pool: Pool, level: Level) -> list[Edit]:
    """Return the edits that say how many are kept."""
    if pool.upstream is None:
        if conf.http is None:
            return []
        text = f"upstream {name_for(pool.label)} {{ server {pool.label}; keepalive {level}; }}"
        return [line(conf.texts, conf.http, text)]
    own = pool.upstream.own("keepalive")
    if not own:
        return [line(conf.texts, pool.upstream, f"keepalive {level};")]
    if level == 0 and conf.build.version < _KEEPS_BY_ITSELF:
        return [removed(conf.texts, own[-1])]
    return list(changed(own[-1], (str(level),)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Obstacle:
    """A location that keeps connections from being used again."""

    label: str
    connection: str
    """The header that it sends."""


def _obstacle(pool: Pool) -> _Obstacle | None:
    """Return what keeps connections from being used again; None when nothing does."""
    for user, directive in pool.users:
        if directive.name == "proxy_pass":
            connection = _header(user, "connection")
            if connection is not None and connection.texts[1:] != ("",):
                return _Obstacle(label=user.label, connection=" ".join(connection.texts[1:]))
    return None


def _reused(conf: Conf, user: Scope, passes: Directive) -> tuple[list[Edit], list[Reason]]:
    """Return what lets the connections of a location be used again."""
    if passes.name == "fastcgi_pass":
        if user.arguments("fastcgi_keep_conn") == ("on",):
            return [], []
        edits = put(conf.texts, user, "fastcgi_keep_conn", ("on",))
        return list(edits), [because("nginx.lets_reuse", what="fastcgi_keep_conn on")]
    if passes.name != "proxy_pass" or conf.build.version >= _KEEPS_BY_ITSELF:
        return [], []
    found: list[Edit] = []
    notes: list[Reason] = []
    if user.arguments(_VERSION) != ("1.1",):
        found += put(conf.texts, user, _VERSION, ("1.1",))
        notes.append(because("nginx.lets_reuse", what="proxy_http_version 1.1"))
    if _header(user, "connection") is None:
        found.append(line(conf.texts, _place_of_headers(user), f'{_HEADER} Connection "";'))
        notes.append(because("nginx.lets_reuse", what='proxy_set_header Connection ""'))
    return found, notes


def _through_an_upstream(
    conf: Conf, user: Scope, passes: Directive
) -> tuple[list[Edit], list[Reason]]:
    """Return what passes to the upstream that is made for an address, to the same effect."""
    to = target_of(passes.texts[0])
    name = name_for(to.host)
    scheme = f"{to.scheme}://" if to.scheme else ""
    found = list(changed(passes, (f"{scheme}{name}{to.uri}", *passes.texts[1:])))
    notes = [because("nginx.keeps_upstream", name=name, host=to.host)]
    if passes.name != "proxy_pass":
        return found, notes
    host = _header(user, "host")
    if host is None:
        # What nginx sends by default: https://nginx.org/r/proxy_set_header, `$proxy_host`.
        sent = "localhost" if to.host.startswith("unix:") else to.host.removesuffix(":80")
        found.append(line(conf.texts, _place_of_headers(user), f"{_HEADER} Host {sent};"))
        notes.append(because("nginx.sent_before", host=sent))
    elif "$proxy_host" in " ".join(host.texts):
        raise AdapterError(f"`{_KNOB}` would change `$proxy_host`, which `{user.label}` sends")
    redirect = user.in_force("proxy_redirect")
    if host is None and not redirect and not to.host.startswith("unix:"):
        old, new = _redirected(user, passes)
        found.append(line(conf.texts, user, f"proxy_redirect {written(old)} {written(new)};"))
        notes.append(because("nginx.redirects_as_before", host=to.host))
    return found, notes


def _redirected(user: Scope, passes: Directive) -> tuple[str, str]:
    """Return what `proxy_redirect default` stands for: the URL, and the location."""
    url = passes.texts[0]
    if target_of(url).uri and user.node is not None:
        return url, user.node.texts[-1]
    return f"{url}/", "/"


def _header(user: Scope, name: str) -> Directive | None:
    """Return what sets a header of requests to the backend there."""
    found = [d for d in user.in_force(_HEADER) if d.texts[:1] and d.texts[0].lower() == name]
    return found[-1] if found else None


def _place_of_headers(user: Scope) -> Scope:
    """Return the scope whose headers are in force, so that a new one does not replace them."""
    scope: Scope | None = user
    while scope is not None:
        if scope.own(_HEADER):
            return scope
        scope = scope.parent
    return user


def idle_readings(conf: Conf) -> Iterator[Reading]:
    """Yield how long an idle connection is kept, by the address of a backend of HTTP.

    Where none is kept nothing is told.

    Source: nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive_timeout.
    """
    for pool in pools(conf).values():
        if pool.upstream is None or _text(conf, pool) == "0" or not _is_kept(conf, pool):
            continue
        own = [each for each in pool.upstream.own(_IDLE) if each.args]
        if not own and conf.build.version < _ENDS_IDLE_ONES:
            continue
        for server in pool.upstream.own("server"):
            if server.args:
                yield Reading(
                    name=IDLE,
                    scope=with_port(server.texts[0], default_port("http")),
                    text=own[-1].texts[0] if own else _DEFAULT_IDLE,
                    origin=own[-1].origin if own else None,
                )


def _is_kept(conf: Conf, pool: Pool) -> bool:
    """Whether some location lets its connections of HTTP be used again."""
    for user, directive in pool.users:
        if directive.name == "proxy_pass" and not _reused(conf, user, directive)[0]:
            connection = _header(user, "connection")
            if connection is None or connection.texts[1:] == ("",):
                return True
    return False


UPSTREAM_KEEPALIVE = UpstreamKeepalive(
    info=ROWS[_KNOB].bare(),
)


_ALL: tuple[Tunable, ...] = (
    *SETTINGS,
    *BUNDLES,
    *SOCKET_OPTIONS,
    LOG_BUFFER,
    UPSTREAM_KEEPALIVE,
)
TUNABLES: Mapping[str, Tunable] = {each.info.name: each for each in _ALL}


def readings(conf: Conf) -> Iterator[Reading]:
    """Yield what is in force of each knob, for the whole first."""
    for each in TUNABLES.values():
        yield from each.readings(conf)


def knobs(survey: Survey) -> dict[str, KnobInfo]:
    """Return what can be set, `NAME` or `NAME@SCOPE`, with what was found as the default.

    A value that is not of the knob's kind, such as half a second, makes it no knob. Nor is an
    address that is set as the first one is: the knob without a scope is of all those.
    """
    sockets = {(each.info.name, _whole(survey, each.info.name)) for each in SOCKET_OPTIONS}
    found: dict[str, KnobInfo] = {}
    for reading in survey.readings:
        each = TUNABLES.get(reading.name)
        if each is None or (reading.scope and (reading.name, reading.text) in sockets):
            continue
        level = level_of(each.info, reading.text)
        name = f"{reading.name}@{reading.scope}" if reading.scope else reading.name
        if level is not None and each.info.takes(level):
            found[name] = replace(each.info, name=name, default=level)
    return found


def _whole(survey: Survey, name: str) -> str:
    reading = survey.reading(name)
    return "" if reading is None else reading.text


def asked(name: str, level: Level) -> tuple[Tunable, str]:
    """Return the knob of a name, and its scope.

    Raises:
        AdapterError: There is none of that name, or the level is none of it.
    """
    bare, _, scope = name.partition("@")
    each = TUNABLES.get(bare)
    if each is None:
        raise AdapterError(f"nginx has no knob `{bare}`", hint=f"It has {', '.join(TUNABLES)}.")
    try:
        each.info.check(level)
    except ValueError as error:
        raise AdapterError(f"`{name}` cannot be `{level}`: expected {error}") from error
    return each, scope
