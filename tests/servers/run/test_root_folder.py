"""The user's roots: whose they must be, and what others may do."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.servers.left import left_by, session_of

from httpdyno.errors import AdapterError
from httpdyno.servers.run import root as root_folder
from httpdyno.servers.run.folder import new_run_root
from httpdyno.servers.run.leftovers import reap_leftovers
from httpdyno.servers.run.root import disk_root, locked_root, memory_root_or


def test_a_root_that_is_a_link_is_refused(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(tmp_path / "link"))
    with pytest.raises(AdapterError, match="not a folder of this user"):
        new_run_root()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers change user")
def test_root_refuses_a_run_folder_that_servers_users_cannot_reach(own_folders, monkeypatch):
    closed = own_folders / "closed"
    closed.mkdir(mode=0o700)
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(closed / "run"))
    with pytest.raises(AdapterError, match="cannot be reached by servers' users"):
        new_run_root()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders that are another's")
def test_where_all_names_in_memory_are_taken_the_disk_does(own_folders, monkeypatch):
    monkeypatch.setenv("HTTPDYNO_MEMORY_DIR", str(own_folders))
    for name in ("httpdyno-0", *(f"httpdyno-0-{number}" for number in range(1, 4))):
        (own_folders / name).mkdir()
        os.chown(own_folders / name, 65534, 65534)
    assert memory_root_or(Path("/elsewhere")) == Path("/elsewhere")


def test_a_folder_for_all_keeps_its_mode_and_ours_is_made_in_it(own_folders, monkeypatch):
    common = own_folders / "common"
    common.mkdir()
    common.chmod(0o1777)
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(common))
    assert disk_root() == common / f"httpdyno-{os.geteuid()}"
    assert common.stat().st_mode & 0o7777 == 0o1777


def test_a_lock_that_is_not_let_go_says_who_holds_it(monkeypatch):
    monkeypatch.setattr(root_folder, "_PATIENCE_S", 0.05)
    with locked_root(disk_root()), pytest.raises(AdapterError) as caught:
        new_run_root()
    assert f"process {os.getpid()} holds `{disk_root() / 'lock'}`" in str(caught.value)


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_a_root_that_others_can_replace_is_refused(own_folders, monkeypatch, mode):
    shared = own_folders / "shared"
    shared.mkdir()
    shared.chmod(mode)
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(shared / "run"))
    with pytest.raises(AdapterError, match=f"others can replace what is in `{shared}`"):
        new_run_root()
    shared.chmod(mode | 0o1000)
    with new_run_root() as root:
        assert root.folder.is_relative_to(shared)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders that are another's")
@pytest.mark.parametrize("way", ["owner", "group"])
def test_below_another_users_folder_no_record_is_believed_and_no_root_made(
    own_folders, monkeypatch, way
):
    theirs = own_folders / "theirs"
    theirs.mkdir()
    monkeypatch.setenv("HTTPDYNO_RUN_DIR", str(theirs / "run"))
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as bystander:
        dead = left_by(session_of(bystander))
        if way == "owner":
            os.chown(theirs, 65534, 0)
        else:
            os.chown(theirs, 0, 65534)
            theirs.chmod(0o775)
        assert reap_leftovers() == []
        assert bystander.poll() is None
        bystander.kill()
    assert dead.exists()
    with pytest.raises(AdapterError, match=f"others can replace what is in `{theirs}`"):
        new_run_root()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders that are another's")
def test_folders_of_another_user_are_neither_used_nor_waited_for(own_folders, monkeypatch):
    for variable in ("HTTPDYNO_RUN_DIR", "HTTPDYNO_MEMORY_DIR"):
        monkeypatch.delenv(variable)
    for variable in ("_DISK", "_MEMORY"):
        common = own_folders / variable
        common.mkdir()
        common.chmod(0o1777)
        monkeypatch.setattr(root_folder, variable, common)
        foreign = common / f"httpdyno-{os.geteuid()}"
        (foreign / "run-1-1-abc").mkdir(parents=True)
        for name in ("lock", "run-1-1-abc/owner.jsonl", "run-1-1-abc/lock"):
            os.mkfifo(foreign / name)
        for each in (foreign, foreign / "run-1-1-abc"):
            os.chown(each, 65534, 65534)
    assert reap_leftovers() == []
    with new_run_root() as root:
        place = root.new_place("x")
        assert place.folder.parent.parent == own_folders / "_DISK" / "httpdyno-0-1"
        assert place.memory_folder.parent.parent == own_folders / "_MEMORY" / "httpdyno-0-1"
    assert (own_folders / "_MEMORY" / "httpdyno-0" / "run-1-1-abc").exists()
