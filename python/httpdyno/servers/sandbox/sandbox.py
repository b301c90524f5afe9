"""A sandbox as those see it who start programs in it: what it is to be, and what it bounds."""

import resource
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import Rights
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.host.runnable import ProgramOutput
from httpdyno.model import Door, LimitValues
from httpdyno.servers.adapter import Place
from httpdyno.servers.becoming import CANNOT_RUN
from httpdyno.servers.keeper import Entry
from httpdyno.servers.log_file import log_text
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.sandbox import confinement, landlock_rules


class Seat(Protocol):
    """Where one private copy of a site sits: what it sees, and how programs run in it."""

    @property
    def kind(self) -> str:
        """`cell`, `wall` or `open`. In a cell their paths and ports are their own."""

    @property
    def is_root(self) -> bool:
        """Whether what runs in it is root of the machine, and may become their users."""

    @property
    def folder(self) -> Path:
        """The folder of the copy's own, the same path in and out of the seat; on disk."""

    @property
    def memory_folder(self) -> Path:
        """The same on a RAM-backed file system."""

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        timeout_s: float = 10.0,
    ) -> ProgramOutput:
        """Run a program in the seat to its end, all that came from it too.

        Args:
            command: Program and arguments.
            environment: The whole environment.
            folder: Where it runs, as seen in the seat.
            user: Whom it runs as, where the seat `is_root`: the member whose probe it is.
            timeout_s: It has this long.

        Raises:
            AdapterError: It cannot be run, or does not end in time.
        """

    def port(self, address: str) -> str:
        """Return where the copy listens in place of `ip:port` or `unix:/path` of theirs.

        In a cell it is the same.
        """

    def path(self, path: str) -> str:
        """Return what the copy writes in place of a path of theirs; in a cell the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellWish:
    """What a private copy is to see, and what it may write and reach."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Path as seen inside → content: files of theirs, or new ones.

    A path that is a link of theirs stays one, where it is one to follow (`foreign_path`); the file
    that it leads to has the content.
    """
    rights: Mapping[str, Rights] = field(default_factory=dict)
    """Path of such a file → whose it is; of others it is as of what stands there."""
    writes: Sequence[str] = ()
    """Folders that are there in any case, and written all over as far as this user can have that.

    All of the tree is copy-on-write, with the owners and rights that it has.
    """
    is_known: bool = True
    """Whether it is known where the copy writes: what it writes elsewhere is kept in memory. Where
    it is not, nothing is."""
    served: Sequence[str] = ()
    """Folders of pages, which are seen as they are where that is safe: it costs each request less.
    """
    patterns: Sequence[str] = ()
    """What a configuration includes by wildcards, absolute: of what matches, no file is seen but
    those of `files`. One that ends in `/` stands for all below it.
    """
    logs: Sequence[str] = ()
    """Files that are appended to at each request. One that stands there is
    empty in the cell, and written as fast as theirs; what is no such file is left out.
    """
    doors: Sequence[Door] = ()
    """Unix sockets that the copy may reach."""
    sysctls: Mapping[str, str] = field(default_factory=dict)
    """Settings of the kernel's network, for the cell alone: name with dots → text."""
    hidden_files: Mapping[str, bytes] = field(default_factory=dict)
    """Stand-ins for files that cannot be read, such as private keys."""


ALWAYS_WRITTEN = ("/run", "/tmp", "/var/tmp", "/var/log")  # noqa: S108 - those of the copy alone
"""Written by any user's copies, in every cell; `/var/run` is one of them nearly everywhere."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - likewise
"""Empty in every cell: segments there belong to processes, and are no files of a site."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """Of one seat."""

    doors: tuple[str, ...] = ()
    """`unix:/path` or `ip:port`, as the copy calls them."""
    folders: tuple[str, ...] = ()
    """Folders of the copy's own. Behind a wall, all that it may write, files too."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Behind a wall: the members' own, `ip:port`, and which of theirs each stands for."""
    paths: Mapping[str, str] = field(default_factory=dict)
    """Behind a wall: folders and sockets of the copy's own, and which of theirs each stands for."""

    def theirs(self, text: str) -> str:
        """Return an address of the copy as their configuration has it."""
        if not text.startswith("unix:/"):
            return self.addresses.get(text, text)
        path = text.removeprefix("unix:")
        for own, of_them in self.paths.items():
            if path == own or path.startswith(f"{own}/"):
                return f"unix:{of_them}{path.removeprefix(own)}"
        return text


Limits = Mapping[str, tuple[int, int]]
"""Name as in `NOFILE` → what is in force and up to what it may be raised, as `setrlimit` has it."""


def numbered(limits: Limits) -> list[tuple[int, int, int]]:
    """Return limits by the kernel's numbers.

    Raises:
        AdapterError: There is no such limit.
    """
    found = []
    for name, (soft, hard) in limits.items():
        number = getattr(resource, f"RLIMIT_{name}", None)
        if number is None:
            raise AdapterError(f"there is no limit `{name}` here")
        found.append((number, soft, hard))
    return found


