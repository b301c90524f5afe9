"""What experiments see of a server: a stack, whose services are started as one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from httpdyno.model import Configuration, KnobInfo, ServerSpec
from httpdyno.reason import Reason
from httpdyno.servers.adapter import NotRunning, Place, Rendered, Running
from httpdyno.servers.run_data import DataFolder, Side


class Stack(ABC):
    """The services of a study, made from its templates or copied from a snapshot."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The adapter that the study names; `site` of a snapshot."""

    @abstractmethod
    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set in all services, by the names that a study has for it."""

    def settings(self) -> frozenset[str]:
        """Return the names that are read of `[server.settings]`."""
        return frozenset()

    @abstractmethod
    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what keeps it from running here; empty where nothing does."""

    @abstractmethod
    def check(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> None:
        """Look for what is known to be wrong with the study's files; starts no server.

        Raises:
            HttpdynoError: It cannot start so.
        """

    @abstractmethod
    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return the version lines of its servers.

        Raises:
            AdapterError: One is not installed.
        """

    @abstractmethod
    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files as they would be written; touches nothing."""

    @abstractmethod
    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Start its services in the foreground; does not wait for those that are loaded.

        Raises:
            AdapterError: It cannot be started for reasons that are not its configuration's.
        """

    def open_side(self, spec: ServerSpec, place: Place) -> Side:
        """Return where commands of a whole run are run; the place becomes its own.

        Raises:
            AdapterError: It cannot be made.
        """
        return DataFolder(spec, place)
