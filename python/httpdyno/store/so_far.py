"""Latency and memory of starts under way, which are in no column.

Percentiles do not add up, so distributions are merged, and those are in payloads. Read are those
of windows of open starts, and of their comparisons' last complete ones, and of them few fields: who
follows a run asks for them again and again on the machine that measures.
"""

from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from httpdyno.model import HistogramData, LatencySoFar, PoolMemory
from httpdyno.model.measurement import NO_VALUES
from httpdyno.stats.censoring import could_move
from httpdyno.stats.histogram import can_show, count, merge, quantile_s
from httpdyno.store.payload import part_from_text
from httpdyno.store.query import of_same_start
from httpdyno.store.schema import starts, windows

_P50, _P99 = 0.5, 0.99


class Place(NamedTuple):
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


def arms_so_far(connection: Connection, key: int) -> dict[Place, SoFar]:
    """Return what is known of each arm of the starts of a run that are open, and have windows."""
    found: dict[Place, list[_Window]] = {}
    for row in connection.execute(_windows_of_open(key)):
        place = Place(row.comparison, row.start, row.arm)
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
    return part_from_text(payload, _Window, f"a window of run {key}")


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
