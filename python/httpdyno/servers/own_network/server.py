"""A study's servers in a network of their own, as experiments see a server.

All that runs in the place of a start runs there: the server, its companions, the study's commands
before and after. The client's threads go into it for their sockets, as they do for private copies
of a person's own site, and so do those who ask whether a server is ready. Nothing leads out of it:
every address is one of its loopback's. It ends with its last process, whatever ended httpdyno.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from httpdyno.model import Configuration, KnobInfo, ServerSpec, level_text
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.cell.possible import cell_complaint
from httpdyno.servers.own_network.opened import open_network
from httpdyno.servers.own_network.running import InNetwork
from httpdyno.servers.own_network.text import NetworkTexts, network_texts
from httpdyno.servers.stack.names import network_knobs
from httpdyno.servers.stack.stack import Stack


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

    def settings(self) -> Mapping[str, str]:
        """Return what the server reads of its settings."""
        return self._adapter.settings()

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return what is not installed, and why no such network can be had."""
        complaint = cell_complaint().removeprefix("a cell ")
        own = (f"a network of its own {complaint}",) if complaint else ()
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
            words = network.trouble()
            network.close()
            return NotRunning(status="unstable", detail=words) if words else running
        shape = {name: level_text(configuration.values[name]) for name in own}
        return InNetwork(running, network, shape)


def _texts(spec: ServerSpec, configuration: Configuration) -> NetworkTexts:
    if spec.network is None:
        raise TypeError("a server without a network of its own was given one")
    return network_texts(spec.network, configuration.values, spec.settings)
