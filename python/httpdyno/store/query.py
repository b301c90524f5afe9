"""What the store asks of its tables."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from httpdyno.errors import StoreError
from httpdyno.model import StartRecord, WindowRecord
from httpdyno.store.schema import runs, starts, windows

_NO_SUCH_RUN = "`httpdyno history` lists what is stored."
WHOLE_RUNS = {"load": "a load test", "turns": "a comparison of running servers"}
"""Commands whose runs have neither starts nor windows, and what such a run is."""


def key_of(run_id: str) -> int:
    """Return the number of a run.

    Raises:
        StoreError: It is not the id of a run.
    """
    if not (run_id.isascii() and run_id.isdigit() and len(run_id) < 10):  # noqa: PLR2004 - 32 bits
        raise StoreError(f"`{run_id}` is not the id of a run", hint=_NO_SUCH_RUN)
    return int(run_id)


def found_run(connection: Connection, run_id: str, *columns: sa.Column[Any]) -> sa.Row[Any]:
    """Return columns of a run.

    Raises:
        StoreError: There is no such run.
    """
    row = connection.execute(sa.select(*columns).where(runs.c.id == key_of(run_id))).first()
    if row is None:
        raise StoreError(f"there is no run {run_id}", hint=_NO_SUCH_RUN)
    return row


def require_study(row: sa.Row[Any], run_id: str) -> None:
    """Refuse a run that is none of a study.

    Raises:
        StoreError: It is whole, without starts.
    """
    if row.command in WHOLE_RUNS:
        raise StoreError(
            f"run {run_id} is {WHOLE_RUNS[row.command]} of {row.study}, not one of a study",
            hint=_NO_SUCH_RUN,
        )


def update_of(run_id: str) -> sa.Update:
    """Return an update of a run."""
    return sa.update(runs).where(runs.c.id == key_of(run_id))


def same_start(
    table: sa.Table, run_id: str, what: WindowRecord | StartRecord
) -> tuple[sa.ColumnElement[bool], ...]:
    """Return what is true of rows of the same start."""
    return (
        table.c.run_id == key_of(run_id),
        table.c.comparison == what.comparison,
        table.c.start == what.start,
    )


def same_window(run_id: str, window: WindowRecord) -> tuple[sa.ColumnElement[bool], ...]:
    """Return what is true of the row of the same window."""
    return (
        *same_start(windows, run_id, window),
        windows.c.block == window.block,
        windows.c.arm == window.arm,
    )


def of_same_start() -> sa.ColumnElement[bool]:
    """Return what joins a window with its start."""
    return sa.and_(
        windows.c.run_id == starts.c.run_id,
        windows.c.comparison == starts.c.comparison,
        windows.c.start == starts.c.start,
    )


def ordered_starts(key: int, comparison: int | None) -> sa.Select[Any]:
    """Return a query for starts, by comparison and start."""
    query = sa.select(starts.c.payload).where(starts.c.run_id == key)
    if comparison is not None:
        query = query.where(starts.c.comparison == comparison)
    return query.order_by(starts.c.comparison, starts.c.start)


def windows_of_starts(key: int, comparison: int | None) -> sa.Select[Any]:
    """Return a query for the windows of starts, as they were measured."""
    query = sa.select(windows.c.payload).join_from(windows, starts, of_same_start())
    query = query.where(windows.c.run_id == key)
    if comparison is not None:
        query = query.where(windows.c.comparison == comparison)
    # In the order in which they were measured, which is random within a block.
    return query.order_by(windows.c.id)


def runs_of_study(study: str) -> sa.Select[Any]:
    """Return a query for the numbers of a study's runs that have an outcome, the newest first."""
    is_of_study = (runs.c.study == study, runs.c.command.not_in(WHOLE_RUNS))
    query = sa.select(runs.c.id).where(*is_of_study, runs.c.outcome.is_not(None))
    return query.order_by(runs.c.id.desc())


def summaries() -> sa.Select[Any]:
    """Return a query for what a list of runs says of each, the newest first."""
    of_start = (starts.c.run_id == runs.c.id, starts.c.is_complete == 1)
    n_starts = sa.select(sa.func.count()).where(*of_start)
    of_run = windows.c.run_id == runs.c.id
    n_windows = sa.select(sa.func.count()).where(of_run)
    last_saved_at = sa.select(sa.func.max(windows.c.saved_at)).where(of_run)
    return sa.select(
        runs.c.id,
        runs.c.study,
        runs.c.command,
        runs.c.status,
        runs.c.owner,
        runs.c.began_at,
        runs.c.duration_s,
        runs.c.metric,
        runs.c.verdict,
        runs.c.ratio,
        runs.c.ratio_low,
        runs.c.ratio_high,
        runs.c.headline,
        n_starts.scalar_subquery().label("n_starts"),
        n_windows.scalar_subquery().label("n_windows"),
        last_saved_at.scalar_subquery().label("last_saved_at"),
    ).order_by(runs.c.id.desc())
