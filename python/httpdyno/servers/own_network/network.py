"""A network of a start's own: its namespaces, its resolver, and the files that name hosts."""

import os
import re
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

from httpdyno.errors import AdapterError, UsageError
from httpdyno.host.interruption import cleaning
from httpdyno.host.rights import (
    is_root_of_the_machine,
    outside_ids,
)
from httpdyno.model import Level, PrivateNetwork
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import Enclosure, Place
from httpdyno.servers.log_file import log_text
from httpdyno.servers.own_network import resolver
from httpdyno.servers.own_network.resolver import ADDRESS, ANSWERS, NEVER
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables, render_argument
from httpdyno.servers.run.folder import remove_place
from httpdyno.servers.sandbox.holder import Step, packed
from httpdyno.servers.sandbox.namespace import STEPS, made, namespaces_of, network_held
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


_FOLDER, _TABLE, _COUNTS = "holder", "resolver", "lookups"
_BESIDE = "-own-network"
"""No companion's place ends so: their names have no hyphen."""
SERVICES = "/etc/nsswitch.conf"
_ANSWERERS = ("/run/nscd/socket", "/var/run/nscd/socket")
"""Where the C library asks first: a cache of the machine's, which knows other names."""
_UP_S = 20.0
"""For the resolver to come up, on a machine that is very busy."""
_LOOK_S = 0.002


class OpenNetwork:
    """One that stands. What runs in it has ended before it is closed."""

    def __init__(self, home: Place, holder: ServerProcess) -> None:
        """Own what it needs: a folder, and the process that holds its namespaces."""
        self._home = home
        self._processes = {"holder": holder}
        self._counts: Path | None = None
        self.enclosure = Enclosure(
            namespaces=namespaces_of(holder.pid),
            network=network_held(holder.pid),
            mapped=() if is_root_of_the_machine() else outside_ids(),
        )

    def begin_resolver(self) -> None:
        """Start it, and wait until it takes questions.

        Raises:
            AdapterError: It does not come up.
        """
        counts = self._home.memory_folder / _COUNTS
        process = ServerProcess.spawn(
            [resolver.__name__, str(self._home.folder / _TABLE), str(counts)],
            place=replace(self._home, enclosure=self.enclosure),
            environment={},
            log=self._home.folder / "resolver.log",
            is_module=True,
        )
        self._processes["resolver"] = process
        self._counts = counts
        deadline_s = time.monotonic() + _UP_S
        while self.n_lookups() is None:
            if not process.is_alive() or time.monotonic() > deadline_s:
                words = log_text(process.log, from_end=True).strip()
                raise AdapterError(f"the resolver of names did not come up: {words}")
            time.sleep(_LOOK_S)

    def n_lookups(self) -> int | None:
        """Return how many questions its resolver was asked; None where it has none."""
        if self._counts is None:
            return None
        try:
            return resolver.n_asked(self._counts.read_bytes())
        except OSError:
            return None

    def trouble(self) -> Reason | None:
        """Return which of its processes ended by themselves; None where all run.

        While it is not closed.
        """
        gone = [_gone(*each) for each in self._processes.items() if not each[1].is_alive()]
        return because("servers.of_several", all=gone) if gone[1:] else next(iter(gone), None)

    def close(self) -> None:
        """Give it up; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
        """
        with cleaning(), ExitStack() as stack:
            stack.callback(remove_place, self._home)
            for process in self._processes.values():
                stack.callback(process.stop)


def open_network(place: Place, texts: NetworkTexts) -> OpenNetwork:
    """Make a network for all that runs in a place; what it needs lies beside that place.

    Raises:
        AdapterError: It cannot be made here.
    """
    home = replace(
        place,
        folder=place.folder.with_name(f"{place.folder.name}{_BESIDE}"),
        memory_folder=place.memory_folder.with_name(f"{place.memory_folder.name}{_BESIDE}"),
    )
    try:
        for folder in (home.folder, home.memory_folder):
            folder.mkdir(mode=0o700)
        covered = _written(home.folder, _files(texts))
        steps: list[Step] = [("mask", path) for path in _ANSWERERS]
        steps += [("bind", str(file), path) for path, file in covered.items()]
        held = made(
            home,
            home.folder / _FOLDER,
            lambda: (home.folder / _FOLDER / STEPS).write_bytes(packed(steps)),
        )
    except OSError as error:
        remove_place(home)
        raise AdapterError(f"no network can be made: {error}") from error
    except BaseException:
        remove_place(home)
        raise
    if isinstance(held, Reason):
        remove_place(home)
        raise AdapterError("no network of its own can be had", why=[held])
    network = OpenNetwork(home, held.process)
    try:
        if texts.table:
            (home.folder / _TABLE).write_text(texts.table, encoding="ascii")
            network.begin_resolver()
    except BaseException:
        network.close()
        raise
    return network


def services_here() -> str:
    """Return what stands for the machine's own nsswitch.conf(5) in such a network.

    Empty where the machine has none: names are looked up in hosts file and by DNS then anyway.

    Raises:
        OSError: It cannot be read.
    """
    try:
        text = Path(SERVICES).read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return ""
    return services(text)


def _files(texts: NetworkTexts) -> dict[str, str]:
    """Return what is read in place of the machine's own, by its path."""
    found = {
        "/etc/hosts": own_hosts(texts, os.uname().nodename),
        "/etc/resolv.conf": texts.resolv_conf,
    }
    if text := services_here():
        found[SERVICES] = text
    return found


def _gone(name: str, process: ServerProcess) -> Reason:
    """Return how it ended, and what it said at last."""
    code = process.exit_code
    if code is None:  # its keeper is gone, too
        return because("servers.network_ended", name=name)
    if code < 0:
        how = because("servers.by_signal", number=-code)
    else:
        how = because("servers.by_code", code=code)
    words = "".join(process.last_words().strip().splitlines()[-1:])
    return because(
        "servers.network_ended_saying" if words else "servers.network_ended_with",
        name=name,
        how=how,
        words=words,
    )


def _written(folder: Path, files: Mapping[str, str]) -> dict[str, Path]:
    """Write files that everybody may read; return them by what they stand for."""
    found = {}
    for path, text in files.items():
        found[path] = folder / Path(path).name
        found[path].write_text(text, encoding="utf-8")
        found[path].chmod(0o644)
    return found
