from importlib import resources

from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from httpdyno.store import Store
from httpdyno.store.schema import HEAD, metadata


def test_the_migrations_make_the_tables_that_the_program_uses(tmp_path):
    opened = Store.open(str(tmp_path / "httpdyno.db"))
    with opened as store, store._database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_head_that_the_program_knows_is_the_newest_migration():
    config = Config()
    config.set_main_option("path_separator", "os")
    config.set_main_option("script_location", str(resources.files("httpdyno.store") / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]
