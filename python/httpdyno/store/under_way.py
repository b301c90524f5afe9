"""What is stored of a run that a process is at: for whoever looks while it goes on.

Of windows columns are read, summed up by the database: a run has thousands of them, and who follows
it asks again and again. Latency and memory are in no column. Percentiles do not add up, so
distributions are merged, and those are in payloads. Read are those of windows of open starts, and
of their comparisons' last complete ones, and of them few fields: who follows a run asks for them
again and again on the machine that measures.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from httpdyno.host.process_identity import ProcessIdentity
from httpdyno.model import (
    ArmUnderWay,
    HistogramData,
    LatencySoFar,
    PoolMemory,
    RootProcess,
    RunUnderWay,
    StartRecord,
    StartServers,
    StartUnderWay,
)
from httpdyno.model.measurement import NO_VALUES
from httpdyno.stats.histogram import can_show, could_move, count, merge, quantile_s
from httpdyno.store.query import from_text, key_of, of_run, of_same_start, part_from_text, summaries
from httpdyno.store.schema import runs, starts, windows

_P50, _P99 = 0.5, 0.99


class ArmPlace(NamedTuple):
    """An arm of a start of a comparison."""

    comparison: int
    start: int
    arm: int


class SoFar(NamedTuple):
    """What is known of an arm."""

    latency: LatencySoFar | None = None
    memory: PoolMemory | None = None


class _Measured(msgspec.Struct, frozen=True):
    latency: HistogramData = NO_VALUES
    censored: HistogramData = NO_VALUES


class _Taken(msgspec.Struct, frozen=True):
    pss_bytes: int | None = None
    uss_bytes: int | None = None


class _Window(msgspec.Struct, frozen=True):
    """The fields of a stored window that are read."""

    measurement: _Measured
    telemetry: _Taken


def arms_so_far(connection: Connection, key: int) -> dict[ArmPlace, SoFar]:
    """Return what is known of each arm of the starts of a run that are open, and have windows."""
    found: dict[ArmPlace, list[_Window]] = {}
    for row in connection.execute(_windows_of_open(key)):
        place = ArmPlace(row.comparison, row.start, row.arm)
        found.setdefault(place, []).append(_part(row.payload, key))
    return {
        place: SoFar(latency=_latency(seen), memory=_memory(seen, place.start))
        for place, seen in found.items()
    }


def memory_before(connection: Connection, key: int, comparison: int) -> dict[int, PoolMemory]:
    """Return by arm what a comparison's servers took in its last complete start."""
    of_it = (windows.c.run_id == key, windows.c.comparison == comparison)
    newest = (
        sa.select(sa.func.max(windows.c.id))
        .join_from(windows, starts, of_same_start())
        .where(*of_it, starts.c.is_complete == 1)
        .group_by(windows.c.arm)
    )
    query = sa.select(windows.c.start, windows.c.arm, windows.c.payload)
    rows = connection.execute(query.where(windows.c.id.in_(newest)))
    found = {row.arm: _memory([_part(row.payload, key)], row.start) for row in rows}
    return {arm: memory for arm, memory in found.items() if memory is not None}


def _windows_of_open(key: int) -> sa.Select[Any]:
    return (
        sa.select(windows.c.comparison, windows.c.start, windows.c.arm, windows.c.payload)
        .join_from(windows, starts, of_same_start())
        .where(windows.c.run_id == key, starts.c.is_complete == 0)
        .order_by(windows.c.id)
    )


def _part(payload: str, key: int) -> _Window:
    return part_from_text(payload, _Window, of_run("window", key))


def _latency(seen: list[_Window]) -> LatencySoFar | None:
    latency = merge(each.measurement.latency for each in seen)
    censored = merge(each.measurement.censored for each in seen)
    if not latency.counts:
        return None
    return LatencySoFar(
        n_requests=count(latency),
        p50_s=_shown(latency, _P50),
        p99_s=_shown(latency, _P99),
        is_p50_lower_bound=_is_lower_bound(latency, censored, _P50),
        is_p99_lower_bound=_is_lower_bound(latency, censored, _P99),
    )


def _shown(latency: HistogramData, q: float) -> float | None:
    return quantile_s(latency, q) if can_show(latency, q) else None


def _is_lower_bound(latency: HistogramData, censored: HistogramData, q: float) -> bool:
    return can_show(latency, q) and could_move(latency, censored, q)


def _memory(seen: list[_Window], start: int) -> PoolMemory | None:
    """Return what was read last."""
    for taken in (each.telemetry for each in reversed(seen)):
        if taken.pss_bytes is not None:
            return PoolMemory(pss_bytes=taken.pss_bytes, uss_bytes=taken.uss_bytes, start=start)
    return None


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
        record = from_text(row.payload, StartRecord, of_run("start", key))
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
    record: StartRecord, so_far: Mapping[ArmPlace, SoFar], before: Mapping[int, PoolMemory]
) -> list[SoFar]:
    """Return what is known of each arm of a start; of its memory what was known before."""
    seen = []
    for arm in range(len(record.configurations)):
        own = so_far.get(ArmPlace(record.comparison, record.start, arm), SoFar())
        seen.append(own._replace(memory=own.memory or before.get(arm)))
    return seen


def _roots(servers: str | None, key: int) -> tuple[tuple[RootProcess, ...], ...]:
    if servers is None:
        return ()
    return from_text(servers, StartServers, of_run("servers", key)).roots


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
