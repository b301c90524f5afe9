"""A start is there from its begin on; all that there were are complete."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column."""
    op.add_column(
        "starts", sa.Column("is_complete", sa.Integer, nullable=False, server_default="1")
    )
