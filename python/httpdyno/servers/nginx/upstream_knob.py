"""The knob of idle connections to backends: `keepalive` of an upstream, and what it needs.

`keepalive N` alone does nothing for HTTP before nginx 1.29.7: requests go out as HTTP/1.0 with
`Connection: close`. So one step sets `proxy_http_version 1.1` and an empty `Connection` where the
upstream is used, or `fastcgi_keep_conn on`. An inner `proxy_set_header` replaces all outer ones:
the new one goes beside those in force.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Edit, KnobInfo, Level, Reading
from httpdyno.servers.nginx.place import changed, line, put, removed
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tunable import Change, shared

_KNOB = "upstream_keepalive"
_PASSES = ("proxy_pass", "fastcgi_pass", "grpc_pass", "uwsgi_pass", "scgi_pass")
_HEADER = "proxy_set_header"
_VERSION = "proxy_http_version"
_KEEPS_BY_ITSELF = (1, 29, 7)
"""From here on an upstream keeps 32 idle connections and speaks HTTP/1.1 when nothing is set."""
_DEFAULT_THEN = "32"


@dataclass(frozen=True, kw_only=True, slots=True)
class UpstreamKeepalive:
    """The knob; its scope is the name of an upstream, or nothing where there is only one."""

    info: KnobInfo

    def readings(self, conf: Conf) -> Iterator[Reading]:
        """Return what is in force for each upstream that something is passed to."""
        found = _used(conf)
        for name, upstream in found.items():
            own = upstream.own("keepalive")
            yield Reading(
                name=_KNOB,
                scope="" if len(found) == 1 else name,
                text=_text(conf, upstream),
                origin=own[-1].origin if own else None,
            )

    def change(self, conf: Conf, scope: str, level: Level) -> Change:
        """Return the edits of the upstream, and of where it is used."""
        found = _used(conf)
        names = [scope] if scope else list(found)
        if len(names) != 1 or names[0] not in found:
            known = ", ".join(f"`{_KNOB}@{name}`" for name in found) or "there is no upstream"
            raise AdapterError(f"`{_KNOB}` is of one upstream: {known}")
        name = names[0]
        upstream = found[name]
        if _text(conf, upstream) == str(level):
            return Change()
        edits: list[Edit] = []
        own = upstream.own("keepalive")
        if level == 0:
            edits += [removed(conf.texts, own[-1])] if own else []
        elif own:
            edits += changed(own[-1], (str(level),))
        else:
            edits.append(line(conf.texts, upstream, f"keepalive {level};"))
        notes: list[str] = []
        if level != 0:
            for user in _users(conf, name):
                more, why = _reused(conf, user)
                edits += more
                notes += why
        done = tuple(dict.fromkeys(edits))
        return Change(edits=done, notes=(*dict.fromkeys(notes), *shared(conf, done, _KNOB)))


def _used(conf: Conf) -> dict[str, Scope]:
    """Return the upstreams that HTTP or FastCGI is passed to, name → block."""
    return {
        each.node.texts[0]: each
        for each in conf.of_kind("upstream")
        if each.node is not None and each.node.args and _users(conf, each.node.texts[0])
    }


def _users(conf: Conf, upstream: str) -> list[Scope]:
    return [
        scope
        for scope in conf.of_kind("location", "if")
        for name in _PASSES
        for directive in scope.own(name)
        if directive.args and target(directive.texts[0])[0] == upstream
    ]


def target(text: str) -> tuple[str, str]:
    """Return the host or upstream that something is passed to, and its scheme; of unix the path."""
    scheme, found, rest = text.partition("://")
    if not found:
        scheme, rest = "", text
    if rest.startswith("unix:"):
        return f"unix:{rest.removeprefix('unix:').split(':')[0]}", scheme
    return rest.split("/")[0], scheme


def _text(conf: Conf, upstream: Scope) -> str:
    own = upstream.own("keepalive")
    if own and own[-1].args:
        return own[-1].texts[0]
    return _DEFAULT_THEN if conf.build.version >= _KEEPS_BY_ITSELF else "0"


def _reused(conf: Conf, user: Scope) -> tuple[list[Edit], list[str]]:
    """Return what lets the connections of a location be used again."""
    if user.own("fastcgi_pass"):
        if user.arguments("fastcgi_keep_conn") == ("on",):
            return [], []
        edits = put(conf.texts, user, "fastcgi_keep_conn", ("on",))
        return list(edits), ["`fastcgi_keep_conn on` lets connections be used again"]
    if not user.own("proxy_pass"):
        return [], []
    found: list[Edit] = []
    notes: list[str] = []
    headers = user.in_force(_HEADER)
    connection = [each for each in headers if each.texts[:1] and _is_connection(each.texts[0])]
    if connection and connection[-1].texts[1:] != ("",):
        raise AdapterError(
            f"`{_KNOB}` needs an empty `Connection` header, and `{user.label}` sends "
            f"`{' '.join(connection[-1].texts[1:])}`",
            hint="Give WebSockets a location of their own, or empty it where nothing is upgraded.",
        )
    if conf.build.version < _KEEPS_BY_ITSELF:
        version = user.arguments(_VERSION)
        if version != ("1.1",):
            found += put(conf.texts, user, _VERSION, ("1.1",))
            notes.append("`proxy_http_version 1.1` lets connections be used again")
        if not connection:
            place = _place_of_header(user)
            found.append(line(conf.texts, place, f'{_HEADER} Connection "";'))
            notes.append('`proxy_set_header Connection ""` lets connections be used again')
    return found, notes


def _is_connection(header: str) -> bool:
    return header.lower() == "connection"


def _place_of_header(user: Scope) -> Scope:
    """Return the scope whose headers are in force, so that a new one does not replace them."""
    scope: Scope | None = user
    while scope is not None:
        if scope.own(_HEADER):
            return scope
        scope = scope.parent
    return user


UPSTREAM_KEEPALIVE = UpstreamKeepalive(
    info=KnobInfo(
        name=_KNOB,
        summary="idle connections to the backends that each worker keeps; 0 is none",
        kind="integer",
        default=0,
        minimum=0,
        maximum=65_536,
        source="nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive",
        scale="log",
        cost="reload",
        risk="an idle connection occupies a process of a backend that has one for each",
    )
)
