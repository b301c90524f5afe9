"""Records as rows: what is written into tables and asked of them.

A record is stored as JSON. Infinity is stored as `Infinity`, as Python and SQLite's own JSON
functions read it: an interval that the data bound nothing of must come back as it went in, and
msgspec alone writes null.

Starts and windows are written within the transaction of who writes them.
"""

import json
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from httpdyno.errors import StoreError
from httpdyno.metrics.table import named
from httpdyno.model import HostFacts, Outcome, Record, StartRecord, StartServers, WindowRecord
from httpdyno.stats.histogram import quantile_s
from httpdyno.store.schema import runs, starts, windows

R = TypeVar("R", bound=msgspec.Struct)


def to_text(record: msgspec.Struct) -> str:
    """Return the record as JSON."""
    return json.dumps(msgspec.to_builtins(record), ensure_ascii=False, separators=(",", ":"))


def from_text(text: str, kind: type[R], what: str) -> R:
    """Return the record that the JSON holds.

    Args:
        text: As `to_text` wrote it.
        kind: The type of the record.
        what: How a message names it: `the plan of run 12`.

    Raises:
        StoreError: It is not such a record.
    """
    try:
        return msgspec.convert(json.loads(text), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise _unreadable(what, error) from error


def part_from_text(text: str, kind: type[R], what: str) -> R:
    """Return the fields of a stored record that `kind` has too, for a fraction of the whole's cost.

    Args:
        text: As `to_text` wrote it.
        kind: It ignores fields that it does not have.
        what: How a message names it.

    Raises:
        StoreError: Those fields are of another type.
    """
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:  # which infinity is, too
        pass
    try:
        return msgspec.convert(json.loads(text), kind)
    except (ValueError, TypeError, RecursionError) as error:
        raise _unreadable(what, error) from error


def _unreadable(what: str, error: Exception) -> StoreError:
    return StoreError(
        f"{what} cannot be read: {error}",
        hint="It was stored by another version of httpdyno; measure it again.",
    )


WHOLE_RUNS = {"load": "a load test", "turns": "a live comparison"}
"""Commands whose runs have neither starts nor windows, and what such a run is."""


def of_run(noun: str, run_id: object) -> str:
    """Return how a message names a record of a run."""
    return f"the {noun} of run {run_id}"


def key_of(run_id: str) -> int:
    """Return the number of a run.

    Raises:
        StoreError: It is not the id of a run.
    """
    if not (run_id.isascii() and run_id.isdigit() and len(run_id) < 10):  # noqa: PLR2004 - 32 bits
        raise StoreError(
            f"`{run_id}` is not the id of a run", hint="`httpdyno history` lists what is stored."
        )
    return int(run_id)


def found_run(connection: Connection, run_id: str, *columns: sa.Column[Any]) -> sa.Row[Any]:
    """Return columns of a run.

    Raises:
        StoreError: There is no such run.
    """
    row = connection.execute(sa.select(*columns).where(runs.c.id == key_of(run_id))).first()
    if row is None:
        raise StoreError(
            f"there is no run {run_id}", hint="`httpdyno history` lists what is stored."
        )
    return row


def require_study(row: sa.Row[Any], run_id: str) -> None:
    """Refuse a run that is none of a study.

    Raises:
        StoreError: It is whole, without starts.
    """
    if row.command in WHOLE_RUNS:
        raise StoreError(
            f"run {run_id} is {WHOLE_RUNS[row.command]} of {row.study}, not one of a study",
            hint="`httpdyno history` lists what is stored.",
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


_NO_PLAN = "null"
"""In the place of the plan of what has none."""


def now() -> str:
    """Return the present instant as it is stored: UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def passed_s(began_at: str, ended_at: str) -> float:
    """Return the seconds between two instants; 0 where one of them is none."""
    try:
        passed = datetime.fromisoformat(ended_at) - datetime.fromisoformat(began_at)
    except (ValueError, TypeError):  # no instants, or one without its zone
        return 0.0
    return passed.total_seconds()


def whole_row(  # noqa: PLR0913 - the columns of what has neither starts nor windows
    *,
    what: str,
    command: str,
    is_interrupted: bool,
    began_at: str,
    duration_s: float,
    host: HostFacts,
    outcome: Record,
    headline: str,
) -> dict[str, Any]:
    """Return the row of a run that is stored whole when it has ended.

    Args:
        what: Was loaded.
        command: Its kind.
        is_interrupted: Whether it was cut short.
        began_at: As it is stored; empty is now.
        duration_s: Of the run.
        host: Where it was made.
        outcome: All that was found.
        headline: The same in a line.
    """
    return {
        "study": what,
        "command": command,
        "status": "interrupted" if is_interrupted else "complete",
        "began_at": began_at or now(),
        "duration_s": duration_s,
        "n_claims": 1,
        "metric": "",
        "plan": _NO_PLAN,
        "host": to_text(host),
        "outcome": to_text(outcome),
        "headline": headline,
    }


def window_row(run_key: int, claim: int, window: WindowRecord) -> dict[str, Any]:
    """Return the row of a window.

    Args:
        run_key: The run's number.
        claim: How many times the run had been claimed when the window was measured.
        window: What was measured.
    """
    measurement = window.measurement
    # The CPU time is the whole window's, so it is divided by all that it was used for.
    completed = measurement.completed
    has_latency = bool(measurement.latency.counts)
    return {
        "run_id": run_key,
        "comparison": window.comparison,
        "start": window.start,
        "block": window.block,
        "arm": window.arm,
        "claim": claim,
        "saved_at": now(),
        "measured_s": measurement.measured_s,
        "throughput_per_s": measurement.throughput_per_s,
        "cpu_s_per_request": window.telemetry.cpu_s / completed if completed else None,
        "latency_p50_s": quantile_s(measurement.latency, 0.5) if has_latency else None,
        "latency_p99_s": quantile_s(measurement.latency, 0.99) if has_latency else None,
        "offered": measurement.offered,
        "completed": measurement.completed,
        "n_errors": measurement.n_errors,
        "payload": to_text(window),
    }


def final_columns(outcome: Outcome) -> dict[str, Any]:
    """Return what a list of runs says of the final comparison."""
    final = outcome.final
    interval = final.ratios.get(named(final.metric).ratio) if final else None
    return {
        "metric": outcome.plan.study.objective.metric,
        "verdict": final.verdict if final else None,
        "ratio": interval.ratio if interval else None,
        "ratio_low": interval.low if interval else None,
        "ratio_high": interval.high if interval else None,
    }


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
