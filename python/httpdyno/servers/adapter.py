"""What experiments see of a server: where it lives, what was rendered for it, that it runs.

A stack (`servers.stack.stack`) renders a study's configuration into a private place, starts its
services there as foreground children, says what configuration is really in force, and ends them
again with nothing left behind. What a server refuses or breaks is an outcome (`NotRunning`), not an
exception; exceptions are for what stops the study (not installed, no disk, no port).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from httpdyno.model import Effective, SideCommand, TrialStatus
from httpdyno.reason import Reason, because
from httpdyno.servers.limits.limit_group import LimitGroups
from httpdyno.servers.network.probe import StatusPage

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


def shown_as(*, label: str) -> str:
    """Return the name of what is no file among the files of a rendered configuration."""
    return label


@dataclass(frozen=True, kw_only=True, slots=True)
class NotRunning:
    """The server did not come up, or not as asked."""

    status: TrialStatus
    detail: Reason
    """Why, mostly the server's own words, shortened to what matters."""


def own_words(words: str) -> Reason:
    """Return what a server or a program says in its own words."""
    return because("servers.said", words=words)


def with_words(why: Reason, words: str) -> Reason:
    """Return a reason with what the server said beside it; alone where it said nothing."""
    return because("servers.with_words", why=why, words=words) if words else why


def exited(exit_code: int | None, words: str) -> Reason:
    """Return how a server ended that was to go on, with its own last words."""
    if exit_code and exit_code < 0:
        how = because("servers.by_signal", number=-exit_code)
    else:
        how = because("servers.by_code" if exit_code else "servers.in_order", code=exit_code)
    words = words.rstrip(": \n")
    return because("servers.exited_saying" if words else "servers.exited", how=how, words=words)


class Running(Protocol):
    """A server that was spawned. Owns its process groups until `stop` returned.

    What not every server has is said here as missing: whoever has it says otherwise.
    """

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

    @property
    def prepare_s(self) -> float:
        """What the study's own commands before its load took, where that is told apart."""
        return 0.0

    @property
    def ready_s(self) -> float | None:
        """From when it was spawned until it was seen to answer and to be all there.

        Without what is read back then. None before, and where it is not known.
        """
        return None

    @property
    def limits(self) -> tuple[LimitGroups, ...]:
        """What limits each part of it that has hard limits; while it is not stopped."""
        return ()

    def limit_hit(self) -> Reason | None:
        """Return how it ran into its memory limit; None where it did not."""
        return None

    def act(self, command: SideCommand) -> Reason | None:
        """Run a study's command in its folder, to its end; return what was wrong with it."""
        del command
        return because("servers.takes_no_command")

    def n_lookups(self) -> int | None:
        """Return how many questions its own resolver was asked so far; None where it has none."""
        return None

    def network_trouble(self) -> Reason | None:
        """Return which processes of its own network ended by themselves.

        None where all run, and where it has none. While it is not stopped.
        """
        return None

    def tried(self) -> tuple[str | Reason, ...]:
        """Return what it tried to reach outside of its sandbox and could not; while it runs."""
        return ()

    def error_logs(self) -> tuple[Path, ...]:
        """Return the files that it logs and prints to as long as it runs, as seen from here."""
        return ()

    def companions(self) -> Mapping[str, "Running"]:
        """Return its services that answer none of the load; all that they have is its, too."""
        return {}

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages of its configuration in force that may be asked from here.

        Whether they answer is not known.
        """
        return ()
