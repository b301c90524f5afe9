"""Load tests that have ended are listed and shown again."""

import json

import pytest
from msgspec.structs import replace
from tests.conformance.record import sample_load, sample_turns
from tests.load.site import serving

from httpdyno.cli import waiting
from httpdyno.cli.app import run
from httpdyno.host.own_files import data_folder
from httpdyno.model import RequestSpec, Workload
from httpdyno.store import Store

SECRET = (("Authorization", "Bearer hush"),)


def listed(capsys):
    assert run(["history", "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)["runs"]


def test_a_load_test_is_listed_and_shown_again_as_it_was(own_folders, capsys):
    with serving() as site:
        url = f"http://{site.address}/"
        assert run(["load", url, "-c", "2", "-n", "30"]) == 0
        first = capsys.readouterr().out
        assert run(["load", url, "-c", "2", "-n", "7", "--no-store"]) == 0
        capsys.readouterr()
    [row] = listed(capsys)
    assert (row["study"], row["command"], row["status"]) == (url, "load", "complete")
    assert row["headline"].startswith("30 of 30 requests completed")
    assert run(["report"]) == 0
    assert capsys.readouterr().out == first
    page = own_folders / "again.html"
    assert run(["report", row["id"], "--json", "-", "--html", str(page)]) == 0
    assert json.loads(capsys.readouterr().out)["completed"] == 30
    assert page.read_text().startswith("<!doctype html>")
    assert run(["history"]) == 0
    assert "30 of 30 requests completed" in capsys.readouterr().out
    assert len(listed(capsys)) == 1


def test_the_newest_is_the_one_that_began_last_whenever_it_was_stored(capsys):
    old, new = "2026-03-01T12:00:00.000+00:00", "2026-03-02T12:00:00.000+00:00"
    waiting.put(replace(sample_load("http://old/"), began_at=old), "old")
    with Store.open() as store:
        store.save_turns(replace(sample_turns("http://a/", "http://b/"), began_at=new))
    rows = listed(capsys)
    assert [row["command"] for row in rows] == ["turns", "load"]
    assert rows[0]["headline"] == "`httpdyno report 1` shows it"
    assert rows[1]["headline"] == "old"
    assert run(["report"]) == 0
    assert "http://b/ is not told apart from http://a/" in capsys.readouterr().out


def test_no_secret_waits_and_the_oldest_files_make_room(monkeypatch, capsys):
    monkeypatch.setattr(waiting, "MOST_FILES", 2)
    workload = Workload(requests=(RequestSpec(headers=SECRET),))
    for number in range(4):
        waiting.put(replace(sample_load("http://a/"), workload=workload), f"number {number}")
    with waiting.waiting() as files:
        assert len(files) == 2
        for file in files:
            assert "hush" not in file.read_text()
            assert file.stat().st_mode & 0o077 == 0
    assert {row["headline"] for row in listed(capsys)} == {"number 2", "number 3"}


def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(capsys):
    waiting.put(sample_load("http://a/"), "whole")
    folder = data_folder() / "loads"
    (folder / "0-1.json").write_text('{"headline": "x"')
    assert [row["headline"] for row in listed(capsys)] == ["whole"]
    assert run(["history"]) == 0
    assert "0-1.json" in capsys.readouterr().err


@pytest.mark.parametrize("blocked", ["data", "data/loads"])
def test_where_nothing_can_be_kept_the_result_is_still_there(own_folders, capsys, blocked):
    place = own_folders / blocked
    place.parent.mkdir(exist_ok=True)
    place.write_text("no folder")
    with serving() as site:
        assert run(["load", f"http://{site.address}/", "-n", "3", "-c", "1"]) == 0
    seen = capsys.readouterr()
    assert "3 of 3 requests completed" in seen.out
    assert "is not kept for `httpdyno history`" in seen.err
