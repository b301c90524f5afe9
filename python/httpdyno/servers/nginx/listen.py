"""Where nginx listens: `listen` in all its spellings, and the servers that have none."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from httpdyno.model import Listener, Origin
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.nginx.tree import Directive

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
