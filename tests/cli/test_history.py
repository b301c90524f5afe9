"""`httpdyno history` and `httpdyno report`: what is stored."""

import json
import os
import sqlite3

import pytest
from msgspec.structs import replace
from tests.conformance.record import sample_host, sample_plan, sample_start, sample_window
from tests.report.sample import ladder
from tests.report.sample_trouble import own_site

from httpdyno.cli.app import run
from httpdyno.host.foreign_text import kept_text
from httpdyno.model import Configuration
from httpdyno.store import Store
from httpdyno.store.database import store_location


@pytest.fixture
def stored():
    """Store one finished run and one that never had a result."""
    with Store.open() as store:
        outcome = ladder()
        first = store.create_run(outcome.plan, outcome.host)
        store.save_outcome(first, replace(outcome, id=first, status="complete"))
        second = store.create_run(outcome.plan, outcome.host)
    kill(second)
    return first, second


def kill(run_id):
    """Have a run's process be one that there is no more."""
    file = store_location().file
    assert file is not None
    with sqlite3.connect(file) as connection:
        changed = "UPDATE runs SET owner = json_set(owner, '$.start_ticks', 1) WHERE id = ?"
        connection.execute(changed, (run_id,))
    connection.close()


def stored_site(diff):
    with Store.open() as store:
        outcome = replace(own_site(), overlay_diff=diff)
        run_id = store.create_run(outcome.plan, outcome.host)
        store.save_outcome(run_id, replace(outcome, id=run_id, status="complete"))
    return run_id


def test_a_patch_is_written_byte_for_byte(tmp_path, capfdbinary):
    patch = b"--- /a\n+++ /a\n@@ -1,2 +1,2 @@\n # caf\xe9 \x1b\r\n-1\n+2\n"
    run_id = stored_site(kept_text(patch))
    assert run(["report", run_id, "--diff", str(tmp_path / "tuned.patch")]) == 0
    head = f"What run {run_id} of httpdyno changes, for `patch -p1`:\n".encode()
    assert (tmp_path / "tuned.patch").read_bytes() == head + patch
    assert run(["report", run_id, "--diff", "-"]) == 0
    assert capfdbinary.readouterr().out == patch


def test_a_comparison_that_proved_nothing_writes_no_patch(tmp_path, capsys):
    with Store.open() as store:
        outcome = own_site()
        a = outcome.plan.study.start_configuration()
        plan = replace(outcome.plan, compare=(a, outcome.configuration))
        outcome = replace(outcome, plan=plan, configuration=a, overlay_diff="-1\n+2\n")
        run_id = store.create_run(outcome.plan, outcome.host)
        store.save_outcome(run_id, replace(outcome, id=run_id, status="complete"))
    assert run(["report", run_id, "--diff", str(tmp_path / "tuned.patch")]) == 2
    assert "did not prove b better" in capsys.readouterr().err
    assert not (tmp_path / "tuned.patch").exists()


def test_an_empty_store_says_what_makes_a_first_run(capsys):
    assert run(["history"]) == 0
    assert "`httpdyno demo`" in capsys.readouterr().out


