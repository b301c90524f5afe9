"""Why private copies cannot be isolated here, as a reason to skip."""

from httpdyno.report.shared.message import text
from httpdyno.servers.sandbox.available import cell_complaint, possible, wall_complaint


def no_cell() -> str:
    """Return why no cell can be made; empty where one can."""
    why = cell_complaint()
    return "" if why is None else text(why)


def no_wall() -> str:
    """Return why no wall can be made; empty where one can."""
    why = wall_complaint()
    return "" if why is None else text(why)


def not_safest() -> str:
    """Return why the safest isolation cannot be had; empty where it can."""
    _, why = possible()
    return "" if why is None else text(why)
