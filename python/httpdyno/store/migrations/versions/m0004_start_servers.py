"""A start has the processes of its servers, for whoever looks while it is measured."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column."""
    op.add_column("starts", sa.Column("servers", sa.Text))
