"""Names of where a directive counts: the whole server, a virtual host, a folder. Pure."""

from collections import Counter
from collections.abc import Iterable

from httpdyno.servers.apache.directive import Directive, Section
from httpdyno.servers.apache.lines import words


class Scopes:
    """The scopes of a configuration, virtual hosts by the name that they are known by.

    A host is named by its `ServerName`, with the port where another one has the same name, and by
    its addresses where it has none. A folder is named by its path, other sections by kind and
    argument: `shop.example`, `shop.example /srv/shop`, `/srv`, `Location /status`.
    """

    def __init__(self, directives: Iterable[Directive]) -> None:
        self._hosts = _host_names(directives)

    def of(self, directive: Directive) -> str:
        """Return the scope of what a directive sets; empty for the whole server."""
        return self.named(directive.sections)

    def named(self, sections: tuple[Section, ...]) -> str:
        """Return the scope within these sections."""
        return " ".join(self._part(section) for section in sections)

    def _part(self, section: Section) -> str:
        if section.kind.lower() == "virtualhost":
            return self._hosts.get(section, section.arguments)
        path = " ".join(words(section.arguments))
        return path if section.kind.lower() == "directory" else f"{section.kind} {path}"


def _host_names(directives: Iterable[Directive]) -> dict[Section, str]:
    names: dict[Section, str] = {}
    for directive in directives:
        host = directive.host
        if host is None:
            continue
        names.setdefault(host, host.arguments)
        if directive.name.lower() == "servername" and directive.sections == (host,):
            names[host] = bare_host((words(directive.arguments) or [""])[0])
    several = Counter(names.values())
    for host, name in list(names.items()):
        if several[name] > 1:
            names[host] = f"{name}:{_port(host)}" if _port(host) else name
    several = Counter(names.values())
    for host, name in list(names.items()):
        if several[name] > 1:
            names[host] = f"{name} ({host.file}:{host.line})"
    return names


def bare_host(name: str) -> str:
    """Return a `ServerName` without its scheme and port."""
    return name.rpartition("://")[2].partition(":")[0]


def _port(host: Section) -> str:
    first = (words(host.arguments) or [""])[0]
    port = first.rpartition(":")[2]
    return port if port.isdecimal() else ""
