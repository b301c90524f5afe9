import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from msgspec.structs import replace
from tests.conformance.record import (
    sample_host,
    sample_load,
    sample_outcome,
    sample_plan,
    sample_start,
    sample_turns,
    sample_window,
)
from tests.conformance.store import StoreConformance

from httpdyno.errors import StoreError
from httpdyno.host import own_files
from httpdyno.host.own_files import locked
from httpdyno.model import (
    Configuration,
    LatencySoFar,
    PoolMemory,
    RootProcess,
    StartServers,
    Telemetry,
)
from httpdyno.store import Store, database
from httpdyno.store.query import from_text
from httpdyno.store.schema import HEAD, starts

SERVERS = StartServers(roots=((), (RootProcess(pid=812, start_ticks=99),)))


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a b%20c" / "httpdyno.db"


@pytest.fixture
def store(file):
    with Store.open(str(file)) as opened:
        yield opened


@pytest.fixture
def run_id(store):
    return store.create_run(sample_plan(), sample_host())


class TestSqlite(StoreConformance):
    pass


def test_the_data_folder_is_used_when_nothing_is_given(own_folders):
    with Store.open() as store:
        store.create_run(sample_plan(), sample_host())
    assert (own_folders / "data" / "httpdyno.db").is_file()


def test_what_was_stored_is_there_when_it_is_opened_again(store, file, run_id):
    store.save_window(run_id, sample_window())
    store.save_start(run_id, sample_start())
    with Store.open(str(file)) as again:
        assert again.starts(run_id) == [sample_start()]


def test_what_is_queried_has_columns(store, file, run_id):
    store.save_window(run_id, sample_window(completed=200))
    with sqlite3.connect(file) as connection:
        row = connection.execute(
            "SELECT throughput_per_s, cpu_s_per_request, latency_p50_s, latency_p99_s, offered,"
            " completed, n_errors FROM windows"
        ).fetchone()
    connection.close()
    assert row == (800.0, 0.12 / 200, 0.001, 0.002, 210, 200, 10)


def test_cpu_time_is_divided_by_all_that_it_was_used_for(store, file, run_id):
    # Lead-in and drain cost CPU time as well as the measured part.
    window = sample_window(completed=200)
    load = msgspec.structs.replace(window.measurement, measured_completed=140)
    store.save_window(run_id, msgspec.structs.replace(window, measurement=load))
    with sqlite3.connect(file) as connection:
        row = connection.execute("SELECT cpu_s_per_request FROM windows").fetchone()
    connection.close()
    assert row == (0.12 / 200,)


def test_a_window_without_a_right_answer_has_no_cost_per_request(store, file, run_id):
    window = sample_window(completed=2)
    empty = type(window.measurement)(
        opened_s=1.0, measured_s=0.25, total_s=0.3, offered=4, completed=0, errors={"refused": 4}
    )
    silent = type(window)(
        comparison=0, start=0, block=0, arm=0, measurement=empty, telemetry=window.telemetry
    )
    store.save_window(run_id, silent)
    with sqlite3.connect(file) as connection:
        row = connection.execute(
            "SELECT throughput_per_s, cpu_s_per_request, latency_p99_s FROM windows"
        ).fetchone()
    connection.close()
    assert row == (0.0, None, None)


def test_saving_a_start_with_its_windows_does_not_write_them_again(store, file, run_id):
    start = sample_start()
    for window in start.windows:
        store.save_window(run_id, window)
    with sqlite3.connect(file) as connection:
        before = connection.execute("SELECT id, saved_at FROM windows").fetchall()
        store.save_start(run_id, start)
        assert connection.execute("SELECT id, saved_at FROM windows").fetchall() == before
    connection.close()


def test_the_tables_are_strict_and_the_journal_is_a_wal(store, file):
    with sqlite3.connect(file) as connection:
        tables = dict(connection.execute("SELECT name, strict FROM pragma_table_list"))
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert (tables["runs"], tables["starts"], tables["windows"]) == (1, 1, 1)


def test_a_window_of_no_run_is_refused_by_the_database_itself(store):
    # The foreign key is what keeps a bug from storing windows that no run has.
    statement = "INSERT INTO starts VALUES (999, 0, 0, '', 0.0, '{}', 1, NULL)"
    refusal = pytest.raises(StoreError, match="FOREIGN KEY")
    with refusal, store._database.writing() as connection:
        connection.exec_driver_sql(statement)


