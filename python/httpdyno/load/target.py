"""Where load goes: a URL taken apart, its address looked up, and whether that may be loaded.

A load test of somebody else's server is an attack, and a typing error is enough to start one. So
only this machine and private networks are loaded without being asked again.
"""

import re
import socket
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from urllib.parse import SplitResult, quote, urlsplit

from httpdyno.errors import TargetError, UsageError
from httpdyno.host.foreign_text import is_whole_url

_PORTS = {"http": 80, "https": 443}
_URL_HINT = "such as `http://localhost:8000/path`"
_HALF_SCHEME = re.compile(r"(https?)(?::/|//|:(?=[^\d/]))(?!/)")
"""`http:/shop`, `http//shop` and `http:shop`; `http:8000` is a host of that name."""
_PORT_ALONE = re.compile(r":?(\d{1,5})/?")
_WEB_SOCKETS = frozenset({"ws", "wss"})
_MAX_UNIX_PATH_BYTES = 107
"""Linux' `sun_path`, with the NUL at its end."""
UNIX = "unix:"
"""What the engine's addresses of unix sockets begin with."""
_PATIENCE_S = 1.0
"""For each address of several to take a connection: curl gives one to the other 0.2 s."""

_LOOPBACK_OF = {"0.0.0.0": "127.0.0.1", "::": "::1", "::ffff:0.0.0.0": "127.0.0.1"}  # noqa: S104
_LOCAL_NETWORKS = tuple(
    ip_network(text)
    for text in (
        "127.0.0.0/8",
        "::1/128",
        # RFC 1918, RFC 4193: addresses that do not leave their owner's network.
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "fc00::/7",
        # RFC 3927, RFC 4291: this link only.
        "169.254.0.0/16",
        "fe80::/10",
    )
)

