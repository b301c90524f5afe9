import subprocess
from functools import partial
from pathlib import Path

import pytest

from httpdyno.errors import AdapterError
from httpdyno.host.procfs import stat_of
from httpdyno.model import Member
from httpdyno.servers.adapter import Place
from httpdyno.servers.stack.environment import (
    member_environment,
    own_variables,
    process_source,
)
from httpdyno.servers.systemd import variables_of

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


@pytest.fixture
def shop_unit(tmp_path, monkeypatch):
    """A unit with variables, and a file in this folder that is called like its source."""
    (tmp_path / "units").mkdir()
    (tmp_path / "units/shop.service").write_text(
        f"[Service]\nEnvironment=A=of-%p B=1\nEnvironmentFile={tmp_path}/shop.env\n"
    )
    (tmp_path / "shop.env").write_text("B=2\nC='3 4'\n")
    (tmp_path / "unit:shop.service").write_text("A=theirs\n")
    monkeypatch.chdir(tmp_path)
    folders = (str(tmp_path / "units"),)
    monkeypatch.setattr(
        "httpdyno.servers.stack.environment.variables_of", partial(variables_of, folders=folders)
    )


def of_source(source, *names):
    member = Member(name="app", kind="command", environment_names=names, environment_from=source)
    return own_variables(member)


def test_a_units_variables_are_its_own(shop_unit):
    names = ("A", "B", "C", "INVOCATION_ID", "PATH")
    assert of_source("unit:shop.service", *names) == {"A": "of-shop", "B": "2", "C": "3 4"}
    with pytest.raises(AdapterError, match="needs `D`"):
        of_source("unit:shop.service", "D")


@pytest.mark.parametrize("source", ["unit:../shop.env", "shop.env", "./unit:shop.service"])
def test_no_file_of_this_folder_is_a_source(source, shop_unit):
    with pytest.raises(AdapterError, match="environment of app"):
        of_source(source, "B")


@pytest.fixture
def process():
    """Yield a process with variables: its number, and when it started."""
    command = ["/bin/sh", "-c", "echo up; read -r _"]
    pipe = subprocess.PIPE
    variables = {"A": "of it", "B": "2"}
    with subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe) as started:
        # Until a program runs, the kernel says that it has no variables.
        assert started.stdout is not None
        assert started.stdout.readline() == b"up\n"
        seen = stat_of(started.pid)
        assert seen is not None
        yield started.pid, seen.started_ticks
        started.kill()


def test_variables_of_a_process_are_its_own(process, monkeypatch):
    monkeypatch.setenv("A", "of the caller")
    assert of_source(process_source(*process), "A") == {"A": "of it"}


@pytest.mark.parametrize("change", [(0, 1), (1 << 22, 0)])
def test_a_process_that_is_gone_gives_nothing_nor_does_a_later_one(change, process, monkeypatch):
    monkeypatch.setenv("A", "of the caller")
    source = process_source(process[0] + change[0], process[1] + change[1])
    assert of_source(source, "A") == {"A": "of the caller"}
    with pytest.raises(AdapterError, match="needs `B`"):
        of_source(source, "B")


def test_a_terminals_variables_are_no_settings(monkeypatch):
    monkeypatch.delenv("SSH_TTY", raising=False)
    member = Member(name="app", kind="command", environment_names=("SSH_TTY", "XDG_SEAT", "PATH"))
    assert set(own_variables(member)) <= {"XDG_SEAT", "PATH"}
