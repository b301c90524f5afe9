"""What a configuration's directives say: settings, listeners, backends, logs, what is written."""

import posixpath
import re
from collections.abc import Iterable, Sequence

from httpdyno.model import Backend, Listener, LogPlace, Origin, Reading
from httpdyno.servers.apache.directive import Directive, Section
from httpdyno.servers.apache.lines import Places, words
from httpdyno.servers.apache.scope import Scopes, bare_host
from httpdyno.servers.apache.tunable import present_name

PROTOCOLS = {
    "http": ("http", "80"),
    "https": ("http", "443"),
    "h2": ("http", "443"),
    "h2c": ("http", "80"),
    "ws": ("http", "80"),
    "wss": ("http", "443"),
    "fcgi": ("fastcgi", "8000"),
    "uwsgi": ("uwsgi", "3031"),
    "scgi": ("scgi", "4000"),
    "ajp": ("ajp", "8009"),
}
"""Scheme → what is spoken, and the port of an address that names none."""
_URL = re.compile(r"(?:unix:(?P<socket>[^|]+)\|)?(?P<scheme>\w+):/?/?(?P<place>[^/\s]*)")
_FORMATS = {
    '%h %l %u %t "%r" %>s %b': "common",
    '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"': "combined",
}
"""Formats that go by a name everywhere. Debian's `combined` is another one: it has %O."""
_LOG_FILES = frozenset(
    {"customlog", "transferlog", "errorlog", "globallog", "forensiclog", "scriptlog", "rewritelog"}
)
_NO_LOG_FILE = ("|", "syslog")
_OWN_FILES = frozenset({"pidfile", "scoreboardfile", "davlockdb"})
_OWN_FOLDERS = frozenset({"cacheroot", "coredumpdirectory", "defaultruntimedir"})


def readings(directives: Sequence[Directive], places: Places, scopes: Scopes) -> list[Reading]:
    """Return what each directive sets, in the order of the configuration."""
    return [
        Reading(
            name=present_name(directive.name),
            scope=scopes.of(directive),
            text=directive.arguments,
            origin=origin_of(directive, places),
        )
        for directive in directives
    ]


def origin_of(directive: Directive, places: Places) -> Origin:
    """Return where a directive's arguments stand."""
    return places.origin(directive.file, directive.line, directive.name)


def listeners(directives: Sequence[Directive], places: Places) -> list[Listener]:
    """Return the addresses that it listens at, each with the hosts that are served there."""
    hosts = _hosts(directives)
    found = []
    for directive in directives:
        given = words(directive.arguments)
        if directive.name.lower() != "listen" or not given:
            continue
        address = listen_address(given[0])
        here = [host for host in hosts if serves(host, address)]
        named: list[Section | None] = [*here] or [None]
        names = dict.fromkeys(name for host in named for name in _names(host, directives))
        found.append(
            Listener(
                address=address,
                is_tls=_is_on("sslengine", here, directives),
                is_proxied=_is_on("remoteipproxyprotocol", here, directives),
                names=tuple(names),
                origin=origin_of(directive, places),
            )
        )
    return found


def listen_address(text: str) -> str:
    """Return an argument of `Listen` as `ip:port`; `80` listens everywhere."""
    if text.isdecimal():
        return f"0.0.0.0:{text}"
    return f"0.0.0.0:{text[2:]}" if text.startswith("*:") else text


def serves(host: Section, address: str) -> bool:
    """Whether a virtual host is served at a listened address."""
    at, _, port = address.rpartition(":")
    for wanted in words(host.arguments):
        if wanted.endswith("]") or ":" not in wanted:
            name, wanted_port = wanted, ""
        else:
            name, _, wanted_port = wanted.rpartition(":")
        is_port = wanted_port in ("", "*", port)
        is_everywhere = name in {"*", "_default_"} or at in {"0.0.0.0", "[::]"}  # noqa: S104
        if is_port and (is_everywhere or name == at):
            return True
    return False


def _hosts(directives: Iterable[Directive]) -> list[Section]:
    return list(dict.fromkeys(d.host for d in directives if d.host is not None))


