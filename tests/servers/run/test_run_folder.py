"""The folders of this process: made, given out, and gone at its end."""

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from httpdyno.errors import AdapterError
from httpdyno.servers.adapter import Place
from httpdyno.servers.run import folder
from httpdyno.servers.run.folder import new_run_root, remove_place
from httpdyno.servers.run.record import record_session

DEADLINE_S = 10


def test_places_are_new_private_and_on_disk_and_in_memory():
    with new_run_root() as root:
        one, other = root.new_place("a b/c"), root.new_place("a b/c")
        assert one != other
        assert "a-b-c" in one.folder.name
        assert one.folder.parent == root.folder
        for folder in (one.folder, one.memory_folder):
            assert folder.stat().st_mode & 0o777 == 0o700
        for folder in (root.folder, root.memory_folder):
            assert folder.stat().st_mode & 0o777 == 0o755


def test_releasing_removes_everything_and_can_be_repeated():
    root = new_run_root()
    place = root.new_place("x")
    (place.folder / "file").write_text("x")
    root.release()
    root.release()
    assert not root.folder.exists()
    assert not root.memory_folder.exists()


def test_a_place_can_be_removed_by_itself_and_again():
    with new_run_root() as root:
        place = root.new_place("x")
        (place.memory_folder / "file").write_text("x")
        remove_place(place)
        remove_place(place)
        assert not place.folder.exists()
        assert not place.memory_folder.exists()


def test_releasing_ends_what_still_runs():
    with new_run_root() as root:
        place = root.new_place("x")
        with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as process:
            record_session(place, process.pid)
            root.release()
            assert process.wait(DEADLINE_S) == -signal.SIGTERM


def test_without_a_ram_backed_file_system_memory_is_on_disk(own_folders, monkeypatch):
    monkeypatch.setattr(folder, "memory_root_or", lambda otherwise: otherwise)
    with new_run_root() as root:
        place = root.new_place("x")
        assert place.memory_folder.is_relative_to(own_folders)
        assert place.memory_folder != place.folder
    assert not place.memory_folder.exists()


def test_a_place_with_folders_deeper_than_pythons_stack_is_removed():
    with new_run_root() as root:
        place = root.new_place("x")
        here = Path.cwd()
        try:
            os.chdir(place.folder)
            for _ in range(sys.getrecursionlimit() + 100):
                Path("a").mkdir()
                os.chdir("a")
        finally:
            os.chdir(here)
        remove_place(place)
        assert not place.folder.exists()


def test_a_place_that_cannot_be_made_is_said_in_one_sentence(monkeypatch):
    with new_run_root() as root:

        def full(*_args, **_options):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Path, "mkdir", full)
            with pytest.raises(AdapterError, match="cannot be made: no space left on device"):
                root.new_place("x")


def test_a_process_that_only_has_the_number_of_a_recorded_one_is_not_touched():
    root = new_run_root()
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as bystander:
        entry = {"leader": bystander.pid, "started_ticks": 1}
        with (root.folder / "owner.jsonl").open("a") as record:
            record.write(json.dumps(entry) + "\n")
        root.release()
        assert bystander.poll() is None
        bystander.kill()


def test_a_record_needs_a_run_folder(tmp_path):
    place = Place(folder=tmp_path / "a" / "b", memory_folder=tmp_path / "m")
    with pytest.raises(AdapterError, match="in no run folder with a record"):
        record_session(place, os.getpid())
