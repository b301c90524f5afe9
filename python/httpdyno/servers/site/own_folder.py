"""A folder in a seat for files that a member's copy needs beside theirs, whoever it runs as."""

import os
from pathlib import Path

from httpdyno.model import Member
from httpdyno.runnable import account
from httpdyno.servers.seat import Seat

_PASSABLE = 0o711


def own_folder(member: Member, seat: Seat, what: str) -> Path:
    """Make the folder of a member's own files in its seat, one that its children may look into.

    Raises:
        OSError: It cannot be made.
    """
    folder = seat.folder / f"{member.name}-{what}"
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)
    if seat.is_root:
        # What runs is perhaps another user: he may go through, and look at nothing else.
        seat.folder.chmod(seat.folder.stat().st_mode | _PASSABLE)
        if member.user:
            os.chown(folder, *account(member.user)[:2])
    return folder


def write_own(path: Path, text: str) -> None:
    """Write a file anew in such a folder, whose user may have put a link in its place.

    Raises:
        OSError: It cannot be written, or something took its place again.
    """
    path.unlink(missing_ok=True)
    # With `O_EXCL` no link is followed, whoever made it.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        os.fchmod(handle, 0o644)
        file.write(text)
