"""A folder in a seat for files that a member's copy needs beside theirs, whoever it runs as."""

import os
from pathlib import Path

from httpdyno.host.runnable import account
from httpdyno.model import Member
from httpdyno.servers.run.folder import held_own, let_through
from httpdyno.servers.sandbox.sandbox import Seat


def own_folder(member: Member, seat: Seat, what: str, *, top: Path | None = None) -> Path:
    """Make the folder of a member's own files in its seat, one that its children may look into.

    Args:
        member: Whose it is.
        seat: Where it sits.
        what: Of the folder's name, behind the member's.
        top: Which of the seat's folders it is made in; None is the one on disk.

    Raises:
        OSError: It cannot be made, or a link stands in its place.
    """
    name, top = f"{member.name}-{what}", top or seat.folder
    with held_own(top, name) as folder:
        os.fchmod(folder, 0o755)
        if seat.is_root:
            # What runs is perhaps another user: he may go through, and look at nothing else.
            let_through(top, is_apart=seat.kind == "cell")
            if member.user:
                os.fchown(folder, *account(member.user)[:2])
    return top / name
