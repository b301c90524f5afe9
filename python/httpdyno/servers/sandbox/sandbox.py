"""A sandbox as those see it who start programs in it: what it is to be, and what it bounds."""

import resource
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import Rights
from httpdyno.host.runnable import account
from httpdyno.model import Door
from httpdyno.servers.log_file import log_text
from httpdyno.servers.process import ServerProcess


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a program answered."""

    exit_code: int
    output: str
    errors: str


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
    ) -> Said:
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


def owner(user: str) -> tuple[int, ...]:
    """Return a user's id, its group's and those of its other groups; of a name or a number.

    Raises:
        AdapterError: There is no such user.
    """
    return account(user)


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


_BYTES = 16 << 20
"""Of what it prints, as much is read."""
NOT_RUN = 127
"""What is said where the program cannot be run."""


def said_by(
    command: Sequence[str],
    spawn: Callable[[Path, Path], ServerProcess],
    folder: Path,
    *,
    timeout_s: float,
) -> Said:
    """Run a program to its end, all that came from it too.

    Args:
        command: What runs, for messages.
        spawn: Starts it; is told where its errors and its output go.
        folder: Where these are kept meanwhile.
        timeout_s: It has this long.

    Raises:
        AdapterError: It cannot be run, or does not end in time.
    """
    errors, output = folder / "run.err", folder / "run.out"
    process = spawn(errors, output)
    try:
        has_ended = process.wait(timeout_s)
        exit_code = process.exit_code
    finally:
        process.stop()
    said = Said(
        exit_code=NOT_RUN if exit_code is None else exit_code,
        output=log_text(output, n_bytes=_BYTES),
        errors=log_text(errors, n_bytes=_BYTES),
    )
    for file in (errors, output):
        file.unlink(missing_ok=True)
    if not has_ended:
        raise AdapterError(
            f"`{' '.join(command)}` did not end within {timeout_s:g} s",
            hint="`adopt --start-timeout 1m` gives it longer, in a study `ready_timeout`",
        )
    if said.exit_code == NOT_RUN and said.errors.startswith("cannot run "):
        raise AdapterError(said.errors.strip())
    return said
