"""The seam between experiments and servers.

An adapter renders a study's configuration into a private run folder, starts the server there as
its own foreground child, says what configuration is really in force, and ends it again with
nothing left behind. What a server refuses or breaks is an outcome (`NotRunning`), not an
exception; exceptions are for what stops the study (not installed, no disk, no port).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from httpdyno.model import Configuration, Effective, KnobInfo, ServerSpec, SideCommand, TrialStatus
from httpdyno.servers.limits.limit_group import LimitGroups

_COPYS = "c"
"""Short: paths of sockets end after 107 bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Enclosure:
    """Namespaces of mounts and of the network that all of an instance is in."""

    namespaces: tuple[str, ...]
    """Their files, such as `/proc/4711/ns/net`, in the order in which they are entered."""
    network: str
    """That of the network."""
    mapped: tuple[int, ...] = ()
    """The user and the group that what runs there takes itself for; empty is as it was started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where one instance may live: all it writes is in here, and all of it is removed."""

    folder: Path
    """On disk, made for this instance, readable by the server's own user."""
    memory_folder: Path
    """The same on a RAM-backed file system (`/dev/shm` where there is one)."""
    cpus: tuple[int, ...] = ()
    """The cores that its processes run on; empty is all."""
    shared: Path | None = None
    """What was made once for all instances of a run; None where nothing was."""
    enclosure: Enclosure | None = None
    """Where all that runs in it is; None: where httpdyno is."""

    @property
    def network(self) -> str:
        """The path of its network namespace; empty is httpdyno's own."""
        return "" if self.enclosure is None else self.enclosure.network

    @property
    def copy_folder(self) -> Path:
        """Of that folder what a copy of somebody's server may write; the rest is httpdyno's own.

        What may put links and files there is not to meet httpdyno's logs and layers.
        """
        return self.folder / _COPYS

    @property
    def copy_memory_folder(self) -> Path:
        """The same in memory."""
        return self.memory_folder / _COPYS


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """A configuration as the server will read it, for diffs and reports."""

    files: Mapping[str, str]
    """Name relative to the run folder → text, with the run folder's path written as `RUN`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the study sets; the server gets little besides."""
    prepare: tuple[str, ...] = ()
    """The command that is run before each start, an argument each; empty for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NotRunning:
    """The server did not come up, or not as asked."""

    status: TrialStatus
    detail: str
    """The server's own words, shortened to what matters."""


def exited_words(exit_code: int | None, words: str) -> str:
    """Return how a server ended that was to go on, with its own last words."""
    how = f"signal {-exit_code}" if exit_code and exit_code < 0 else f"code {exit_code}"
    if exit_code == 0:
        how += (
            ", so it went into the background or had nothing to serve; have it stay in the "
            "foreground (`-D`, `-F`, `--no-daemon`)"
        )
    return f"it exited with {how}: {words}".rstrip(": \n")


class Running(Protocol):
    """A server that was spawned. Owns its process groups until `stop` returned."""

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it listens, `ip:port` or `unix:/path` each; the first is the one that is loaded."""

    @property
    def networks(self) -> tuple[str, ...]:
        """The network namespace that each address is in, as a path such as `/proc/4711/ns/net`.

        An empty one is httpdyno's own.
        """

    @property
    def root_pids(self) -> tuple[int, ...]:
        """The processes whose trees are the server, the one that is loaded first.

        Each is also its own session and process group id.
        """

    @property
    def keeper_pids(self) -> tuple[int, ...]:
        """The parent of each root process, if it takes over what loses its parent in that tree.

        Such a parent has nothing else below it. Empty where they have none.
        """

    @property
    def groups(self) -> tuple[Path, ...]:
        """The control groups of version 2 that all of the server is in, and nothing else.

        Empty where a part of it is in none of its own.
        """

    def await_ready(self, timeout_s: float) -> NotRunning | Effective:
        """Wait until it answers and is all there, then read the effective configuration back.

        Returns `NotRunning` with status `refused` (configuration rejected or not in force as
        asked), `crashed` (exited), `hung` (no answer in time), `infeasible` (it ran into a limit
        of what it may take) or `unstable` (what httpdyno runs for it is gone).
        """

    def is_alive(self) -> bool:
        """Whether all root processes still run."""

    def last_words(self) -> str:
        """The end of the server's error log, for messages; never more than a few lines."""

    def stop(self) -> None:
        """End the whole tree (graceful, then TERM, then KILL, each bounded); remove its place.

        Idempotent, and callable from any thread.

        Raises:
            RevertError: A process could not be ended.
        """


