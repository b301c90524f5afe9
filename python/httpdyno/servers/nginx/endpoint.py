"""Addresses of nginx: where it listens, whom it passes to, status pages, TLS files. Pure.

Where nginx listens: `listen` in all its spellings, and the servers that have none.

Who passes requests to whom: upstreams, and addresses that are passed to straight. Pure.

What nginx connects to: `…_pass`, straight or through an upstream.

Where a configuration has nginx say its own status: `stub_status`. Pure.

Source: nginx.org/en/docs/http/ngx_http_stub_status_module.html

Which keys belong to which certificates, and what else of TLS a configuration names. Pure.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from httpdyno.model import Backend, Listener, Notice, Origin
from httpdyno.reason import because
from httpdyno.servers.network.probe import HttpStatusPage
from httpdyno.servers.nginx.conf import Conf, Scope, is_file
from httpdyno.servers.nginx.text import Directive, flat, walk
from httpdyno.servers.stack.adapter import FileUse, KeyPair, TlsFiles
from httpdyno.servers.stack.names import reached_at

_PORTS = re.compile(r"(\d+)(?:-(\d+))?")
_SOCKET_OPTIONS = frozenset({"reuseport", "deferred", "bind"})
_SOCKET_SETTINGS = (
    *("backlog=", "rcvbuf=", "sndbuf=", "fastopen=", "setfib="),
    *("ipv6only=", "so_keepalive=", "accept_filter="),
)
_ROOT_PORT, _OTHER_PORT = 80, 8000
"""Source: nginx 1.22, ngx_http_core_server: `listen` is `*:80` for root, else `*:8000`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listen:
    """One address of one server."""

    address: str
    """`0.0.0.0:80`, `[::]:443` or `unix:/path`."""
    server: Scope
    directive: Directive | None
    """None for a server without any."""

    @property
    def options(self) -> tuple[str, ...]:
        """What stands behind the address."""
        return () if self.directive is None else self.directive.texts[1:]

    @property
    def is_datagram(self) -> bool:
        """Whether it is UDP: `udp`, or HTTP/3."""
        return bool({"udp", "quic"} & set(self.options))

    @property
    def is_tls(self) -> bool:
        """Whether it speaks TLS."""
        return "ssl" in self.options or self.server.arguments("ssl") == ("on",)

    @property
    def is_default(self) -> bool:
        """Whether its server answers for names that nobody has."""
        return bool({"default_server", "default"} & set(self.options))

    @property
    def sets_socket(self) -> bool:
        """Whether it says something of the socket, which only one of an address may."""
        return any(map(is_of_the_socket, self.options))

    def setting(self, name: str) -> str | None:
        """Return what `name=…` is set to; None where it is not."""
        found = [text.partition("=")[2] for text in self.options if text.startswith(f"{name}=")]
        return found[-1] if found else None

    @property
    def origin(self) -> Origin | None:
        """Where it is written; the server's own place where it is not."""
        node = self.directive or self.server.node
        return None if node is None else node.origin


def is_of_the_socket(word: str) -> bool:
    """Whether a word of a `listen` says something of its socket."""
    return word in _SOCKET_OPTIONS or word.startswith(_SOCKET_SETTINGS)


def listens(conf: Conf) -> tuple[Listen, ...]:
    """Return all addresses of all HTTP servers, in order."""
    return tuple(each for server in conf.servers for each in _of_server(server, conf.is_root))


def by_address(conf: Conf) -> dict[str, list[Listen]]:
    """Return each TCP or unix address, with the servers that share it."""
    found: dict[str, list[Listen]] = {}
    for listen in listens(conf):
        if not listen.is_datagram:
            found.setdefault(listen.address, []).append(listen)
    return found


def listeners(conf: Conf) -> tuple[Listener, ...]:
    """Return each address with the names that are served there, the default server's first."""
    return tuple(
        Listener(
            address=address,
            is_tls=any(each.is_tls for each in sharing),
            is_proxied=any("proxy_protocol" in each.options for each in sharing),
            names=tuple(dict.fromkeys(n for each in _default_first(sharing) for n in _names(each))),
            origin=sharing[0].origin,
        )
        for address, sharing in by_address(conf).items()
    )


def addresses(text: str) -> tuple[str, ...]:
    """Return what the first argument of a `listen` stands for; several for a range of ports."""
    if text.startswith("unix:"):
        return (text,)
    host, _, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not host and not _PORTS.fullmatch(port):
        host, port = port, ""
    host = {"": "0.0.0.0", "*": "0.0.0.0", "localhost": "127.0.0.1"}.get(host, host)  # noqa: S104 - what nginx means by it
    ports = _PORTS.fullmatch(port or "80")
    if ports is None:
        return (f"{host}:{port}",)
    first, last = int(ports[1]), int(ports[2] or ports[1])
    return tuple(f"{host}:{number}" for number in range(first, last + 1))


def _of_server(server: Scope, is_root: bool) -> Iterator[Listen]:
    directives = [each for each in server.own("listen") if each.args]
    for directive in directives:
        for address in addresses(directive.texts[0]):
            yield Listen(address=address, server=server, directive=directive)
    if not directives:
        port = _ROOT_PORT if is_root else _OTHER_PORT
        yield Listen(address=f"0.0.0.0:{port}", server=server, directive=None)


