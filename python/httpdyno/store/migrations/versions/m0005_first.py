"""The first tables: runs, their starts, their windows. What was tried before had 0001 to 0004."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = None

_REAL: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("study", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("began_at", sa.Text, nullable=False),
        sa.Column("duration_s", _REAL, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("n_claims", sa.Integer, nullable=False),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("ratio", _REAL),
        sa.Column("ratio_low", _REAL),
        sa.Column("ratio_high", _REAL),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text),
        sa.Column("headline", sa.Text),
        sa.CheckConstraint(
            f"status IN {('running', 'complete', 'interrupted', 'failed')}", name="status"
        ),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )
    op.create_table(
        "starts",
        sa.Column("run_id", sa.Integer, primary_key=True),
        sa.Column("comparison", sa.Integer, primary_key=True),
        sa.Column("start", sa.Integer, primary_key=True),
        sa.Column("began_at", sa.Text, nullable=False),
        sa.Column("duration_s", _REAL, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("is_complete", sa.Integer, nullable=False),
        sa.Column("servers", sa.Text),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sqlite_strict=True,
    )
    op.create_table(
        "windows",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.Integer, nullable=False),
        sa.Column("comparison", sa.Integer, nullable=False),
        sa.Column("start", sa.Integer, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("arm", sa.Integer, nullable=False),
        sa.Column("claim", sa.Integer, nullable=False),
        sa.Column("saved_at", sa.Text, nullable=False),
        sa.Column("measured_s", _REAL, nullable=False),
        sa.Column("throughput_per_s", _REAL, nullable=False),
        sa.Column("cpu_s_per_request", _REAL),
        sa.Column("latency_p50_s", _REAL),
        sa.Column("latency_p99_s", _REAL),
        sa.Column("offered", sa.Integer, nullable=False),
        sa.Column("completed", sa.Integer, nullable=False),
        sa.Column("n_errors", sa.Integer, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], ondelete="CASCADE"),
        sa.UniqueConstraint("run_id", "comparison", "start", "block", "arm", name="one_window"),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )
