"""How copies are kept apart from what is real: the strongest way that this machine allows."""

from collections.abc import Iterable
from typing import Literal

from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.model import Isolation
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.run.folder import make_copy_folders
from httpdyno.servers.sandbox.available import cell_complaint, wall_complaint
from httpdyno.servers.sandbox.landlock import WallSeat, open_wall
from httpdyno.servers.sandbox.namespace import open_cell
from httpdyno.servers.sandbox.sandbox import CellWish, OpenSandbox, Seat
from httpdyno.servers.sandbox.user_namespace import run_anew_in_user_namespace
from httpdyno.servers.site.seating import (
    BegunSeat,
    SeatMaker,
    Sketch,
)


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
    if isolation in {"auto", "cell"} and not cell_complaint():
        run_anew_in_user_namespace()


def seat_maker(isolation: Isolation) -> SeatMaker | str:
    """Return what makes seats of this isolation, or why it cannot be had here.

    `auto` is a cell, else a wall; nothing weaker.
    """
    if isolation == "open":
        return WallMaker("open")
    complaints: list[str] = []
    if isolation in {"auto", "cell"}:
        if not (complaint := cell_complaint()):
            return CellMaker()
        complaints.append(complaint)
    if isolation in {"auto", "wall"}:
        if not (complaint := wall_complaint()):
            return WallMaker("wall")
        complaints.append(complaint)
    return f"no private copy can be kept apart here: {', and '.join(complaints)}"
