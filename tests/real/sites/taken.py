"""Whether a copy takes a configuration: the server's own test in its seat, and its bytes."""

import hashlib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from httpdyno.model import Configuration, Edit, Isolation, Level, Member, Survey
from httpdyno.reason import Reason
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.sandbox.sandbox import CellWish
from httpdyno.servers.stack.adapter import MemberFiles, ServerAdapter
from httpdyno.servers.stack.seats import seat_maker
from httpdyno.servers.stack.snapshot import edited, edited_files

# Addresses that this machine does not have may be bound.
ANY_ADDRESS = {"net.ipv4.ip_nonlocal_bind": "1", "net.ipv6.ip_nonlocal_bind": "1"}
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def refused_in_seat(  # noqa: PLR0913 - who, how, where
    adapter: ServerAdapter,
    member: Member,
    survey: Survey,
    values: Mapping[str, Level],
    *,
    kind: Isolation,
    place: Place,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Return why a copy in a seat does not take these values; empty where it does.

    The server tests what it would be started with, and what lies in a cell is what was meant.
    `variables` are of its environment, besides the usual ones.
    """
    maker = seat_maker(kind)
    if isinstance(maker, Reason):
        return text(maker)
    files = adapter.read(member)
    begun = maker.begin(place, [each.address for each in survey.listeners])
    changes = adapter.change_set(survey, files, values)
    edits = (*changes.edits, *adapter.private(survey, files, begun))
    texts = {**files.texts, **edited_files(files.texts, edits)}
    sysctls = {**changes.sysctls, **(ANY_ADDRESS if kind == "cell" else {})}
    logs = [log.path for log in survey.logs if log.path.startswith("/")]
    wish = CellWish(files=texts, writes=survey.writes, logs=logs, sysctls=sysctls)
    seat = maker.finish(begun, place, wish)
    if isinstance(seat, NotRunning):
        return text(seat.detail)
    try:
        launch = adapter.launch(member, survey, seat, Configuration(values=dict(values)), changes)
        environment = {**ENVIRONMENT, **launch.environment, **(variables or {})}
        done = seat.run([*launch.command, "-t"], environment=environment, folder=launch.folder)
        if done.exit_code:
            return (done.errors or done.output or "no words").strip()
        if kind != "cell":
            # Addresses and paths of files are others there, as they have to be.
            return ""
        paths = [seat.path(path) for path in texts]
        sums = seat.run(["/usr/bin/sha256sum", *paths], environment=ENVIRONMENT)
        found = [line.split()[0].lstrip("\\") for line in sums.output.splitlines()]
        meant = [hashlib.sha256(text).hexdigest() for text in texts.values()]
        return "" if found == meant else "files in the cell are not what was put there"
    finally:
        seat.close()


def moved_bytes(files: MemberFiles, edits: tuple[Edit, ...]) -> str:
    """Return where a byte that no edit names changes, or undoing is not exact; empty: nowhere."""
    after = edited_files(files.texts, edits)
    for path, new in after.items():
        old = files.texts[path]
        own = sorted((e for e in edits if e.file == path), key=lambda e: (e.start, e.end))
        kept, undo, shift = [], [], 0
        for edit in own:
            length = len(edit.text.encode())
            start = edit.start + shift
            undo.append(
                Edit(
                    file=path,
                    start=start,
                    end=start + length,
                    text=old[edit.start : edit.end].decode(),
                )
            )
            shift += length - (edit.end - edit.start)
            kept.append((edit.start, edit.end, start, start + length))
        bounds = [(0, 0, 0, 0), *kept, (len(old), len(old), len(new), len(new))]
        for before, behind in pairwise(bounds):
            if old[before[1] : behind[0]] != new[before[3] : behind[2]]:
                return f"{path}: bytes {before[1]} to {behind[0]} are not what they were"
        if edited(new, undo) != old:
            return f"{path}: undone, it is not what it was"
    return ""


def bytes_below(folder: Path) -> dict[str, bytes]:
    """Return what each file below a folder holds."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): path.read_bytes() for path in files}
