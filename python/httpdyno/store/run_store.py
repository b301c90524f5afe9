"""Runs of studies and load tests, and everything that they measured.

A window is committed when `save_window` returns, so a run that is killed has lost none. A start is
there from `begin_start` on, and is complete once `save_start` returned; what it stored before is
kept, and replaced when the run is resumed and measures that start anew.

Load tests and comparisons of running servers are stored whole when they have ended.
"""

import os
import socket
from types import TracebackType
from typing import Any, Protocol, Self

import sqlalchemy as sa
from msgspec.structs import replace

from httpdyno.errors import StoreError
from httpdyno.host.process_identity import Life, ProcessIdentity
from httpdyno.model import (
    HostFacts,
    LoadOutcome,
    Outcome,
    Plan,
    RunSummary,
    RunUnderWay,
    StartRecord,
    StartServers,
    TurnsOutcome,
    WindowRecord,
)
from httpdyno.secret import with_digests, without_values
from httpdyno.store.database import Database
from httpdyno.store.query import (
    WHOLE_RUNS,
    final_columns,
    found_run,
    from_text,
    keep_named_windows,
    key_of,
    now,
    of_run,
    ordered_starts,
    passed_s,
    put_servers,
    put_start,
    require_open,
    require_study,
    runs_of_study,
    same_start,
    same_window,
    summaries,
    to_text,
    update_of,
    whole_row,
    window_row,
    windows_of_starts,
)
from httpdyno.store.schema import runs, windows
from httpdyno.store.under_way import run_row, run_under_way


def may_be_at_it(owner: ProcessIdentity, *, is_shared: bool = False) -> bool:
    """Tell whether the process that a run belongs to still runs, or may.

    Args:
        owner: Who began the run, or took it over.
        is_shared: The database can be used from other hosts. What runs there cannot be
            seen from here, so it counts as alive.
    """
    if is_shared and owner.host != socket.gethostname():
        return True
    return owner.life() is not Life.GONE


def held_by(owner: ProcessIdentity, run_id: str) -> StoreError:
    """Return the error that nobody else may go on with a run that has an owner."""
    who = f"process {owner.pid} on {owner.host}"
    if owner.life() is Life.IN_DOUBT:
        return StoreError(
            f"run {run_id} may still be measured by {who}, which cannot be seen from here",
            hint="Resume it where that process would be seen: on the host itself, not in a "
            "container.",
        )
    return StoreError(
        f"run {run_id} is still being measured by {who}",
        hint="Wait until it ends, or stop it there.",
    )


class StudyStore(Protocol):
    """Where a run's windows and starts are kept as they end."""

    def begin_start(self, run_id: str, start: StartRecord) -> None:
        """Store that a start is being measured; what there was of it before is dropped.

        Raises:
            StoreError: It was already completed.
        """

    def save_servers(self, run_id: str, comparison: int, start: int, servers: StartServers) -> None:
        """Store which processes the servers of a start are that was begun.

        It is for whoever looks meanwhile: a start that is complete has none any more.
        """

    def save_window(self, run_id: str, window: WindowRecord) -> None:
        """Store one window of a start that was begun; it is there when this returns.

        Raises:
            StoreError: The start was already completed.
        """

    def save_start(self, run_id: str, start: StartRecord) -> None:
        """Store that a start is complete; its windows are stored already.

        Saved again, it replaces what was there. Where the record names windows, exactly those
        belong to the start afterwards.
        """

    def starts(self, run_id: str, comparison: int | None = None) -> list[StartRecord]:
        """Return the starts with their windows, by comparison and start.

        The one under way, and one that nobody finished, is there with the windows that ended, and
        is not `is_complete`.
        """

    def outcome(self, run_id: str) -> Outcome | None:
        """Return what was stored last; None before anything was."""

    def save_outcome(self, run_id: str, outcome: Outcome) -> None:
        """Store what the run found so far; replaces what was there."""


