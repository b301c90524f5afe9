"""Starts and their windows as they are written: within the transaction of who writes them."""

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from httpdyno.errors import StoreError
from httpdyno.model import StartRecord, StartServers, WindowRecord
from httpdyno.store.payload import to_text
from httpdyno.store.query import key_of, same_start
from httpdyno.store.row import window_row
from httpdyno.store.schema import starts, windows


def keep_named_windows(connection: Connection, run_id: str, claim: int, start: StartRecord) -> None:
    """Drop windows of a start that are not its own: those that it names, or of an earlier owner."""
    mine = same_start(windows, run_id, start)
    if not start.windows:
        connection.execute(sa.delete(windows).where(*mine, windows.c.claim < claim))
        return
    saved = connection.execute(
        sa.select(windows.c.block, windows.c.arm, windows.c.claim).where(*mine)
    )
    named = {(window.block, window.arm, claim) for window in start.windows}
    if {tuple(row) for row in saved} == named:
        return
    connection.execute(sa.delete(windows).where(*mine))
    rows = [window_row(key_of(run_id), claim, window) for window in start.windows]
    connection.execute(sa.insert(windows), rows)


def require_open(connection: Connection, run_id: str, what: WindowRecord | StartRecord) -> None:
    """See that a start takes more.

    Raises:
        StoreError: It is complete.
    """
    mine = (*same_start(starts, run_id, what), starts.c.is_complete == 1)
    if connection.execute(sa.select(starts.c.start).where(*mine)).first():
        raise StoreError(
            f"start {what.start} of comparison {what.comparison} of run {run_id} "
            "is complete: it takes no more windows"
        )


def put_start(connection: Connection, run_id: str, start: StartRecord) -> None:
    """Store a start in place of what was stored of it."""
    connection.execute(sa.delete(starts).where(*same_start(starts, run_id, start)))
    row = {
        "run_id": key_of(run_id),
        "comparison": start.comparison,
        "start": start.start,
        "began_at": start.began_at,
        "duration_s": start.duration_s,
        "is_complete": int(start.is_complete),
        "payload": to_text(start),
    }
    connection.execute(sa.insert(starts).values(row))


def put_servers(
    connection: Connection, run_id: str, place: tuple[int, int], servers: StartServers
) -> None:
    """Store the servers of a start that is under way: `place` is its comparison and number."""
    mine = (
        starts.c.run_id == key_of(run_id),
        starts.c.comparison == place[0],
        starts.c.start == place[1],
        starts.c.is_complete == 0,
    )
    connection.execute(sa.update(starts).where(*mine).values(servers=to_text(servers)))
