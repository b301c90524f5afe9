from pathlib import Path

import pytest

from httpdyno.errors import AdapterError
from httpdyno.model import Member
from httpdyno.servers.adapter import Place
from httpdyno.servers.site.environment import environment_file, member_environment

PLACE = Place(folder=Path("/place"), memory_folder=Path("/memory"))


def test_a_copy_gets_little_of_the_environment_and_what_it_names(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "secret")
    monkeypatch.setenv("GUNICORN_CMD_ARGS", "--workers 9")
    member = Member(name="app", kind="gunicorn", environment_names=("DATABASE_URL",))
    found = member_environment(member, PLACE, has_all=False)
    assert found["DATABASE_URL"] == "secret"
    assert found["HOME"] == "/place/c"
    assert "GUNICORN_CMD_ARGS" not in found


@pytest.mark.parametrize(
    ("kind", "user", "home"),
    [
        ("nginx", "", None),
        ("php-fpm", "www-data", None),
        ("command", "", "/of/the/caller"),
        ("gunicorn", "root", "/root"),
        ("node", "0", "/root"),
        ("node", "4294967200", None),
    ],
)
def test_a_copy_that_sees_all_has_the_home_that_theirs_has(kind, user, home, monkeypatch):
    monkeypatch.setenv("HOME", "/of/the/caller")
    member = Member(name="app", kind=kind, user=user)
    assert member_environment(member, PLACE, has_all=True).get("HOME") == home


def test_values_are_read_from_the_file_that_the_service_has(tmp_path, monkeypatch):
    monkeypatch.setenv("A", "of the shell")
    file = tmp_path / "shop.env"
    file.write_text("# for the shop\nA=of the file\nB=2\n")
    member = Member(
        name="app", kind="command", environment_names=("A",), environment_from=str(file)
    )
    found = member_environment(member, PLACE, has_all=False)
    assert found["A"] == "of the file"
    assert "B" not in found


@pytest.mark.parametrize("source", ["", "/nowhere/shop.env"])
def test_a_variable_that_is_nowhere_is_named(source, monkeypatch):
    monkeypatch.delenv("MISSING", raising=False)
    member = Member(
        name="app", kind="command", environment_names=("MISSING",), environment_from=source
    )
    with pytest.raises(AdapterError, match=r"MISSING|shop\.env"):
        member_environment(member, PLACE, has_all=False)


def test_environment_files_are_read_as_systemd_does():
    text = "A=1\n; no\n#B=2\n C = spaced \nD='one two'\nE=\"x=y\"\nF=it's\nnothing\n=none\n"
    assert environment_file(text) == {
        "A": "1",
        "C": "spaced",
        "D": "one two",
        "E": "x=y",
        "F": "it's",
    }
