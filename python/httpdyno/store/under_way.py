"""What is stored of a run that a process is at: for whoever looks while it goes on.

Of windows columns are read, summed up by the database: a run has thousands of them, and who follows
it asks again and again. What is in no column is read of starts under way only: see `so_far`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from httpdyno.host.process_identity import ProcessIdentity
from httpdyno.model import (
    ArmUnderWay,
    PoolMemory,
    RootProcess,
    RunUnderWay,
    StartRecord,
    StartServers,
    StartUnderWay,
)
from httpdyno.store.payload import from_text
from httpdyno.store.query import key_of, of_same_start, summaries
from httpdyno.store.schema import runs, starts, windows
from httpdyno.store.so_far import Place, SoFar, arms_so_far, memory_before


def run_row(connection: Connection, run_id: str) -> sa.Row[Any] | None:
    """Return what a list of runs says of one; None where there is none of that id."""
    return connection.execute(summaries().where(runs.c.id == key_of(run_id))).first()


def run_under_way(connection: Connection, row: sa.Row[Any], owner: ProcessIdentity) -> RunUnderWay:
    """Return what is known so far of a run.

    Args:
        connection: In the transaction that the row was read in.
        row: As `run_row` has it.
        owner: The process that is at it.
    """
    return RunUnderWay(
        id=str(row.id),
        study=row.study,
        command=row.command,
        began_at=row.began_at,
        pid=owner.pid,
        host=owner.host,
        n_starts=row.n_starts,
        n_windows=row.n_windows,
        last_saved_at=row.last_saved_at or "",
        starts=tuple(_starts(connection, row.id)),
    )


def _starts(connection: Connection, key: int) -> list[StartUnderWay]:
    is_open = (starts.c.run_id == key, starts.c.is_complete == 0)
    found = connection.execute(
        sa.select(starts.c.payload, starts.c.servers)
        .where(*is_open)
        .order_by(starts.c.comparison, starts.c.start)
    ).all()
    figures, so_far = _figures(connection, key), arms_so_far(connection, key)
    before: dict[int, dict[int, PoolMemory]] = {}
    n_claims = connection.execute(sa.select(runs.c.n_claims).where(runs.c.id == key)).scalar()
    under_way = []
    for row in found:
        record = from_text(row.payload, StartRecord, f"a start of run {key}")
        mine = figures.get((record.comparison, record.start), {})
        # A process that was killed left it, and who goes on with the run is not there yet.
        if mine and all(each.claim < n_claims for each in mine.values()):
            continue
        if record.comparison not in before:
            before[record.comparison] = memory_before(connection, key, record.comparison)
        seen = _seen(record, so_far, before[record.comparison])
        under_way.append(_start(record, mine, _roots(row.servers, key), seen))
    return under_way


def _seen(
    record: StartRecord, so_far: Mapping[Place, SoFar], before: Mapping[int, PoolMemory]
) -> list[SoFar]:
    """Return what is known of each arm of a start; of its memory what was known before."""
    seen = []
    for arm in range(len(record.configurations)):
        own = so_far.get(Place(record.comparison, record.start, arm), SoFar())
        seen.append(own._replace(memory=own.memory or before.get(arm)))
    return seen


def _roots(servers: str | None, key: int) -> tuple[tuple[RootProcess, ...], ...]:
    if servers is None:
        return ()
    return from_text(servers, StartServers, f"the servers of a start of run {key}").roots


def _figures(connection: Connection, key: int) -> dict[tuple[int, int], dict[int, sa.Row[Any]]]:
    """Return the sums of each arm's windows, by comparison and start, then by arm."""
    place = (windows.c.comparison, windows.c.start, windows.c.arm)
    query = (
        sa.select(
            *place,
            sa.func.count().label("n_windows"),
            sa.func.avg(windows.c.throughput_per_s).label("throughput_per_s"),
            sa.func.avg(windows.c.cpu_s_per_request).label("cpu_s_per_request"),
            sa.func.sum(windows.c.n_errors).label("n_errors"),
            sa.func.max(windows.c.claim).label("claim"),
        )
        .join_from(windows, starts, of_same_start())
        .where(windows.c.run_id == key, starts.c.is_complete == 0)
        .group_by(*place)
    )
    found: dict[tuple[int, int], dict[int, sa.Row[Any]]] = {}
    for row in connection.execute(query):
        found.setdefault((row.comparison, row.start), {})[row.arm] = row
    return found


def _start(
    record: StartRecord,
    figures: Mapping[int, sa.Row[Any]],
    roots: Sequence[tuple[RootProcess, ...]],
    so_far: Sequence[SoFar],
) -> StartUnderWay:
    arms = []
    for number, configuration in enumerate(record.configurations):
        row = figures.get(number)
        arms.append(
            ArmUnderWay(
                configuration=configuration,
                roots=roots[number] if number < len(roots) else (),
                n_windows=row.n_windows if row else 0,
                throughput_per_s=row.throughput_per_s if row else None,
                cpu_s_per_request=row.cpu_s_per_request if row else None,
                n_errors=int(row.n_errors) if row else 0,
                latency=so_far[number].latency,
                memory=so_far[number].memory,
            )
        )
    return StartUnderWay(
        comparison=record.comparison,
        start=record.start,
        stage=record.stage,
        began_at=record.began_at,
        arms=tuple(arms),
    )