def _names(host: Section | None, directives: Iterable[Directive]) -> list[str]:
    """Return the names of a host, of the main server where there is none."""
    sections = () if host is None else (host,)
    own = [d for d in directives if d.sections == sections]
    first = [words(d.arguments)[:1] for d in own if d.name.lower() == "servername"]
    others = [words(d.arguments) for d in own if d.name.lower() == "serveralias"]
    return [bare_host(name) for group in [*first[-1:], *others] for name in group]


def _is_on(name: str, hosts: Iterable[Section], directives: Iterable[Directive]) -> bool:
    """Whether a switch is on for the main server, which hosts inherit, or for one of them."""
    said = {
        d.host: d.arguments.strip('"').lower() != "off"
        for d in directives
        if d.name.lower() == name
    }
    main = said.get(None, False)
    return any([said.get(host, main) for host in hosts] or [main])


def backends(directives: Sequence[Directive], places: Places) -> list[Backend]:
    """Return what it connects to; a balancer's own name is none."""
    found: dict[tuple[str, str], Backend] = {}
    for directive in directives:
        for url in _urls(directive):
            match = _URL.match(url)
            if match is None or match["scheme"] not in PROTOCOLS:
                continue
            protocol, port = PROTOCOLS[match["scheme"]]
            place = match["place"].rpartition("@")[2]
            to = f"unix:{match['socket']}" if match["socket"] else with_port(place, port)
            if to and (to, protocol) not in found and "$" not in to and "%" not in to:
                origin = origin_of(directive, places)
                found[(to, protocol)] = Backend(to=to, protocol=protocol, origin=origin)
    return list(found.values())


def with_port(place: str, port: str) -> str:
    """Return an address with its port."""
    has_port = re.search(r":\d+$", place)
    return place if has_port or not place else f"{place}:{port}"


def _urls(directive: Directive) -> list[str]:
    given = words(directive.arguments)
    match directive.name.lower():
        case "proxypass" | "proxypassmatch":
            return [word for word in given[:2] if "://" in word or word.startswith("unix:")]
        case "balancermember":
            return [word for word in given[:2] if "://" in word]
        case "sethandler" | "addhandler":
            return [word.removeprefix("proxy:") for word in given[:1] if word[:6] == "proxy:"]
        case "rewriterule" if any(re.search(r"[\[,](P|proxy)[,\]]", flag) for flag in given[2:]):
            return given[1:2]
    return []


def logs(
    directives: Sequence[Directive], places: Places, scopes: Scopes, server_root: str
) -> list[LogPlace]:
    """Return the access logs; one through a program is `|program …`, as it stands there."""
    formats = {"common": '%h %l %u %t "%r" %>s %b'}
    unnamed = formats["common"]
    for directive in directives:
        match directive.name.lower(), words(directive.arguments):
            case "logformat", [text, name, *_]:
                formats[name] = text
            case "logformat", [text]:
                unnamed = text
    found = []
    for directive in directives:
        given = words(directive.arguments)
        name = directive.name.lower()
        if name not in {"customlog", "globallog", "transferlog"} or not given:
            continue
        wanted = given[1] if name != "transferlog" and len(given) > 1 else ""
        written = formats.get(wanted, wanted) if wanted else unnamed
        found.append(
            LogPlace(
                path=given[0]
                if given[0].startswith(_NO_LOG_FILE)
                else posixpath.join(server_root, given[0]),
                log_format=_FORMATS.get(written, written),
                scope=scopes.of(directive),
                origin=origin_of(directive, places),
            )
        )
    return found


def written_folders(directives: Sequence[Directive], server_root: str) -> list[str]:
    """Return the folders that it is configured to write in."""
    found: dict[str, None] = {}
    for directive in directives:
        name, given = directive.name.lower(), words(directive.arguments)
        path = given[0] if given else ""
        if name in {"mutex", "sslsessioncache"}:
            path = re.sub(r"^\w+:|\(\d+\)$", "", path) if ":" in path else ""
            path = posixpath.dirname(path) if name == "sslsessioncache" else path
        elif name in _LOG_FILES | _OWN_FILES:
            path = "" if path.startswith(_NO_LOG_FILE) else posixpath.dirname(path) or "."
        elif name not in _OWN_FOLDERS:
            continue
        if path:
            found[posixpath.normpath(posixpath.join(server_root, path))] = None
    return list(found)
