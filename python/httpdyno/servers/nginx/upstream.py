"""Who passes requests to whom: upstreams, and addresses that are passed to straight. Pure."""

import re
from dataclasses import dataclass

from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tree import Directive

PASSES = ("proxy_pass", "fastcgi_pass", "grpc_pass", "uwsgi_pass", "scgi_pass")
_KEPT_STRAIGHT = frozenset({("proxy_pass", "http"), ("fastcgi_pass", "")})
"""What may be given an upstream of its own. Over TLS the name in the address is asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a `…_pass` names."""

    scheme: str
    """`http`, `https`, `grpc` …; empty where it has none."""
    host: str
    """An upstream, a host with its port if it has one, or `unix:/path`."""
    uri: str
    """What follows; empty where nothing does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pool:
    """What connections may be kept to."""

    label: str
    """The upstream's name, or the address."""
    upstream: Scope | None
    """None where it is passed to straight."""
    users: tuple[tuple[Scope, Directive], ...]
    """The scopes that pass to it, each with its `…_pass`."""


def target_of(text: str) -> Target:
    """Return what the argument of a `…_pass` names."""
    scheme, found, rest = text.partition("://")
    if not found or "/" in scheme or text.startswith("unix:"):  # of a path, or within a query
        scheme, rest = "", text
    if rest.startswith("unix:"):
        path, _, uri = rest.removeprefix("unix:").partition(":")
        return Target(scheme=scheme, host=f"unix:{path}", uri=uri)
    host, slash, uri = rest.partition("/")
    return Target(scheme=scheme, host=host, uri=slash + uri)


def pools(conf: Conf) -> dict[str, Pool]:
    """Return what connections may be kept to, by label, in the order of its first use."""
    upstreams = {
        each.node.texts[0]: each
        for each in conf.of_kind("upstream")
        if each.node is not None and each.node.args
    }
    users: dict[str, list[tuple[Scope, Directive]]] = {}
    for scope in conf.of_kind("location", "if"):
        for name in PASSES:
            for directive in scope.own(name):
                to = target_of(directive.texts[0]) if directive.args else None
                is_straight = to is not None and _is_straight(scope, directive, to)
                if to is not None and (to.host in upstreams or is_straight):
                    users.setdefault(to.host, []).append((scope, directive))
    found = {}
    for host, all_of in users.items():
        upstream = upstreams.get(host)
        label = host if upstream is None else _label(host, upstream)
        found[label] = Pool(label=label, upstream=upstream, users=tuple(all_of))
    return found


def name_for(address: str) -> str:
    """Return the name of the upstream that is made for an address."""
    return f"keepalive_{re.sub(r'[^0-9A-Za-z]+', '_', address).strip('_')}"


def _is_straight(scope: Scope, directive: Directive, to: Target) -> bool:
    is_kept = (directive.name, to.scheme) in _KEPT_STRAIGHT
    return is_kept and scope.kind == "location" and bool(to.host) and "$" not in directive.texts[0]


def _label(name: str, upstream: Scope) -> str:
    """Return the address where the upstream is the one that was made for it, else its name."""
    servers = [directive.texts[0] for directive in upstream.own("server") if directive.args]
    return servers[0] if len(servers) == 1 and name == name_for(servers[0]) else name
