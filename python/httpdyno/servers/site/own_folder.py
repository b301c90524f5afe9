"""A folder in a seat for files that a member's copy needs beside theirs, whoever it runs as."""

import os
from pathlib import Path

from httpdyno.model import Member
from httpdyno.runnable import account
from httpdyno.servers.own_folder import held_own, let_through
from httpdyno.servers.seat import Seat


def own_folder(member: Member, seat: Seat, what: str) -> Path:
    """Make the folder of a member's own files in its seat, one that its children may look into.

    Raises:
        OSError: It cannot be made, or a link stands in its place.
    """
    name = f"{member.name}-{what}"
    with held_own(seat.folder, name) as folder:
        os.fchmod(folder, 0o755)
        if seat.is_root:
            # What runs is perhaps another user: he may go through, and look at nothing else.
            let_through(seat.folder, is_apart=seat.kind == "cell")
            if member.user:
                os.fchown(folder, *account(member.user)[:2])
    return seat.folder / name