# RFC 3986 sections 3.3 and 3.4: what may stand in a path or a query as it is; `%` too, so that
# what is encoded already stays as it is.
KEPT_IN_PATH = "/%:@!$&'()*+,;=-._~?"


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """An HTTP origin, and the path that is asked of it."""

    host: str
    """As typed, without brackets."""
    port: int
    path: str
    """With the query."""
    scheme: str = "http"
    """`http` or `https`."""
    unix_path: str = ""
    """The socket to connect to instead of the host's port."""

    @property
    def is_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """What belongs into the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        """The whole as a URL."""
        return f"{self.origin}{self.path}"


def parse_url(text: str) -> Target:
    """Return the target that a URL names; `localhost:8000/path` is read as http.

    Raises:
        UsageError: Not a URL that can be loaded.
    """
    url = text if is_whole_url(text) else f"http://{text}"
    if any(character.isspace() or not character.isprintable() for character in url):
        raise UsageError(
            f"the URL {text!r} holds a space or a control character",
            hint="write a space as `%20`",
        )
    _check_begin(text)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UsageError(
            f"`{text}` is not a URL: {_lower_first(str(error))}", hint=_URL_HINT
        ) from error
    _check_parts(text, parts)
    port = _port(text, parts)
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    return Target(
        host=parts.hostname or "",
        port=_PORTS[parts.scheme] if port is None else port,
        path=quoted_path(path + query),
        scheme=parts.scheme,
    )


def quoted_path(path: str) -> str:
    """Return a path with its query as it can stand in a request line.

    Braces stay as they are: `{n}` is a placeholder.
    """
    return quote(path, safe=KEPT_IN_PATH + "{}")


def _check_begin(text: str) -> None:
    """Refuse what would be read as the name of a host, and is none."""
    if begun := _HALF_SCHEME.match(text):
        raise UsageError(
            f"`{text}` is not a URL", hint=f"write `{begun[1]}://{text[begun.end() :]}`"
        )
    if port := _PORT_ALONE.fullmatch(text):
        raise UsageError(f"`{text}` names no host", hint=f"write `http://localhost:{port[1]}/`")


def _port(text: str, parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        name = parts.netloc.rpartition(":")[2]
        raise UsageError(f"`{text}` names port {name}", hint="give a port from 1 to 65535")
    return port


def _check_parts(text: str, parts: SplitResult) -> None:
    if parts.scheme not in _PORTS:
        raise UsageError(
            f"`{text}` has the scheme `{parts.scheme}`, expected http or https",
            hint=_URL_HINT + "; WebSockets cannot be loaded" * (parts.scheme in _WEB_SOCKETS),
        )
    if not parts.hostname:
        raise UsageError(f"`{text}` names no host", hint=_URL_HINT)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"the URL of `{parts.hostname}` holds a user name or password",
            hint="leave it out; `load` sends `-u NAME:PASSWORD`, or `-H 'Authorization: …'`",
        )


def resolve(target: Target, *, allowed_host: str | None = None) -> str:
    """Return where the target is: of several addresses the first one that takes a connection.

    Args:
        target: What was asked for.
        allowed_host: The host that somebody said they may load.

    Raises:
        TargetError: The name has no address.
        UsageError: There is no such unix socket.
    """
    return taking(target, addresses_of(target), allowed_host=allowed_host)


def taking(target: Target, addresses: Sequence[str], *, allowed_host: str | None) -> str:
    """Return the first of these addresses that takes a connection; if none does, the first.

    One that may not be loaded is not connected to.
    """
    may = [each for each in addresses if _is_permitted(target, each, allowed_host=allowed_host)]
    if len(may) > 1:
        return next(filter(_takes, may), may[0])
    return (may or addresses)[0]


def addresses_of(target: Target) -> tuple[str, ...]:
    """Return the target's `ip:port` (IPv6 in brackets), IPv4 first, or `unix:/path`.

    The address of all interfaces, which servers print, is loopback to who connects to it.

    Raises:
        TargetError: The name has no address.
        UsageError: There is no such unix socket.
    """
    if target.unix_path:
        return (UNIX + _socket_path(target.unix_path),)
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise TargetError(
            f"the host `{target.host}` cannot be resolved: "
            + (_lower_first(reason) if isinstance(error, OSError) else "not a valid host name"),
            hint="check the spelling, or give the address itself",
        ) from error
    # Servers that listen on one family only mostly listen on IPv4, `localhost` above all.
    by_family = sorted(found, key=lambda entry: entry[0] != socket.AF_INET)
    found_ips = (str(entry[4][0]) for entry in by_family)
    ips = dict.fromkeys(_LOOPBACK_OF.get(ip, ip) for ip in found_ips)
    return tuple(f"[{ip}]:{target.port}" if ":" in ip else f"{ip}:{target.port}" for ip in ips)


def _takes(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_S).close()
    except OSError:
        return False
    return True


def is_loopback(address: str) -> bool:
    """Whether an `ip:port` or unix socket is on this machine."""
    return address.startswith(UNIX) or _ip_of(address).is_loopback


def check_permitted(target: Target, address: str, *, allowed_host: str | None) -> None:
    """Refuse a target that is not on this machine or a private network, unless it was named.

    Args:
        target: What was asked for.
        address: What it resolved to, `ip:port` or `unix:/path`.
        allowed_host: The host that somebody said they may load.

    Raises:
        UsageError: It is somewhere else, and was not named.
    """
    if _is_permitted(target, address, allowed_host=allowed_host):
        return
    ip = _ip_of(address)
    where = f"`{target.host}`" if target.host == str(ip) else f"`{target.host}` ({ip})"
    raise UsageError(
        f"{where} is neither this machine nor in a private network",
        hint=f"if you may load it, add `--yes-i-may-load {target.host}`",
    )


def _is_permitted(target: Target, address: str, *, allowed_host: str | None) -> bool:
    if address.startswith(UNIX):
        return True
    ip = _ip_of(address)
    is_named = allowed_host is not None and allowed_host.lower() == target.host.lower()
    return is_named or any(ip in network for network in _LOCAL_NETWORKS)


def _socket_path(text: str) -> str:
    path = Path(text).absolute()
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
    except (OSError, ValueError) as error:
        reason = _lower_first(getattr(error, "strerror", "") or str(error))
        raise UsageError(f"the unix socket `{text}` cannot be used: {reason}") from error
    if not is_socket:
        raise UsageError(f"`{text}` is not a socket", hint="give the path that the server binds")
    if len(str(path).encode()) > _MAX_UNIX_PATH_BYTES:
        raise UsageError(
            f"the path of the unix socket `{text}` is longer than {_MAX_UNIX_PATH_BYTES} bytes",
            hint="Linux takes no more; give a shorter one, such as a link to its folder",
        )
    return str(path)


def _ip_of(address: str) -> IPv4Address | IPv6Address:
    host = address.rpartition(":")[0].strip("[]")
    ip = ip_address(host.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return mapped or ip


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
