"""What a site's server needs of the isolation that its copies sit in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from httpdyno.errors import AdapterError
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.sandbox.sandbox import CellWish, OpenSandbox
from httpdyno.servers.site.adapter import Said, Seat


class BegunSeat(Seat, Protocol):
    """A seat that edits are made for, and that holds what it has given them."""

    def close(self) -> None:
        """Give up what it holds, where nothing comes of it; idempotent."""


class SeatMaker(Protocol):
    """Makes seats of one isolation, in two steps: edits need to know where the copy will be."""

    def begin(self, place: Place, listening: Iterable[str] = ()) -> BegunSeat:
        """Return what edits may ask of the seat: its kind, addresses and paths.

        Args:
            place: Where it will be.
            listening: All addresses that the site's members listen at, as theirs.
        """

    def finish(self, begun: Seat, place: Place, wish: CellWish) -> OpenSandbox | NotRunning:
        """Make it; what cannot be is said in words (`refused`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sketch:
    """A seat before it stands: what is known of it, for edits that it takes."""

    kind: str
    is_root: bool
    folder: Path
    memory_folder: Path

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: str = "/",
        user: str = "",
        timeout_s: float = 10.0,
    ) -> Said:
        """Refuse: nothing can run in it yet."""
        del environment, folder, user, timeout_s
        raise AdapterError(f"`{command[0]}` was to run in a copy that does not stand yet")

    def port(self, address: str) -> str:
        """Return the same address: in a cell theirs is its own."""
        return address

    def path(self, path: str) -> str:
        """Return the same path."""
        return path

    def close(self) -> None:
        """Do nothing: it holds nothing."""
