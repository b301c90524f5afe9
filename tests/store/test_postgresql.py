"""The same suite on a PostgreSQL server, where `HTTPDYNO_TEST_POSTGRESQL` names one to write to.

Each test has a schema of its own, which is dropped again.
"""

import os
import uuid
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from httpdyno.errors import StoreError
from httpdyno.store import Store
from httpdyno.store.schema import metadata
from httpdyno.testing.record import sample_host, sample_plan
from httpdyno.testing.store import StoreConformance

SERVER = os.environ.get("HTTPDYNO_TEST_POSTGRESQL", "")


class TestPostgresql(StoreConformance):
    __test__ = bool(SERVER)

    @pytest.fixture
    def store(self):
        schema = f"test_{uuid.uuid4().hex}"
        engine = sa.create_engine(SERVER.replace("postgresql://", "postgresql+psycopg://", 1))
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        option = quote(f"-csearch_path={schema}")
        mark = "&" if "?" in SERVER else "?"
        try:
            with Store.open(f"{SERVER}{mark}options={option}") as opened:
                yield opened
        finally:
            with engine.begin() as connection:
                connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")
            engine.dispose()

    @pytest.fixture
    def run_id(self, store):
        return store.create_run(sample_plan(), sample_host())


def test_the_tables_can_be_made_in_postgresql():
    made = [
        str(sa.schema.CreateTable(table).compile(dialect=postgresql.dialect()))
        for table in metadata.sorted_tables
    ]
    assert len(made) == 3
    assert all("STRICT" not in statement for statement in made)
    # PostgreSQL's REAL would cut figures to seven digits.
    assert all("REAL" not in statement for statement in made)


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StoreError, match="the store `postgresql:///runs`"):
        Store.open(f"postgresql:///runs?host={tmp_path}&connect_timeout=1")
