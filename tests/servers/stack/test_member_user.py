"""Whom a member's copies run as."""

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from httpdyno.host.runnable import NotOursError
from httpdyno.model import Member
from httpdyno.servers.stack.environment import as_own_user, own_user
from httpdyno.servers.systemd import variable_files

EVE, BOB = "65533", "65532"
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def written(path, owner="0"):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.touch(mode=0o755)
    os.chown(path, int(owner), 0)
    return str(path)


def user_of(**member):
    return as_own_user(Member(name="m", kind="command", **member)).user


def test_what_root_starts_and_root_alone_may_write_is_roots(folder):
    main = written(folder / "nginx.conf")
    assert user_of(program="/bin/sh", main=main) == ""
    assert user_of(program="/bin/sh", main=main, user="root") == "root"
    assert user_of(command=("sh", "-c", "exit"), folder=str(folder)) == ""


def test_what_a_user_runs_is_that_users_whoever_wrote_it(folder):
    main = written(folder / "nginx.conf", BOB)
    assert user_of(program="/bin/sh", main=main, user=EVE) == EVE


@pytest.mark.parametrize("mine", ["program", "main", "envvars", "command", "script", "variables"])
def test_what_eve_may_write_is_hers_though_root_starts_it(folder, mine):
    def place(name):
        return written(folder / name / name, EVE if mine == name else "0")

    written(folder / "main" / "envvars", EVE if mine == "envvars" else "0")
    found = user_of(
        program=place("program"),
        main=place("main"),
        command=(place("command"), f"--config={place('script')}"),
        environment_from=place("variables"),
    )
    assert found == EVE


def test_what_eve_may_write_of_a_units_variables_is_her_word(folder, monkeypatch):
    unit = f"[Service]\nEnvironment=A=1\nEnvironmentFile=-{folder}/shop.env\n"
    (folder / "units").mkdir()
    (folder / "units/shop.service").write_text(unit)
    monkeypatch.setattr(
        "httpdyno.servers.stack.environment.variable_files",
        partial(variable_files, folders=(str(folder / "units"),)),
    )
    of_unit = {"environment_names": ("A",), "environment_from": "unit:shop.service"}
    assert user_of(program="/bin/sh", **of_unit) == ""
    written(folder / "shop.env", EVE)
    assert user_of(program="/bin/sh", **of_unit) == EVE


@pytest.mark.parametrize("words", [("node", "server.js"), ("node", "-m", "shop")])
def test_a_script_and_modules_are_found_where_it_runs(folder, words):
    written(folder / "server.js")
    os.chown(folder, int(EVE), 0)
    assert user_of(command=("/bin/sh", *words[1:]), folder=str(folder)) == EVE


@pytest.mark.parametrize("words", [("-cIN/c.py",), ("--pythonpath=/srv,IN",), ("--chdir", "IN")])
def test_what_a_command_line_names_is_a_word_too(folder, words):
    theirs = Path(written(folder / "in" / "c.py", EVE)).parent
    os.chown(theirs, int(EVE), 0)
    named = [word.replace("IN", str(theirs)) for word in words]
    assert own_user("", ["/bin/sh"], named) == EVE


@pytest.mark.parametrize("mode", [0o3775, 0o1777])
@pytest.mark.parametrize("place", ["script", "folder", "envvars", "main"])
def test_whoever_may_add_files_where_they_are_found_has_a_word(folder, mode, place):
    app = folder / "app"
    script = written(app / "shop.py")
    os.chown(app, 0, 65_531)  # which nobody knows
    app.chmod(mode)
    how: dict[str, dict[str, Any]] = {
        "script": {"command": ("/bin/sh", script)},
        "folder": {"command": ("/bin/sh", "-m", "shop"), "folder": str(app)},
        "envvars": {"program": "/bin/sh", "main": str(app / "apache2.conf")},
        "main": {"program": "/bin/sh", "main": written(app / "nginx.conf")},
    }
    written(app / "envvars") if place == "main" else None
    with pytest.raises(NotOursError, match=f"anybody may write `{app}`"):
        user_of(**how[place])


@pytest.mark.parametrize(
    "words",
    [["--worker-tmp-dir", "/dev/shm"], ["--upload-dir=/tmp"], ["-rf", "/tmp"], ["/tmp"], ["data"]],
)
def test_a_folder_for_data_is_nobodys_word(folder, words):
    written(folder / "shared" / "data")
    (folder / "shared").chmod(0o1777)
    named = [word.replace("data", f"{folder}/shared/data") for word in words]
    assert own_user("", ["/bin/sh"], named) == ""


def test_a_folder_that_is_run_is_a_word(folder):
    theirs = Path(written(folder / "in" / "__main__.py")).parent
    theirs.chmod(0o1777)
    with pytest.raises(NotOursError, match=f"anybody may write `{theirs}`"):
        own_user("", ["/bin/sh"], [str(theirs)])


def test_what_is_not_there_is_his_who_may_put_it_there(folder):
    (folder / "theirs").mkdir()
    os.chown(folder / "theirs", int(EVE), 0)
    (folder / "link").symlink_to("theirs/nginx.conf")
    assert user_of(program="/bin/sh", main=f"{folder}/link") == EVE
    os.chown(folder, int(EVE), 0)
    assert user_of(program="/bin/sh", main=f"{folder}/conf/nginx.conf") == EVE
    assert own_user("", [f"{folder}/bin/seed"], [], folder="/") == EVE


def test_what_two_users_may_write_is_run_as_neither(folder):
    program, main = written(folder / "nginx", EVE), written(folder / "nginx.conf", BOB)
    with pytest.raises(NotOursError, match=f"`{program}` is not run: {BOB} and {EVE} may write"):
        user_of(program=program, main=main)
    folder.chmod(0o1777)
    with pytest.raises(NotOursError, match="anybody may write"):
        user_of(command=("/bin/sh", "-m", "shop"), folder=str(folder))