class Store:
    """The database of runs. Safe to use from several threads and several processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._me = ProcessIdentity.me()
        self._salt = os.urandom(4).hex()

    @classmethod
    def open(cls, url: str | None = None) -> Self:
        """Open the store, and make it where there is none.

        Args:
            url: A file, `sqlite:///FILE` or `postgresql://…`; `$HTTPDYNO_STORE` or a file in the
                user's data folder when None.

        Raises:
            StoreError: It cannot be opened, made or written, or a newer version wrote it.
        """
        return cls(Database.open(url))

    def close(self) -> None:
        """Close it; idempotent."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Where it is, as messages say it."""
        return self._database.name

    def create_run(self, plan: Plan, host: HostFacts) -> str:
        """Store a new run that belongs to this process, and return its id."""
        row = {
            "study": plan.study.name,
            "command": plan.command,
            "status": "running",
            "began_at": now(),
            "duration_s": 0.0,
            "owner": to_text(self._me),
            "n_claims": 1,
            "metric": plan.study.objective.metric,
            "plan": to_text(with_digests(plan, self._salt)),
            "host": to_text(host),
        }
        return self._new_run(row)

    def take_over(self, run_id: str) -> None:
        """Make an interrupted run this process's own, to go on with it.

        Raises:
            StoreError: There is no such run, it is complete, or another process is at it.
        """
        with self._database.writing() as connection:
            # SQLite lets one writer in at a time; PostgreSQL has to be told to keep others out.
            mine = sa.select(runs.c.id).where(runs.c.id == key_of(run_id))
            connection.execute(mine.with_for_update())
            row = found_run(connection, run_id, *_WHAT, runs.c.status, runs.c.owner)
            require_study(row, run_id)
            if row.status == "complete":
                raise StoreError(
                    f"run {run_id} is complete: there is nothing to resume",
                    hint=f"See it with `httpdyno report {run_id}`.",
                )
            owner = self._living_owner(row, run_id)
            if owner is not None and owner != self._me:
                raise held_by(owner, run_id)
            connection.execute(
                update_of(run_id).values(
                    status="running", owner=to_text(self._me), n_claims=runs.c.n_claims + 1
                )
            )

    def plan(self, run_id: str) -> Plan:
        """Return what the run is to do; secrets are digests in it (`secret`)."""
        with self._database.reading() as connection:
            row = found_run(connection, run_id, *_WHAT, runs.c.plan)
        require_study(row, run_id)
        return from_text(row.plan, Plan, of_run("plan", run_id))

    def replan(self, run_id: str, plan: Plan) -> None:
        """Store another plan for a run that goes on: with more time, say."""
        stored = with_digests(plan, self._salt)
        with self._database.writing() as connection:
            found_run(connection, run_id, runs.c.id)
            connection.execute(update_of(run_id).values(plan=to_text(stored)))

    def host(self, run_id: str) -> HostFacts:
        """Return the machine that the run was begun on."""
        with self._database.reading() as connection:
            text = found_run(connection, run_id, runs.c.host).host
        return from_text(text, HostFacts, of_run("host", run_id))

    def save_window(self, run_id: str, window: WindowRecord) -> None:
        """Store a window; it is committed when this returns.

        Windows that an earlier owner of the run left of this start are dropped: that start was
        never finished, and its server processes are gone.

        Raises:
            StoreError: There is no such run, or the start was already completed.
        """
        with self._database.writing() as connection:
            claim = found_run(connection, run_id, runs.c.n_claims).n_claims
            require_open(connection, run_id, window)
            orphans = same_start(windows, run_id, window)
            connection.execute(sa.delete(windows).where(*orphans, windows.c.claim < claim))
            connection.execute(sa.delete(windows).where(*same_window(run_id, window)))
            connection.execute(sa.insert(windows).values(window_row(key_of(run_id), claim, window)))

    def begin_start(self, run_id: str, start: StartRecord) -> None:
        """Store that a start is being measured; what there was of it before is dropped.

        Raises:
            StoreError: There is no such run, or the start was already completed.
        """
        with self._database.writing() as connection:
            found_run(connection, run_id, runs.c.id)
            require_open(connection, run_id, start)
            connection.execute(sa.delete(windows).where(*same_start(windows, run_id, start)))
            put_start(connection, run_id, replace(start, windows=(), is_complete=False))

    def save_servers(self, run_id: str, comparison: int, start: int, servers: StartServers) -> None:
        """Store which processes the servers of a start are that was begun."""
        with self._database.writing() as connection:
            found_run(connection, run_id, runs.c.id)
            put_servers(connection, run_id, (comparison, start), servers)

    def save_start(self, run_id: str, start: StartRecord) -> None:
        """Store that a start is complete; it is committed when this returns.

        Its windows stay as they were saved. Where the record names its windows, exactly those
        belong to the start afterwards.
        """
        with self._database.writing() as connection:
            claim = found_run(connection, run_id, runs.c.n_claims).n_claims
            keep_named_windows(connection, run_id, claim, start)
            put_start(connection, run_id, replace(start, windows=()))

    def starts(self, run_id: str, comparison: int | None = None) -> list[StartRecord]:
        """Return the starts with their windows, in order; one under way has those that ended.

        Args:
            run_id: The run's id.
            comparison: Only those of this comparison.
        """
        with self._database.reading() as connection:
            key = found_run(connection, run_id, runs.c.id).id
            found = connection.execute(ordered_starts(key, comparison)).all()
            rows = connection.execute(windows_of_starts(key, comparison)).all()
        parts: dict[tuple[int, int], list[WindowRecord]] = {}
        for row in rows:
            window = from_text(row.payload, WindowRecord, of_run("window", run_id))
            parts.setdefault((window.comparison, window.start), []).append(window)
        records = [from_text(row.payload, StartRecord, of_run("start", run_id)) for row in found]
        return [
            replace(record, windows=tuple(parts.get((record.comparison, record.start), ())))
            for record in records
        ]

    def save_load(self, outcome: LoadOutcome, *, headline: str = "") -> str:
        """Store a load test that has ended, and return its id."""
        stored = with_digests(outcome, self._salt)
        row = whole_row(
            what=stored.url,
            command="load",
            is_interrupted=outcome.is_interrupted,
            began_at=outcome.began_at,
            duration_s=outcome.measurement.total_s,
            host=outcome.host,
            outcome=stored,
            headline=headline,
        )
        return self._new_run(row)

    def save_turns(self, outcome: TurnsOutcome, *, headline: str = "") -> str:
        """Store a comparison of running servers that has ended, and return its id."""
        row = whole_row(
            what=" and ".join(each.url for each in outcome.plan.instances),
            command="turns",
            is_interrupted=outcome.is_interrupted,
            began_at=outcome.began_at,
            duration_s=outcome.duration_s,
            host=outcome.host,
            # Nothing of it is resumed, so no digest is needed to tell whether it is the same.
            outcome=without_values(outcome),
            headline=headline,
        )
        return self._new_run(row)

    def command(self, run_id: str) -> str:
        """Return the kind of a run, as `RunSummary` has it.

        Raises:
            StoreError: There is no such run.
        """
        with self._database.reading() as connection:
            return str(found_run(connection, run_id, runs.c.command).command)

    def load(self, run_id: str) -> LoadOutcome:
        """Return a load test; secrets are digests in it (`secret`).

        Raises:
            StoreError: There is no such run, or it is one of a study.
        """
        return from_text(self._whole(run_id, "load"), LoadOutcome, of_run("load test", run_id))

    def turns(self, run_id: str) -> TurnsOutcome:
        """Return a comparison of running servers; secrets are left out of it.

        Raises:
            StoreError: There is no such run, or it is another kind of run.
        """
        return from_text(self._whole(run_id, "turns"), TurnsOutcome, of_run("comparison", run_id))

    def _whole(self, run_id: str, command: str) -> str:
        with self._database.reading() as connection:
            row = found_run(connection, run_id, runs.c.command, runs.c.outcome, runs.c.study)
        if row.command != command:
            kind = WHOLE_RUNS.get(row.command, "of study")
            raise StoreError(
                f"run {run_id} is {kind} {row.study}, not {WHOLE_RUNS[command]}",
                hint=f"See it with `httpdyno report {run_id}`.",
            )
        return str(row.outcome)

    def save_outcome(self, run_id: str, outcome: Outcome) -> None:
        """Store what the run has found so far, and its status with it."""
        is_running = outcome.status == "running"
        values: dict[str, Any] = {
            "status": outcome.status,
            "duration_s": outcome.duration_s,
            "owner": to_text(self._me) if is_running else None,
            "outcome": to_text(with_digests(outcome, self._salt)),
            **final_columns(outcome),
        }
        with self._database.writing() as connection:
            found_run(connection, run_id, runs.c.id)
            connection.execute(update_of(run_id).values(values))

    def outcome(self, run_id: str) -> Outcome | None:
        """Return what the run found; None when it never got that far."""
        with self._database.reading() as connection:
            row = found_run(connection, run_id, *_WHAT, runs.c.outcome)
        require_study(row, run_id)
        text = row.outcome
        return None if text is None else from_text(text, Outcome, of_run("outcome", run_id))

    def under_way(self, run_id: str) -> RunUnderWay | None:
        """Return what is known so far of a study's run that a process is at; None where none is.

        Raises:
            StoreError: There is no such run, or what is stored of it cannot be read.
        """
        with self._database.reading() as connection:
            found_run(connection, run_id, runs.c.id)
            row = run_row(connection, run_id)
            if row is None or not self._seems_alive(row):
                return None
            owner = self._living_owner(row, run_id)
            return run_under_way(connection, row, owner) if owner else None

    def runs(self, limit: int = 100) -> list[RunSummary]:
        """Return the newest runs, newest first."""
        with self._database.reading() as connection:
            rows = connection.execute(summaries().limit(limit)).all()
        return [self._summary(row) for row in rows]

    def n_runs(self) -> int:
        """Return how many runs are stored."""
        with self._database.reading() as connection:
            n = connection.execute(sa.select(sa.func.count()).select_from(runs)).scalar_one()
        return int(n)

    def run_ids_of(self, study: str) -> list[str]:
        """Return the newest 20 runs of a study that found something, newest first."""
        with self._database.reading() as connection:
            found = connection.execute(runs_of_study(study).limit(20)).scalars().all()
        return [str(key) for key in found]

    def _new_run(self, row: dict[str, Any]) -> str:
        with self._database.writing() as connection:
            key = connection.execute(sa.insert(runs).values(row)).inserted_primary_key
        if key is None:
            raise StoreError(f"the store `{self.name}` gave the new run no id")
        return str(key[0])

    def _living_owner(self, row: sa.Row[Any], run_id: str) -> ProcessIdentity | None:
        """Return the process that is at the run now; None when there is none."""
        if row.status != "running" or row.owner is None:
            return None
        owner = from_text(row.owner, ProcessIdentity, of_run("owner", run_id))
        return owner if may_be_at_it(owner, is_shared=self._database.is_shared) else None

    def _seems_alive(self, row: sa.Row[Any]) -> bool:
        """Whether somebody is at the run; not where what is stored of that cannot be read."""
        try:
            return self._living_owner(row, str(row.id)) is not None
        except StoreError:
            return False

    def _summary(self, row: sa.Row[Any]) -> RunSummary:
        is_dead = row.status == "running" and not self._seems_alive(row)
        duration_s = row.duration_s
        if row.status == "running" and row.last_saved_at is not None:
            duration_s = max(duration_s, passed_s(row.began_at, row.last_saved_at))
        return RunSummary(
            id=str(row.id),
            study=row.study,
            command=row.command,
            status="interrupted" if is_dead else row.status,
            began_at=row.began_at,
            duration_s=duration_s,
            n_starts=row.n_starts,
            n_windows=row.n_windows,
            metric=row.metric,
            verdict=row.verdict,
            ratio=row.ratio,
            ratio_low=row.ratio_low,
            ratio_high=row.ratio_high,
            headline=row.headline or "",
        )


_WHAT = (runs.c.command, runs.c.study)
