"""Alembic's entry: runs the pending migrations on the connection that it is handed.

The caller has begun a transaction and commits it, so a migration happens whole or not at all,
also where the database's driver would commit before a change of the schema.
"""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    transactional_ddl=True,
)
context.run_migrations()