def test_an_empty_store_is_an_empty_list_in_json(capsys):
    assert run(["history", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["runs"], found["n_others"]) == ([], 0)


def test_only_so_many_are_listed_and_the_others_are_counted(stored, capsys):
    assert run(["history", "-n", "1", "--json", "-"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert ([row["id"] for row in listed["runs"]], listed["n_others"]) == ([stored[1]], 1)
    assert run(["history", "-n", "1"]) == 0
    assert "and 1 other run: `httpdyno history -n 2` lists them all" in capsys.readouterr().out


def test_the_newest_run_comes_first(stored, capsys):
    assert run(["history", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["runs"]
    assert [row["id"] for row in rows] == [stored[1], stored[0]]
    assert rows[0]["headline"] == "no result yet; 0 windows stored"
    assert rows[1]["status"] == "complete"


def test_a_run_whose_outcome_cannot_be_read_does_not_hide_the_others(stored, own_folders, capsys):
    with sqlite3.connect(own_folders / "data" / "httpdyno.db") as connection:
        connection.execute("UPDATE runs SET outcome = '{\"a\":' WHERE id = ?", (stored[0],))
    connection.close()
    assert run(["history", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)["runs"]
    assert [row["id"] for row in rows] == [stored[1], stored[0]]
    assert rows[1]["headline"].startswith(f"the outcome of run {stored[0]} cannot be read")


def test_the_text_fits_80_columns(stored, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["history"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80


def test_a_report_is_of_the_latest_run_unless_another_is_named(stored, capsys):
    assert run(["report", stored[0], "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == stored[0]
    assert run(["report"]) == 3
    assert f"run {stored[1]} " in capsys.readouterr().err


def test_a_run_without_a_result_says_how_to_go_on(stored, capsys):
    assert run(["report", stored[1]]) == 3
    seen = capsys.readouterr().err
    assert "before it had any result" in seen
    assert f"--resume {stored[1]}" in seen


def test_a_run_that_runs_says_so_and_what_is_known_of_it(capsys):
    with Store.open() as store:
        run_id = store.create_run(sample_plan(), sample_host())
        store.save_start(run_id, sample_start())
        arms = tuple(Configuration(values={"workers": n, "colour": "red"}) for n in (1, 2))
        begun = replace(sample_start(start=1), stage="final", configurations=arms)
        store.begin_start(run_id, begun)
        store.save_window(run_id, sample_window(start=1, arm=1))
    assert run(["report", run_id]) == 0
    seen = " ".join(capsys.readouterr().out.split())
    assert f"process {os.getpid()} on " in seen
    assert "1 complete start, 5 windows, the last one " in seen
    assert "final: start 2, begun " in seen
    assert "2 workers=1 0 – – 0 2 workers=2 1 960/s " in seen
    kill(run_id)
    assert run(["report", run_id]) == 3
    assert "before it had any result" in capsys.readouterr().err


def test_a_run_that_runs_and_has_some_result_says_that_it_runs(capsys):
    with Store.open() as store:
        outcome = ladder()
        run_id = store.create_run(outcome.plan, outcome.host)
        store.save_outcome(run_id, replace(outcome, id=run_id, status="running"))
    assert run(["report", run_id]) == 0
    seen = " ".join(capsys.readouterr().out.split())
    assert f"still runs: process {os.getpid()} on " in seen
    assert f"`httpdyno watch run:{run_id}` follows it" in seen
    kill(run_id)
    assert run(["report", run_id]) == 0
    assert "still runs" not in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--json", "--html", "--diff"])
def test_a_run_that_runs_has_nothing_to_write(option, tmp_path, capsys):
    with Store.open() as store:
        run_id = store.create_run(sample_plan(), sample_host())
    file = tmp_path / "written"
    assert run(["report", run_id, option, str(file)]) == 3
    seen = " ".join(capsys.readouterr().err.split())
    assert f"run {run_id} of `sample` still runs: process {os.getpid()} on " in seen
    assert not file.exists()


def test_text_json_and_html_can_be_had_at_once(stored, capsys, tmp_path):
    html, document = tmp_path / "run-{id}.html", tmp_path / "run.json"
    assert run(["report", stored[0], "--html", str(html), "--json", str(document)]) == 0
    written = tmp_path / f"run-{stored[0]}.html"
    assert written.read_text().lstrip().lower().startswith("<!doctype html>")
    assert json.loads(document.read_text())["id"] == stored[0]
    assert capsys.readouterr().out.splitlines()[-1] == f"report: {written}"


@pytest.mark.parametrize("run_id", ["99", "x", "../etc"])
def test_a_run_that_is_not_there_is_named(stored, capsys, run_id):
    assert run(["report", run_id]) == 3
    assert f"{run_id}" in capsys.readouterr().err.splitlines()[0]


def test_nothing_to_report_says_what_makes_a_first_run(capsys):
    assert run(["report"]) == 3
    assert "no run is stored" in capsys.readouterr().err
