"""Results that are kept: the last of each, in one file."""

import pytest
from msgspec import structs
from tests.report.book.test_book import NOW

from httpdyno.book.result import keep, kept_results
from httpdyno.errors import StoreError


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
    assert [each.name for each in folder.iterdir()] == ["book.json"]


def test_a_file_that_is_none_is_not_written_over(folder):
    folder.mkdir()
    (folder / "book.json").write_text("nonsense")
    with pytest.raises(StoreError, match="cannot be read"):
        keep(NOW)
    assert (folder / "book.json").read_text() == "nonsense"
