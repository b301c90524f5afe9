"""Where a private copy of something sits, as those see it who start programs there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


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
