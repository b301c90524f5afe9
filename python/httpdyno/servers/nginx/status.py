"""Where a configuration has nginx say its own status: `stub_status`. Pure.

Source: nginx.org/en/docs/http/ngx_http_stub_status_module.html
"""

from collections.abc import Iterator

from httpdyno.servers.network.probe import HttpStatusPage
from httpdyno.servers.nginx.listen import listens
from httpdyno.servers.nginx.scope import Conf, Scope
from httpdyno.servers.stack.listener import reached_at

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
                    host=next(_names(server), ""),
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


def _names(server: Scope) -> Iterator[str]:
    for directive in server.own("server_name"):
        yield from (name for name in directive.texts if name[:1] not in {"", "_", "~", "*", "."})
