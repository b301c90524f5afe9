"""What nginx connects to: `…_pass`, straight or through an upstream."""

from collections.abc import Iterator

from httpdyno.model import Backend, Notice
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.upstream import target_of

_PROTOCOLS = {
    "proxy_pass": "http",
    "fastcgi_pass": "fastcgi",
    "uwsgi_pass": "uwsgi",
    "scgi_pass": "scgi",
    "grpc_pass": "grpc",
}
_PORTS = {"https": "443", "grpcs": "443"}
_HTTP_PORT = "80"


def backends(conf: Conf) -> tuple[tuple[Backend, ...], tuple[Notice, ...]]:
    """Return what is connected to, each once, and what cannot be told from the files."""
    upstreams = {
        scope.node.texts[0]: scope
        for scope in conf.of_kind("upstream")
        if scope.node is not None and scope.node.args
    }
    found: dict[tuple[str, str], Backend] = {}
    notices: list[Notice] = []
    for scope in conf.of_kind("location", "if", "limit_except"):
        for name, protocol in _PROTOCOLS.items():
            for directive in scope.own(name):
                to_what = target_of(directive.texts[0] if directive.args else "")
                host, scheme = to_what.host, to_what.scheme
                port = default_port(scheme)
                if host in upstreams:
                    for to in _servers(upstreams[host], protocol, port):
                        found.setdefault((to.to, protocol), to)
                elif "$" in host:
                    words = f"`{name} {directive.texts[0]}` is decided at run time"
                    notices.append(Notice(words=words, origin=directive.origin))
                elif host:
                    to = Backend(
                        to=with_port(host, port), protocol=protocol, origin=directive.origin
                    )
                    found.setdefault((to.to, protocol), to)
    return tuple(found.values()), tuple(notices)


def default_port(scheme: str) -> str:
    """Return the port of an address that names none."""
    return _PORTS.get(scheme, _HTTP_PORT)


def with_port(host: str, port: str) -> str:
    """Return an address with its port; of a unix socket the path."""
    has_port = ":" in host.rpartition("]")[2]
    return host if host.startswith("unix:") or has_port else f"{host}:{port}"


def _servers(upstream: Scope, protocol: str, port: str) -> Iterator[Backend]:
    for directive in upstream.own("server"):
        if directive.args and "down" not in directive.texts[1:]:
            # In an upstream the port is 80, whatever the scheme of those who use it.
            to = with_port(directive.texts[0], _HTTP_PORT if port else port)
            name = upstream.node.texts[0] if upstream.node else ""
            yield Backend(to=to, protocol=protocol, group=name, origin=directive.origin)
