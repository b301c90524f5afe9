from pathlib import Path

import pytest
from tests.rows import each_row

from httpdyno.errors import StoreError
from httpdyno.host.own_files import data_folder
from httpdyno.store import database
from httpdyno.store.database import Location, store_location


@each_row(
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


def test_a_path_may_hold_what_follows_a_scheme():
    assert store_location("/a/b://c.db", {}).file == Path("/a/b:/c.db")


def test_a_postgresql_url_gets_its_driver_and_is_named_without_its_password():
    location = store_location("postgresql://me:secret@db.example:5432/runs?password=secret", {})
    assert location.file is None
    assert location.url.startswith("postgresql+psycopg://me:secret@")
    assert location.name == "postgresql://me@db.example:5432/runs"


@each_row(
    ("url", "name"),
    [
        ("postgresql://me:a/secret/b@db/runs", "me@db/runs"),
        ("postgresql://me:secret@x@db:5432/runs?password=secret", "me@db:5432/runs"),
        ("postgresql://me:secret%2F@[::1/runs", "me@[::1/runs"),
    ],
)
def test_no_part_of_a_password_is_in_the_name_nor_in_what_a_driver_says(url, name):
    location = Location(file=None, url=url)
    assert location.name == f"postgresql://{name}"
    assert any("secret" in each for each in location.passwords)
    said = database._explained(location, ValueError(f"cannot parse port 'a/secret' of {url}"))
    assert "secret" not in str(said)


@pytest.mark.parametrize("password", ["a/secret", "secret@b"])
def test_a_password_that_must_be_encoded_is_refused_without_showing_it(password):
    with pytest.raises(StoreError, match=r"password .* `postgresql://me@db/runs` holds") as caught:
        store_location(f"postgresql://me:{password}@db/runs", {})
    assert "secret" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("port", ["secret", "99999999", "9" * 5000])
def test_a_postgresql_url_with_an_odd_port_is_one_sentence(port):
    with pytest.raises(StoreError):
        database.Database.open(f"postgresql://me@127.0.0.1:{port}/runs")


@each_row(
    ("text", "message"),
    [
        ("~nobody-of-that-name/store.db", "no such home folder"),
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
