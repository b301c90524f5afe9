"""The knob of idle connections to backends: `keepalive` of an upstream, and what it needs.

`keepalive N` alone does nothing for HTTP before nginx 1.29.7: requests go out as HTTP/1.0 with
`Connection: close`. So one step sets `proxy_http_version 1.1` and an empty `Connection` where the
upstream is used, or `fastcgi_keep_conn on`. An inner `proxy_set_header` replaces all outer ones:
the new one goes beside those in force.

An address that is passed to straight gets an upstream of its own, which changes what `$proxy_host`
is. So the `Host` that was sent by default is spelled out, and the `Location` that was rewritten.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, KnobInfo, Level, Reading
from httpdyno.servers.nginx.backend import default_port, with_port
from httpdyno.servers.nginx.place import changed, line, put, removed, written
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tree import Directive
from httpdyno.servers.nginx.tunable import ROWS, Change, shared
from httpdyno.servers.nginx.upstream import Pool, name_for, pools, target_of

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
            known = ", ".join(f"`{_KNOB}@{name}`" for name in found) or "there is none"
            raise AdapterError(f"`{_KNOB}` is of one upstream: {known}")
        if _text(conf, pool) == str(level):
            return Change()
        if level != 0 and (obstacle := _obstacle(pool)):
            raise AdapterError(
                f"`{_KNOB}` needs an empty `Connection` header: {obstacle}",
                hint="Give WebSockets a location of their own, or empty it when none is upgraded.",
            )
        edits = _kept(conf, pool, level)
        notes: list[str] = []
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


def _obstacle(pool: Pool) -> str:
    """Return in words what keeps connections from being used again; empty when nothing does."""
    for user, directive in pool.users:
        if directive.name == "proxy_pass":
            connection = _header(user, "connection")
            if connection is not None and connection.texts[1:] != ("",):
                return f"`{user.label}` sends `{' '.join(connection.texts[1:])}`"
    return ""


def _reused(conf: Conf, user: Scope, passes: Directive) -> tuple[list[Edit], list[str]]:
    """Return what lets the connections of a location be used again."""
    if passes.name == "fastcgi_pass":
        if user.arguments("fastcgi_keep_conn") == ("on",):
            return [], []
        edits = put(conf.texts, user, "fastcgi_keep_conn", ("on",))
        return list(edits), ["`fastcgi_keep_conn on` lets connections be used again"]
    if passes.name != "proxy_pass" or conf.build.version >= _KEEPS_BY_ITSELF:
        return [], []
    found: list[Edit] = []
    notes: list[str] = []
    if user.arguments(_VERSION) != ("1.1",):
        found += put(conf.texts, user, _VERSION, ("1.1",))
        notes.append("`proxy_http_version 1.1` lets connections be used again")
    if _header(user, "connection") is None:
        found.append(line(conf.texts, _place_of_headers(user), f'{_HEADER} Connection "";'))
        notes.append('`proxy_set_header Connection ""` lets connections be used again')
    return found, notes


def _through_an_upstream(
    conf: Conf, user: Scope, passes: Directive
) -> tuple[list[Edit], list[str]]:
    """Return what passes to the upstream that is made for an address, to the same effect."""
    to = target_of(passes.texts[0])
    name = name_for(to.host)
    scheme = f"{to.scheme}://" if to.scheme else ""
    found = list(changed(passes, (f"{scheme}{name}{to.uri}", *passes.texts[1:])))
    notes = [f"`upstream {name}` is where connections to `{to.host}` can be kept"]
    if passes.name != "proxy_pass":
        return found, notes
    host = _header(user, "host")
    if host is None:
        # What nginx sends by default: https://nginx.org/r/proxy_set_header, `$proxy_host`.
        sent = "localhost" if to.host.startswith("unix:") else to.host.removesuffix(":80")
        found.append(line(conf.texts, _place_of_headers(user), f"{_HEADER} Host {sent};"))
        notes.append(f"`Host {sent}` is what the backend got before")
    elif "$proxy_host" in " ".join(host.texts):
        raise AdapterError(f"`{_KNOB}` would change `$proxy_host`, which `{user.label}` sends")
    redirect = user.in_force("proxy_redirect")
    if host is None and not redirect and not to.host.startswith("unix:"):
        old, new = _redirected(user, passes)
        found.append(line(conf.texts, user, f"proxy_redirect {written(old)} {written(new)};"))
        notes.append(f"`proxy_redirect` says what was the default for `{to.host}`")
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
