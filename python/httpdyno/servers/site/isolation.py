"""How copies are kept apart from what is real: the strongest way that this machine allows."""

from httpdyno.model import Isolation
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.cell.account import is_root_of_the_machine
from httpdyno.servers.cell.seat import open_cell
from httpdyno.servers.cell.wish import CellWish
from httpdyno.servers.site.seating import OpenSeat, SeatMaker


class CellMaker:
    """Makes cells: mount and network namespaces, in which their paths and ports are their own."""

    kind = "cell"

    @property
    def is_root(self) -> bool:
        """Whether what runs in them is root of the machine."""
        return is_root_of_the_machine()

    def __call__(self, place: Place, wish: CellWish) -> OpenSeat | NotRunning:
        """Make one."""
        return open_cell(place, wish)


def seat_maker(isolation: Isolation) -> SeatMaker | str:
    """Return what makes seats of this isolation, or why it cannot be had."""
    if isolation not in {"auto", "cell"}:
        return f"no private copy can be kept apart by `{isolation}` here"
    return CellMaker()