def test_a_run_whose_process_died_reads_as_interrupted_and_can_be_taken_over(file):
    script = (
        "import sys; from httpdyno.store import Store; from tests.conformance.record import *\n"
        "store = Store.open(sys.argv[1]); store.create_run(sample_plan(), sample_host())\n"
        "store.save_window('1', sample_window())"
    )
    subprocess.run([sys.executable, "-c", script, str(file)], check=True)
    with Store.open(str(file)) as store:
        (run,) = store.runs()
        assert (run.status, run.n_windows, run.n_starts) == ("interrupted", 1, 0)
        store.take_over("1")
        assert store.runs()[0].status == "running"


@pytest.mark.parametrize(
    ("version", "kind"), [("9999", "a newer"), ("0000", "an older"), ("abc", "another")]
)
def test_an_unknown_schema_is_refused_with_both_versions(file, version, kind):
    Store.open(str(file)).close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (version,))
    connection.close()
    said = rf"by {kind} httpdyno \(schema {version}; this one reads and writes {HEAD}\)"
    with pytest.raises(StoreError, match=said):
        Store.open(str(file))


def modes(file):
    return {each.name: each.stat().st_mode & 0o777 for each in file.parent.iterdir()}


def test_nobody_else_can_read_a_store_whatever_the_umask(file):
    before = os.umask(0)
    try:
        with Store.open(str(file)) as store:
            store.create_run(sample_plan(), sample_host())
            seen = modes(file)
    finally:
        os.umask(before)
    assert {"httpdyno.db", "httpdyno.db-wal", "httpdyno.db.lock"} <= set(seen)
    assert set(seen.values()) == {0o600}
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_a_store_that_was_open_to_all_is_closed_to_them(file):
    Store.open(str(file)).close()
    for name in modes(file):
        (file.parent / name).chmod(0o644)
    with Store.open(str(file)):
        assert set(modes(file).values()) == {0o600}


