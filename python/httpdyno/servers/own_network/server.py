"""A study's servers in a network of their own, as experiments see a server.

All that runs in the place of a start runs there: the server, its companions, the study's commands
before and after. The client's threads go into it for their sockets, as they do for private copies
of a person's own site, and so do those who ask whether a server is ready. Nothing leads out of it:
every address is one of its loopback's. It ends with its last process, whatever ended httpdyno.
"""

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from httpdyno.host.interruption import cleaning
from httpdyno.model import Configuration, Effective, KnobInfo, ServerSpec, SideCommand, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.limits.limit_group import LimitGroups
from httpdyno.servers.network.probe import StatusPage
from httpdyno.servers.own_network.network import (
    NetworkTexts,
    OpenNetwork,
    network_texts,
    open_network,
)
from httpdyno.servers.sandbox.available import namespaces_complaint
from httpdyno.servers.stack.names import network_knobs
from httpdyno.servers.stack.stack import Stack


class InNetwork(Running):
    """All of a server, and its network; owns both."""

    def __init__(self, running: Running, network: OpenNetwork, shape: Mapping[str, str]) -> None:
        """Take both, and the knobs that say what the network is: they are in force with it."""
        self._running = running
        self._network = network
        self._shape = dict(shape)
        self._lock = threading.Lock()

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it listens, in its network."""
        return self._running.addresses

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace of each address."""
        return self._running.networks

    @property
    def root_pids(self) -> tuple[int, ...]:
        """Its root processes; the resolver is none of the server's."""
        return self._running.root_pids

    @property
    def keeper_pids(self) -> tuple[int, ...]:
        """The keeper of each root process."""
        return self._running.keeper_pids

    @property
    def groups(self) -> tuple[Path, ...]:
        """Its control groups."""
        return self._running.groups

    @property
    def limits(self) -> tuple[LimitGroups, ...]:
        """What limits its servers; nothing limits the resolver."""
        return self._running.limits

    def limit_hit(self) -> Reason | None:
        """Return how it ran into its memory limit; None where it did not."""
        return self._running.limit_hit()

    @property
    def prepare_s(self) -> float:
        """What the study's commands before it took."""
        return self._running.prepare_s

    @property
    def ready_s(self) -> float | None:
        """How long it took to be ready; None before."""
        return self._running.ready_s

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait until it answers, and read back what is in force."""
        found = self._running.await_ready(timeout_s)
        # Whatever came of it, that was why.
        if gone := self.network_trouble():
            return NotRunning(status="unstable", detail=gone)
        if isinstance(found, NotRunning):
            return found
        return structs.replace(
            found,
            values={**self._shape, **found.values},
            asked={**self._shape, **found.asked},
        )

    def n_lookups(self) -> int | None:
        """Return how many questions its resolver was asked so far; None where it has none."""
        return self._network.n_lookups()

    def network_trouble(self) -> Reason | None:
        """Return which processes of its network ended by themselves; None where all run."""
        return self._network.trouble()

    def act(self, command: SideCommand) -> Reason | None:
        """Run a command of the study in it; return what was wrong with it."""
        return self._running.act(command)

    def is_alive(self) -> bool:
        """Whether all root processes run."""
        return self._running.is_alive()

    def last_words(self) -> str:
        """Return the end of the server's error log."""
        return self._running.last_words()

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs."""
        return self._running.error_logs()

    def companions(self) -> Mapping[str, Running]:
        """Return what of it answers none of the load itself."""
        return self._running.companions()

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages that its configuration in force has."""
        return self._running.status_pages()

    def stop(self) -> None:
        """End it, and then its network; idempotent.

        Raises:
            RevertError: A process could not be ended, or a file not be removed.
            AdapterError: What the study runs after a start failed.
        """
        with cleaning(), self._lock, ExitStack() as stack:
            stack.callback(self._network.close)
            stack.callback(self._running.stop)


class WithNetwork(Stack):
    """A stack that has a network for itself."""

    def __init__(self, adapter: Stack) -> None:
        """Take the stack that runs in it."""
        self._adapter = adapter

    @property
    def name(self) -> str:
        """As in study files."""
        return self._adapter.name

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set, by name."""
        return self._adapter.knobs()

    def settings(self) -> frozenset[str]:
        """Return the names that the server reads of its settings."""
        return self._adapter.settings()

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what is not installed, and why no such network can be had."""
        why = namespaces_complaint()
        own = (because("servers.no_own_network", why=why),) if why else ()
        return (*self._adapter.missing(spec), *own)

    def check(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> None:
        """Look for what is known to be wrong with its texts, or the server's.

        Raises:
            HttpdynoError: Something is.
        """
        _texts(spec, configuration)
        self._adapter.check(spec, study_folder, configuration)

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return the server's version line."""
        return self._adapter.version(spec, study_folder)

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files as they would be written, its own below `network`."""
        rendered = self._adapter.render(spec, study_folder, configuration)
        own = _texts(spec, configuration).files()
        return replace(rendered, files={**rendered.files, **own})

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Make the network, and start all of the server in it."""
        network = open_network(place, _texts(spec, configuration))
        own = network_knobs(spec)
        shaped = structs.replace(spec, shape=(*spec.shape, *own))
        try:
            running = self._adapter.spawn(
                shaped, study_folder, configuration, replace(place, enclosure=network.enclosure)
            )
        except BaseException:
            network.close()
            raise
        if isinstance(running, NotRunning):
            gone = network.trouble()
            network.close()
            return NotRunning(status="unstable", detail=gone) if gone else running
        shape = {name: level_text(configuration.values[name]) for name in own}
        return InNetwork(running, network, shape)


def _texts(spec: ServerSpec, configuration: Configuration) -> NetworkTexts:
    if spec.network is None:
        raise TypeError("a server without a network of its own was given one")
    return network_texts(spec.network, configuration.values, spec.settings)