@runtime_checkable
class Prepared(Protocol):
    """A server that says what the study's own commands before its load took."""

    @property
    def prepare_s(self) -> float:
        """Their time, of all; 0 where there is none."""


@runtime_checkable
class Timed(Protocol):
    """A server that says how long it took to be ready."""

    @property
    def ready_s(self) -> float | None:
        """From when it was spawned until it was seen to answer and to be all there.

        Without what is read back then. None before, and where it is not known.
        """


@runtime_checkable
class Acting(Protocol):
    """A server at which a study's own command can be run while it is up."""

    def act(self, command: SideCommand) -> str:
        """Run it in the server's folder, to its end; return what was wrong with it, in words."""


@runtime_checkable
class Resolving(Protocol):
    """A server that has a resolver of names for itself."""

    def n_lookups(self) -> int | None:
        """Return how many questions it was asked so far; None where that is not known."""


@runtime_checkable
class Networked(Protocol):
    """A server in a network that processes of httpdyno's keep up."""

    def network_trouble(self) -> str:
        """Return in words which of them ended by themselves; empty where all run.

        While it is not stopped.
        """


def network_trouble(running: Running) -> str:
    """Return in words why a server's own network is none any more; empty where it is, or none."""
    return running.network_trouble() if isinstance(running, Networked) else ""


def lookups_of(running: Running) -> Callable[[], int | None] | None:
    """Return what counts the names that a server asks for; None where it has no such resolver."""
    return running.n_lookups if isinstance(running, Resolving) else None


@runtime_checkable
class Enclosed(Protocol):
    """A server that is kept from what is outside."""

    def tried(self) -> tuple[str, ...]:
        """Return what it tried to reach there and could not; while it runs."""


def tried_by(running: Running) -> tuple[str, ...]:
    """Return what a server tried to reach outside of what it is kept in; empty where it is not."""
    return running.tried() if isinstance(running, Enclosed) else ()


@runtime_checkable
class Logged(Protocol):
    """A server that says where its errors go."""

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs, as seen from here."""


@runtime_checkable
class Accompanied(Protocol):
    """A server of several, of which some answer none of the load themselves."""

    def companions(self) -> Mapping[str, Running]:
        """Return those by their names; all that they have is the server's, too."""


@runtime_checkable
class Limited(Protocol):
    """A server that may have hard limits."""

    @property
    def limits(self) -> tuple[LimitGroups, ...]:
        """What limits each part of it that has limits; while it is not stopped."""

    def limit_hit(self) -> str:
        """Return in words how it ran into its memory limit; empty where it did not."""


class ServerAdapter(Protocol):
    """One kind of server. Stateless: every start gets all it needs."""

    @property
    def name(self) -> str:
        """As in study files."""

    def knobs(self) -> Mapping[str, KnobInfo]:
        """Return what can be set, by name. Studies may add knobs of their application."""

    def settings(self) -> Mapping[str, str]:
        """Return what `[server.settings]` may hold and this adapter reads: name → what it is."""

    def missing(self, spec: ServerSpec) -> tuple[str, ...]:
        """Return what is not installed and how to install it, a sentence each; empty is good."""

    def complaint(self, spec: ServerSpec, study_folder: Path, configuration: Configuration) -> str:
        """Return in words what is known to be wrong with the study's files; empty is good."""

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return the version line of the server that a study runs; of the usual one without.

        Raises:
            AdapterError: It is not installed.
        """

    def render(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration
    ) -> Rendered:
        """Return the files as they would be written; touches nothing."""

    def spawn(
        self, spec: ServerSpec, study_folder: Path, configuration: Configuration, place: Place
    ) -> Running | NotRunning:
        """Write the files and start the server in the foreground; does not wait for readiness."""