def test_only_what_is_a_store_gets_another_mode(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to have a header " * 10)
    file.chmod(0o644)
    with pytest.raises(StoreError, match="not an SQLite database"):
        Store.open(str(file))
    assert file.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_store_that_is_deleted_amid_a_run_is_noticed_at_the_next_window(store, file, run_id, how):
    file.rename(file.with_name("elsewhere"))
    if how == "replaced":
        file.touch()
    with pytest.raises(StoreError, match="was deleted or replaced while it was in use"):
        store.save_window(run_id, sample_start().windows[0])


def test_a_setting_up_that_is_held_says_by_whom_and_ends(file, monkeypatch, caplog):
    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    monkeypatch.setattr(own_files, "_SILENT_S", 0.0)
    file.parent.mkdir()
    with locked(Path(f"{file}.lock"), patience_s=0), pytest.raises(StoreError) as caught:
        Store.open(str(file))
    holder = f"process {os.getpid()}"
    assert f"set up by another process: {holder} holds `{file}.lock`" in str(caught.value)
    assert f"{holder} holds " in caplog.text


@pytest.mark.parametrize("name", ["httpdyno.db", "httpdyno.db.lock"])
def test_a_fifo_where_the_store_or_its_lock_belongs_holds_nobody(file, name):
    file.parent.mkdir()
    os.mkfifo(file.parent / name)
    with pytest.raises(StoreError, match="not a regular file"):
        Store.open(str(file))


@pytest.mark.parametrize(
    "given",
    ["a\0b", "x" * 5000, "\udcff\0", "/dev/zero", "/", "~nobody-of-that-name/x", "/proc/x"],
)
def test_what_no_store_can_be_is_one_sentence(given):
    with pytest.raises(StoreError) as caught:
        Store.open(given)
    assert caught.value.__suppress_context__ or caught.value.hint


def test_a_run_whose_owner_or_instants_cannot_be_read_is_listed(store, file, run_id):
    store.save_window(run_id, sample_start().windows[0])
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE runs SET owner = '[7', began_at = 'yesterday'")
    connection.close()
    [run] = store.runs()
    assert (run.id, run.status, run.duration_s) == (run_id, "interrupted", 0.0)


def fill(store):
    """Store a run that is complete, one cut short in its second start, a load and turns."""
    complete = store.create_run(sample_plan(), sample_host())
    store.save_start(complete, sample_start())
    store.save_outcome(complete, sample_outcome(complete))
    cut_short = store.create_run(sample_plan("cut-short"), sample_host())
    store.save_start(cut_short, sample_start())
    store.begin_start(cut_short, sample_start(start=1))
    store.save_servers(cut_short, 0, 1, SERVERS)
    store.save_window(cut_short, sample_window(start=1))
    store.save_load(sample_load("http://127.0.0.1/"), headline="240 of 250 requests completed")
    store.save_turns(sample_turns("http://127.0.0.1/", "http://127.0.0.2/"), headline="so far")


@pytest.fixture
def filled(file):
    with Store.open(str(file)) as store:
        fill(store)
    return str(file)


def test_a_store_that_is_opened_again_has_all_that_was_put_into_it(filled):
    with Store.open(filled) as store:
        assert [(run.id, run.study, run.command, run.n_starts) for run in store.runs()] == [
            ("4", "http://127.0.0.1/ and http://127.0.0.2/", "turns", 0),
            ("3", "http://127.0.0.1/", "load", 0),
            ("2", "cut-short", "tune", 1),
            ("1", "sample", "tune", 1),
        ]
        assert [run.headline for run in store.runs()] == [
            "so far",
            "240 of 250 requests completed",
            "",
            "",
        ]
        assert store.plan("1") == sample_plan()
        assert store.host("1") == sample_host()
        assert store.outcome("1") == sample_outcome("1")
        assert store.load("3") == sample_load("http://127.0.0.1/")
        assert store.turns("4") == sample_turns("http://127.0.0.1/", "http://127.0.0.2/")
        begun = replace(sample_start(start=1), is_complete=False)
        assert store.starts("2") == [
            sample_start(),
            replace(begun, windows=(sample_window(start=1),)),
        ]
        with store._database.reading() as connection:
            kept = connection.execute(sa.select(starts.c.servers)).scalars().all()
    assert [from_text(text, StartServers, "") for text in kept if text] == [SERVERS]


def test_a_run_that_goes_on_has_the_memory_and_latency_of_before(filled):
    arms = tuple(Configuration(values={"workers": n}) for n in (1, 2))
    with Store.open(filled) as store:
        store.take_over("2")
        begun = replace(sample_start(start=1), windows=(), configurations=arms)
        store.begin_start("2", begun)
        store.save_window("2", replace(sample_window(start=1), telemetry=Telemetry(cpu_s=0.1)))
        run = store.under_way("2")
    assert run is not None
    first, second = run.starts[0].arms
    known = PoolMemory(start=0, pss_bytes=30 << 20)
    assert (first.memory, second.memory) == (known, known)
    assert first.latency == LatencySoFar(n_requests=240, p50_s=0.001)


def test_a_file_that_is_no_database_is_named(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to have a header " * 10)
    with pytest.raises(StoreError, match=r"notes\.txt.* not an SQLite database") as caught:
        Store.open(str(file))
    assert caught.value.hint
    assert file.read_text().startswith("not a database")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        StoreError, match=r"file/httpdyno\.db.* cannot be opened: .*/file`: File exists"
    ):
        Store.open(str(tmp_path / "file" / "httpdyno.db"))


def test_a_database_that_may_not_be_written_is_named(own_folders):
    file = own_folders / "data" / "httpdyno.db"
    Store.open(str(file)).close()
    for path, mode in ((file, 0o444), (Path(f"{file}.lock"), 0o444), (file.parent, 0o555)):
        path.chmod(mode)
    # Root may write everywhere; the modules have to be there before it steps down.
    script = (
        "import os, sys; from httpdyno.store import Store; from httpdyno.errors import StoreError\n"
        "from tests.conformance.record import sample_host, sample_plan\n"
        "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: Store.open(sys.argv[1]).create_run(sample_plan(), sample_host())\n"
        "except StoreError as error: print(error, error.hint, sep='|')\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, str(file)], check=True, capture_output=True, text=True
    ).stdout
    file.parent.chmod(0o755)
    message, _, hint = said.partition("|")
    assert str(file) in message
    assert "cannot be" in message
    assert "HTTPDYNO_DATA_DIR" in hint


def test_a_record_that_cannot_be_read_is_named(store, file, run_id):
    with sqlite3.connect(file) as connection:
        connection.execute("""UPDATE runs SET host = '{"cpus": 3}'""")
    connection.close()
    with pytest.raises(StoreError, match=f"the host of run {run_id} cannot be read"):
        store.host(run_id)


def test_closing_twice_is_fine(file):
    store = Store.open(str(file))
    store.close()
    store.close()
