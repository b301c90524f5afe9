"""The tables. What is queried has a column; the rest of a record is JSON in `payload`.

A change here needs a migration, and `HEAD` its revision. Migrations spell the tables out again
on purpose: they must keep doing what they did when these lines have long changed.
"""

from sqlalchemy import (
    REAL,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

HEAD = "0005"
"""The newest migration: the schema that this version of httpdyno reads and writes."""

metadata = MetaData()

# STRICT tables take SQLite's own type names only; PostgreSQL's REAL has but seven digits.
_Real: Double[float] = Double().with_variant(REAL(), "sqlite")

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("began_at", Text, nullable=False),
    Column("duration_s", _Real, nullable=False),
    Column("owner", Text),
    Column("n_claims", Integer, nullable=False),
    Column("metric", Text, nullable=False),
    Column("verdict", Text),
    Column("ratio", _Real),
    Column("ratio_low", _Real),
    Column("ratio_high", _Real),
    Column("plan", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("outcome", Text),
    Column("headline", Text),
    CheckConstraint(f"status IN {('running', 'complete', 'interrupted', 'failed')}", name="status"),
    sqlite_strict=True,
    sqlite_autoincrement=True,
)

starts = Table(
    "starts",
    metadata,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("comparison", Integer, primary_key=True),
    Column("start", Integer, primary_key=True),
    Column("began_at", Text, nullable=False),
    Column("duration_s", _Real, nullable=False),
    Column("payload", Text, nullable=False),
    Column("is_complete", Integer, nullable=False),
    Column("servers", Text),
    sqlite_strict=True,
)

windows = Table(
    "windows",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", Integer, nullable=False),
    Column("comparison", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("block", Integer, nullable=False),
    Column("arm", Integer, nullable=False),
    Column("claim", Integer, nullable=False),
    Column("saved_at", Text, nullable=False),
    Column("measured_s", _Real, nullable=False),
    Column("throughput_per_s", _Real, nullable=False),
    Column("cpu_s_per_request", _Real),
    Column("latency_p50_s", _Real),
    Column("latency_p99_s", _Real),
    Column("offered", Integer, nullable=False),
    Column("completed", Integer, nullable=False),
    Column("n_errors", Integer, nullable=False),
    Column("payload", Text, nullable=False),
    ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
    UniqueConstraint("run_id", "comparison", "start", "block", "arm", name="one_window"),
    sqlite_strict=True,
    sqlite_autoincrement=True,
)
