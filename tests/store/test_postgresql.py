"""The same suite on a PostgreSQL server, a private one; each test has a schema of its own."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql as dialect
from tests.conformance.record import sample_host, sample_plan
from tests.conformance.store import StoreConformance
from tests.conftest import SKIPPED
from tests.store.postgresql import engine_of, postgresql

from httpdyno.errors import StoreError
from httpdyno.store import Store
from httpdyno.store.schema import metadata

REPOSITORY = Path(__file__).parents[2]
DEADLINE_S = 30.0
OWNER = """
import sys
from tests.store.postgresql import postgresql

with postgresql() as url:
    print(url, flush=True)
    sys.stdin.read()
"""

needs_postgresql = pytest.mark.real_server("initdb", "postgres", "setpriv")


@pytest.fixture(scope="module")
def server():
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip(f"{SKIPPED}psycopg")
    with postgresql() as url:
        yield url


@needs_postgresql
class TestPostgresql(StoreConformance):
    @pytest.fixture
    def store(self, server):
        schema = f"test_{uuid.uuid4().hex}"
        engine = engine_of(server)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
        option = quote(f"-csearch_path={schema}")
        try:
            with Store.open(f"{server}&options={option}") as opened:
                yield opened
        finally:
            with engine.begin() as connection:
                connection.exec_driver_sql(f"DROP SCHEMA {schema} CASCADE")
            engine.dispose()

    @pytest.fixture
    def run_id(self, store):
        return store.create_run(sample_plan(), sample_host())


@needs_postgresql
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_server_whose_owner_was_ended(server, how):
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip().partition("host=")[2])
        assert [path.name for path in folder.glob(".s.PGSQL.*")]
        assert serving(folder)
        os.kill(owner.pid, how)
    assert is_gone(folder)


@needs_postgresql
def test_nothing_is_left_of_a_server_that_was_not_made_yet(own_folders):
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(own_folders)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as owner:
        deadline_s = time.monotonic() + DEADLINE_S
        while not (made := list(own_folders.glob("httpdyno-pg-*/data"))):
            assert time.monotonic() < deadline_s
            time.sleep(0.005)
        owner.kill()
    (data,) = made
    assert not list(data.parent.glob(".s.PGSQL.*"))
    assert is_gone(data.parent)


def is_gone(folder):
    """Return whether folder and processes are, after a while."""
    deadline_s = time.monotonic() + DEADLINE_S
    while (serving(folder) or folder.exists()) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return not (serving(folder) or folder.exists())


def serving(folder):
    """Return the processes that were started with that folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(str(folder) in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_the_tables_can_be_made_in_postgresql():
    made = [
        str(sa.schema.CreateTable(table).compile(dialect=dialect.dialect()))
        for table in metadata.sorted_tables
    ]
    assert len(made) == 3
    assert all("STRICT" not in statement for statement in made)
    # PostgreSQL's REAL would cut figures to seven digits.
    assert all("REAL" not in statement for statement in made)


def test_a_server_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StoreError, match="the store `postgresql:///runs`"):
        Store.open(f"postgresql:///runs?host={tmp_path}&connect_timeout=1")
