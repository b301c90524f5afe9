"""Which sandbox the copies of a stack get, and what a server asks of it.

How copies are kept apart from what is real: the strongest way that this machine allows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from httpdyno.errors import AdapterError
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.host.runnable import ProgramOutput
from httpdyno.model import Isolation
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.run.folder import make_copy_folders
from httpdyno.servers.sandbox.available import cell_complaint, wall_complaint
from httpdyno.servers.sandbox.landlock import WallSeat, open_wall
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish, OpenSandbox, Seat
from httpdyno.servers.sandbox.user_namespace import run_anew_in_user_namespace


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
    ) -> ProgramOutput:
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


class CellMaker:
    """Makes cells: mount and network namespaces, in which their paths and ports are their own."""

    def begin(self, place: Place, listening: Iterable[str] = ()) -> BegunSeat:
        """Return what edits may ask of the seat before it stands."""
        del listening
        make_copy_folders(place)
        return Sketch(
            kind="cell",
            is_root=is_root_of_the_machine(),
            folder=place.copy_folder,
            memory_folder=place.copy_memory_folder,
        )

    def finish(self, begun: Seat, place: Place, wish: CellWish) -> OpenSandbox | NotRunning:
        """Make it."""
        del begun
        return open_cell(place, wish)


class WallMaker:
    """Makes walls, or seats that nothing is kept from: rewritten into the place, other ports."""

    def __init__(self, kind: Literal["wall", "open"]) -> None:
        self._kind = kind

    def begin(self, place: Place, listening: Iterable[str] = ()) -> BegunSeat:
        """Return the seat, in which nothing stands yet."""
        make_copy_folders(place)
        return WallSeat(place, self._kind, listening)

    def finish(self, begun: Seat, place: Place, wish: CellWish) -> OpenSandbox | NotRunning:
        """Put its files where the copy has them."""
        if not isinstance(begun, WallSeat):
            raise TypeError("a wall is finished that was begun as something else")
        return open_wall(place, wish, kind=self._kind, seat=begun)


def enter_for(isolation: Isolation) -> None:
    """Run this command anew in a user namespace, where cells of this isolation need that.

    Nothing may have been begun that has to be ended in order. Behind a wall it would do harm: what
    takes itself for root there cannot do what root can.

    Raises:
        AdapterError: It cannot be run anew.
    """
    if isolation in {"auto", "cell"} and cell_complaint() is None:
        run_anew_in_user_namespace()


def seat_maker(isolation: Isolation) -> SeatMaker | Reason:
    """Return what makes seats of this isolation, or why it cannot be had here.

    `auto` is a cell, else a wall; nothing weaker.
    """
    if isolation == "open":
        return WallMaker("open")
    cell = cell_complaint() if isolation in {"auto", "cell"} else None
    if isolation in {"auto", "cell"} and cell is None:
        return CellMaker()
    wall = wall_complaint() if isolation in {"auto", "wall"} else None
    if isolation in {"auto", "wall"} and wall is None:
        return WallMaker("wall")
    why = because("sandbox.neither", cell=cell, wall=wall) if cell and wall else cell or wall
    return because("sandbox.no_copy", why=why)