_OUTPUT_BYTES = 16 << 20
"""Of what a program prints, as much is read."""
NOT_RUN = 127
"""What is said where the program cannot be run."""


class OpenSandbox(ABC):
    """A sandbox that stands in a place. What runs in it was started by it; it ends with `close`."""

    network = ""
    """The file of its network namespace, for `setns`; empty where it listens on the host."""

    def __init__(self, place: Place, kind: str, told: tuple[str, ...]) -> None:
        """Take where it is, its kind, and which kinds of calls are told of where it is watched."""
        self.kind = kind
        self.watch: Callable[[ServerProcess], None] | None = None
        """Told of each process that is started; while it is there, their calls are told."""
        self.told = told
        self._place = place
        self._outputs = place.folder
        """Where the output of programs that `run` is kept meanwhile."""

    @property
    def is_root(self) -> bool:
        """Whether what runs in it is root of the machine, and may become their users."""
        return is_root_of_the_machine()

    @property
    def folder(self) -> Path:
        """The folder of the copy's own, the same path in and out of the sandbox; on disk."""
        return self._place.copy_folder

    @property
    def memory_folder(self) -> Path:
        """The same on a RAM-backed file system."""
        return self._place.copy_memory_folder

    @abstractmethod
    def bounds(self) -> Bounds:
        """Return what it has for its own, and what it may reach of the outside."""

    @abstractmethod
    def port(self, address: str) -> str:
        """Return where the copy listens in place of an address of theirs."""

    @abstractmethod
    def path(self, path: str) -> str:
        """Return what the copy writes in place of a path of theirs."""

    @abstractmethod
    def written(self) -> tuple[str, ...]:
        """Return the files, as paths of theirs, that were written, made or removed in it."""

    @abstractmethod
    def close(self) -> None:
        """Give it up; idempotent. What was started in it is ended before, by itself."""

    @abstractmethod
    def _entry(self, user: str) -> Entry:
        """Return what a process goes into, and whom it becomes."""

    def _rules(self, user: str, outputs: Sequence[Path]) -> list[str] | None:
        """Return the Landlock rules of a process; None where it has namespaces in their place.

        Args:
            user: Whom it runs as.
            outputs: The files that it prints to.
        """
        del user, outputs
        return None

    def _variables(self, user: str) -> Mapping[str, str]:
        """Return what its environment has besides."""
        del user
        return {}

    def spawn(  # noqa: PLR0913 - what there is to say of a process
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        log: Path,
        output_to: Path | None = None,
        limits: Limits | None = None,
        within: LimitValues | None = None,
    ) -> ServerProcess:
        """Start a process in the sandbox, in the foreground.

        Args:
            command: Program and arguments.
            environment: The whole environment.
            folder: Where it runs, as seen in the sandbox.
            user: Whom it runs as, with that user's groups; empty is as this process. Who is not
                root of the machine can only run it as himself.
            log: Where its errors go, in the place.
            output_to: Where its output goes when that is to be apart from its errors.
            limits: Where they are not this process's.
            within: What it and all that comes from it may take at most.

        Raises:
            AdapterError: It cannot be started, or there is no such user or limit.
        """
        entry = self._entry(user)
        entry.limits = numbered(limits or {})
        entry.told = self.told if self.watch else ()
        entry.confined_by = confinement.__name__
        rules = self._rules(user, [log, *([output_to] if output_to else [])])
        process = ServerProcess.spawn(
            command if rules is None else [landlock_rules.__name__, *rules, "--", *command],
            place=self._place,
            environment={**environment, **self._variables(user)},
            log=log,
            output_to=output_to,
            folder=folder,
            entry=entry,
            limits=within,
            is_module=rules is not None,
        )
        if self.watch:
            self.watch(process)
        return process

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        timeout_s: float = 10.0,
    ) -> ProgramOutput:
        """Run a program in the sandbox to its end as that user, all that came from it too.

        Raises:
            AdapterError: It cannot be run, or does not end in time.
        """
        errors, output = self._outputs / "run.err", self._outputs / "run.out"
        process = self.spawn(
            command,
            environment=environment,
            folder=folder,
            user=user if self.is_root else "",
            log=errors,
            output_to=output,
        )
        try:
            has_ended = process.wait(timeout_s)
            exit_code = process.exit_code
        finally:
            process.stop()
        said = ProgramOutput(
            exit_code=NOT_RUN if exit_code is None else exit_code,
            output=log_text(output, n_bytes=_OUTPUT_BYTES),
            errors=log_text(errors, n_bytes=_OUTPUT_BYTES),
        )
        for file in (errors, output):
            file.unlink(missing_ok=True)
        if not has_ended:
            raise AdapterError(
                f"`{' '.join(command)}` did not end within {timeout_s:g} s",
                hint="`adopt --start-timeout 1m` gives it longer, in a study `ready_timeout`",
            )
        if said.exit_code == NOT_RUN and said.errors.startswith(CANNOT_RUN):
            raise AdapterError(said.errors.strip())
        return said
