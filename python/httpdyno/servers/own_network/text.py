"""What stands in the files that say what names mean in a network of a study's own. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from httpdyno.errors import AdapterError, UsageError
from httpdyno.model import Level, PrivateNetwork
from httpdyno.servers.own_network.resolver import ADDRESS, ANSWERS, NEVER
from httpdyno.servers.render import Variables, render_argument
from httpdyno.units import duration_s

AT_ONCE = "at once"
OWN_ADDRESS = "127.0.1.1"
"""Where Debian has a machine's own name: not where its servers listen, or its clients come from."""
_NAME = re.compile(r"(?=.{1,253}\.?$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.?)+", re.IGNORECASE)
_SERVICES = "hosts: files dns"
_HOSTS_LINE = re.compile(r"^\s*hosts\s*:.*$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkTexts:
    """The files, as a configuration has them."""

    hosts: str
    """/etc/hosts, without the machine's own name."""
    resolv_conf: str
    """/etc/resolv.conf."""
    table: str
    """What the resolver answers; empty where there is none."""

    def files(self) -> dict[str, str]:
        """Return them by their names, for diffs."""
        found = {"hosts": self.hosts, "resolv.conf": self.resolv_conf, "resolver": self.table}
        return {f"network/{name}": text for name, text in found.items() if text}


def network_texts(
    network: PrivateNetwork, knobs: Mapping[str, Level], settings: Mapping[str, Level]
) -> NetworkTexts:
    """Return what stands in the files of a network.

    Args:
        network: Of a study.
        knobs: Of a configuration.
        settings: Of the study's server.

    Raises:
        AdapterError: A text is no template, or what it says makes no sense.
    """
    variables = Variables(
        knobs=knobs, settings=settings, run="", memory="", port="", server_user="", shared=""
    )

    def said(key: str, text: str) -> str:
        return render_argument(text, variables, source=f"network.{key}").strip()

    hosts = [
        _host_line(f"hosts[{index}]", said(f"hosts[{index}]", line))
        for index, line in enumerate(network.hosts)
    ]
    resolver = network.resolver
    if resolver is None:
        return NetworkTexts(hosts=_lines(hosts), resolv_conf="", table="")
    options = said("resolver.options", resolver.options)
    return NetworkTexts(
        hosts=_lines(hosts),
        resolv_conf=_lines([f"nameserver {ADDRESS}", *([f"options {options}"] * bool(options))]),
        table=_table(
            said("resolver.answers", resolver.answers),
            {
                name: [said(f"resolver.names.{name}", each) for each in addresses]
                for name, addresses in resolver.names.items()
            },
        ),
    )


def own_hosts(texts: NetworkTexts, machine: str) -> str:
    """Return /etc/hosts of a machine: what asks for its own name waits for no resolver."""
    return f"{OWN_ADDRESS} {machine}\n{texts.hosts}"


def services(text: str) -> str:
    """Return nsswitch.conf(5) with names looked up in /etc/hosts and by DNS, and nowhere else."""
    if _HOSTS_LINE.search(text):
        return _HOSTS_LINE.sub(_SERVICES, text)
    return f"{text.rstrip()}\n{_SERVICES}\n".lstrip()


def _table(answers: str, names: Mapping[str, list[str]]) -> str:
    lines = [f"{ANSWERS} {_wait(answers)}"]
    for name, addresses in names.items():
        if not _NAME.fullmatch(name):
            raise _wrong("resolver.names", name, "names such as `client.example`")
        for each in addresses:
            if not _is_address(each):
                raise _wrong(f"resolver.names.{name}", each, "addresses such as `127.0.0.1`")
        lines.append(f"{name} {' '.join(addresses)}".rstrip())
    return _lines(lines)


def _wait(answers: str) -> str:
    if answers in {AT_ONCE, NEVER}:
        return "0" if answers == AT_ONCE else NEVER
    try:
        wait_s = duration_s(answers)
    except UsageError:
        wait_s = -1.0
    if wait_s < 0:
        raise _wrong("resolver.answers", answers, f"`{AT_ONCE}`, `{NEVER}`, or a time like `50ms`")
    return f"{wait_s:g}"


def _host_line(key: str, line: str) -> str:
    address, _, names = line.partition(" ")
    is_right = _is_address(address) and names.split() and all(map(_NAME.fullmatch, names.split()))
    if line and not is_right:
        raise _wrong(key, line, "an address and its names, such as `127.0.0.2 other.example`")
    return line


def _is_address(text: str) -> bool:
    try:
        return bool(ip_address(text)) and "%" not in text
    except ValueError:
        return False


def _lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines if line)


def _wrong(key: str, value: str, expected: str) -> AdapterError:
    return AdapterError(f"`network.{key}` says `{value}`; expected {expected}")
