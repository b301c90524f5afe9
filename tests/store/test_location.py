from pathlib import Path

import pytest

from httpdyno.errors import StoreError
from httpdyno.store.location import data_folder, store_location


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HTTPDYNO_DATA_DIR": "/a", "XDG_DATA_HOME": "/b"}, Path("/a")),
        ({"XDG_DATA_HOME": "/b"}, Path("/b/httpdyno")),
        ({"HTTPDYNO_DATA_DIR": ""}, Path.home() / ".local/share/httpdyno"),
    ],
)
def test_the_data_folder_is_the_most_particular_one_that_is_set(environment, folder):
    assert data_folder(environment) == folder


def test_what_is_given_goes_before_the_environment():
    environment = {"HTTPDYNO_STORE": "/b/store.db", "HTTPDYNO_DATA_DIR": "/c"}
    assert store_location("/a/store.db", environment).file == Path("/a/store.db")
    assert store_location(None, environment).file == Path("/b/store.db")
    assert store_location(None, {"HTTPDYNO_DATA_DIR": "/c"}).file == Path("/c/httpdyno.db")


def test_an_sqlite_url_is_its_path():
    assert store_location("sqlite:////a/b c%20d?.db", {}).file == Path("/a/b c%20d?.db")
    assert store_location("sqlite:///here.db", {}).file == Path("here.db").absolute()


def test_a_postgresql_url_gets_its_driver_and_is_named_without_its_password():
    location = store_location("postgresql://me:secret@db.example:5432/runs?password=secret", {})
    assert location.file is None
    assert location.url.startswith("postgresql+psycopg://me:secret@")
    assert location.name == "postgresql://me@db.example:5432/runs"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mysql://me:secret@db/runs", "of kind `mysql`"),
        ("sqlite://", "of kind `sqlite`"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_what_cannot_keep_runs_is_refused(text, message):
    with pytest.raises(StoreError, match=message) as caught:
        store_location(text, {})
    assert "secret" not in str(caught.value)
    assert caught.value.hint