def _default_first(sharing: list[Listen]) -> list[Listen]:
    return sorted(sharing, key=lambda each: not each.is_default)


def _names(listen: Listen) -> list[str]:
    names = [name for each in listen.server.own("server_name") for name in each.texts]
    return [name for name in names if name not in {"_", ""} and not name.startswith("~")]


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


_PROTOCOLS = {
    "proxy_pass": "http",
    "fastcgi_pass": "fastcgi",
    "uwsgi_pass": "uwsgi",
    "scgi_pass": "scgi",
    "grpc_pass": "grpc",
}
_BACKEND_PORTS = {"https": "443", "grpcs": "443"}
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
                    why = because("nginx.decided_late", directive=f"{name} {directive.texts[0]}")
                    notices.append(Notice(why=why, origin=directive.origin))
                elif host:
                    to = Backend(
                        to=with_port(host, port), protocol=protocol, origin=directive.origin
                    )
                    found.setdefault((to.to, protocol), to)
    return tuple(found.values()), tuple(notices)


def default_port(scheme: str) -> str:
    """Return the port of an address that names none."""
    return _BACKEND_PORTS.get(scheme, _HTTP_PORT)


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


_EXACT = ("=", "^~")


def status_pages(conf: Conf, network: str = "") -> tuple[HttpStatusPage, ...]:
    """Return the pages that can be asked over plain HTTP, each at one address.

    Args:
        conf: As the running nginx reads it.
        network: The network namespace that it listens in.
    """
    found = []
    for scope in conf.of_kind("location"):
        server, path = _server(scope), _path(scope)
        if server is None or not path or not scope.own("stub_status"):
            continue
        here = [each for each in listens(conf) if each.server is server]
        plain = [each for each in here if not (each.is_tls or each.is_datagram)]
        if plain:
            found.append(
                HttpStatusPage(
                    address=reached_at(plain[0].address),
                    path=path,
                    host=next(_status_names(server), ""),
                    network=network,
                )
            )
    return tuple(found)


def _server(scope: Scope) -> Scope | None:
    outer: Scope | None = scope
    while outer is not None and outer.kind != "server":
        outer = outer.parent
    return outer


def _path(scope: Scope) -> str:
    """Return the path that a location is for; empty where it is a pattern, or has a name."""
    words = scope.node.texts if scope.node is not None else ()
    if len(words) > 1 and words[0] not in _EXACT:
        return ""
    return words[-1] if words and words[-1].startswith("/") else ""


def _status_names(server: Scope) -> Iterator[str]:
    for directive in server.own("server_name"):
        yield from (name for name in directive.texts if name[:1] not in {"", "_", "~", "*", "."})


_SIDES = ("", "proxy_", "grpc_", "uwsgi_")
"""Beginnings of names: what it shows to clients, and what to backends."""
_OF_SIDES: Mapping[str, FileUse] = {
    "ssl_trusted_certificate": "authorities",
    "ssl_password_file": "password",
}
_OTHERS: Mapping[str, FileUse] = {
    **{f"{side}{name}": use for side in _SIDES for name, use in _OF_SIDES.items()},
    "ssl_client_certificate": "authorities",
    "ssl_dhparam": "groups",
    "ssl_session_ticket_key": "tickets",
    "ssl_stapling_file": "staple",
}


def tls_files(conf: Conf) -> TlsFiles:
    """Return the files by whole paths; without those whose names have variables."""
    folder = posixpath.dirname(conf.main_file)
    others = {
        posixpath.join(folder, directive.texts[0]): _OTHERS[directive.name]
        for directive in walk(conf.tree)
        if directive.name in _OTHERS and directive.args and _is_fixed(directive.texts[0])
    }
    pairs = dict.fromkeys(_pairs(conf.tree, {}, folder))
    return TlsFiles(pairs=tuple(pairs), others=others)


def _pairs(
    block: tuple[Directive, ...], outer: Mapping[str, list[str]], folder: str
) -> Iterator[KeyPair]:
    """Yield the pairs of a block and of those in it: each directive is inherited by itself."""
    own: dict[str, list[str]] = {}
    for directive in flat(block):
        if not directive.is_block and directive.args and "ssl_" in directive.name:
            own.setdefault(directive.name, []).append(directive.texts[0])
    known = {**outer, **own}
    for side in _SIDES:
        certificates = known.get(f"{side}ssl_certificate", [])
        keys = known.get(f"{side}ssl_certificate_key", [])
        passwords = [p for p in known.get(f"{side}ssl_password_file", []) if _is_fixed(p)]
        # The first key is that of the first certificate.
        for certificate, key in zip(certificates, keys, strict=False):
            if _is_fixed(certificate) and _is_fixed(key):
                yield KeyPair(
                    key=posixpath.join(folder, key),
                    certificate=posixpath.join(folder, certificate),
                    password=posixpath.join(folder, passwords[-1]) if passwords else "",
                )
    for directive in flat(block):
        if directive.is_block:
            yield from _pairs(directive.block, known, folder)


def _is_fixed(text: str) -> bool:
    return is_file(text) and "$" not in text and not text.startswith("store:")
