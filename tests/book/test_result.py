"""Results that are kept: the last of each, in one file."""

import sys
from pathlib import Path
from subprocess import Popen

import pytest
from msgspec import structs
from tests.book.test_pages import NOW

from httpdyno.book.result import UnderWay, keep, keep_under_way, kept_results, under_way
from httpdyno.errors import StoreError

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HTTPDYNO_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_last_of_each_name_is_kept(folder):
    assert kept_results() == {}
    keep(NOW)
    keep(structs.replace(NOW, name="other", high=None))
    keep(structs.replace(NOW, ratio=3.0))
    found = kept_results()
    assert found["mod-cgi-baseline"].ratio == 3.0
    assert found["other"].high is None
    assert {each.name for each in folder.iterdir()} == {"book.json", "book.lock"}


def test_processes_that_keep_at_once_lose_none_of_each_others():
    text = (
        "import sys; from msgspec import structs; from httpdyno.book.result import keep;"
        "from tests.book.test_pages import NOW;"
        "[keep(structs.replace(NOW, name=f'{sys.argv[1]}-{n}')) for n in range(50)]"
    )
    command = [sys.executable, "-c", text]
    writers = [Popen([*command, name], cwd=ROOT) for name in "ab"]
    assert [each.wait() for each in writers] == [0, 0]
    assert len(kept_results()) == 100


def test_what_is_under_way_is_kept_beside_the_results_until_it_is_over(folder):
    assert under_way() is None
    run = UnderWay(began_at="2026-01-02T03:04:05+00:00", seed=4, budget_s=60.0)
    keep_under_way(run)
    keep(NOW)
    assert under_way() == run
    keep_under_way(None)
    assert (under_way(), kept_results()) == (None, {NOW.name: NOW})


def test_what_an_earlier_version_kept_is_read(folder):
    folder.mkdir()
    (folder / "book.json").write_text('{"format": 1, "results": {}}')
    assert (kept_results(), under_way()) == ({}, None)


def test_a_file_that_is_none_is_not_written_over(folder):
    folder.mkdir()
    (folder / "book.json").write_text("nonsense")
    with pytest.raises(StoreError, match="cannot be read"):
        keep(NOW)
    assert (folder / "book.json").read_text() == "nonsense"
