"""Folders of others: which links on the way are followed, and that one stays the one it was."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from httpdyno.host.foreign_files import ForeignFolder

SOMEBODY, ANOTHER = 40_001, 40_002
CHROOTED = "import os, sys; os.chroot(sys.argv[1]); print(flush=True); sys.stdin.read()"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def names_in(folder: ForeignFolder) -> list[str]:
    with folder.held() as handle:
        return sorted(each.name for each in Path(f"/proc/self/fd/{handle}").iterdir())


@contextmanager
def process_with_root(folder):
    """Give a process that sees a folder as `/`."""
    command = [sys.executable, "-I", "-S", "-c", CHROOTED, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process.pid


@pytest.fixture
def data(tmp_path):
    (tmp_path / "srv" / "data").mkdir(parents=True)
    (tmp_path / "srv" / "data" / "told").touch()
    return tmp_path / "srv" / "data"


def test_links_that_are_there_are_followed(tmp_path, data):
    (tmp_path / "absolute").symlink_to(data)
    (tmp_path / "srv" / "relative").symlink_to("../absolute/../data/.")
    for path in (data, tmp_path / "absolute", tmp_path / "srv" / "relative"):
        assert names_in(ForeignFolder.found(path)) == ["told"]


def test_a_link_that_comes_later_is_not_followed_whatever_it_replaces(tmp_path, data):
    (tmp_path / "secret").mkdir()
    found = ForeignFolder.found(data)
    data.rename(tmp_path / "old")
    data.symlink_to(tmp_path / "secret")
    with pytest.raises(NotADirectoryError), found.held():
        pass
    data.unlink()
    (tmp_path / "srv").rename(tmp_path / "moved")
    (tmp_path / "srv").symlink_to(tmp_path)
    (tmp_path / "secret").rename(data)
    with pytest.raises(NotADirectoryError), found.held():
        pass


def test_another_folder_is_not_taken_for_the_one_that_was_found(tmp_path, data):
    (tmp_path / "secret").mkdir()
    found = ForeignFolder.found(data)
    data.rename(tmp_path / "old")
    (tmp_path / "secret").rename(data)
    with pytest.raises(OSError, match="another folder"), found.held():
        pass
    data.rename(tmp_path / "secret")
    (tmp_path / "old").rename(data)
    assert names_in(found) == ["told"]


@pytest.mark.parametrize(
    ("target", "words"),
    [("here", "levels"), ("../srv/here", "levels"), ("none", "No such"), ("data/told", "Not a")],
)
def test_a_link_that_leads_to_no_folder_is_none(tmp_path, data, target, words):
    (tmp_path / "srv" / "here").symlink_to(target)
    with pytest.raises(OSError, match=words):
        ForeignFolder.found(tmp_path / "srv" / "here")


@as_root
def test_a_link_of_somebody_leads_only_to_what_is_his_own(tmp_path, data):
    link = tmp_path / "link"
    link.symlink_to(data)
    (data / "below").mkdir()
    for owner, of_folder, is_followed in (
        (0, SOMEBODY, True),  # an administrator's
        (SOMEBODY, SOMEBODY, True),
        (SOMEBODY, ANOTHER, False),
        (SOMEBODY, 0, False),
    ):
        os.chown(link, owner, owner, follow_symlinks=False)
        os.chown(data, of_folder, of_folder)
        # Where it leads counts, and not what is further down.
        for path in (link, link / "below"):
            if is_followed:
                assert ForeignFolder.found(path)
            else:
                with pytest.raises(PermissionError):
                    ForeignFolder.found(path)


@as_root
def test_a_link_of_somebody_to_a_link_of_roots_still_leads_to_what_is_not_his(tmp_path, data):
    (tmp_path / "roots").symlink_to(data)
    (tmp_path / "his").symlink_to("roots")
    os.chown(tmp_path / "his", SOMEBODY, SOMEBODY, follow_symlinks=False)
    with pytest.raises(PermissionError):
        ForeignFolder.found(tmp_path / "his")


@as_root
def test_links_of_another_process_lead_within_what_it_sees(tmp_path, data):
    (tmp_path / "log").symlink_to("/srv/../../../srv/data")
    (tmp_path / "out").symlink_to(data)
    with process_with_root(tmp_path) as pid:
        root = f"/proc/{pid}/root"
        found = ForeignFolder.found(f"{root}/log")
        assert names_in(found) == ["told"]
        assert names_in(ForeignFolder.found(root)) == names_in(ForeignFolder.found(tmp_path))
        with pytest.raises(FileNotFoundError):
            ForeignFolder.found(f"{root}/out")
    with pytest.raises(FileNotFoundError), found.held():
        pass


def test_a_name_that_no_folder_can_have_is_an_error_of_the_system(tmp_path):
    with pytest.raises(OSError, match="no file can have such a name"):
        ForeignFolder.found(f"{tmp_path}/a\0b")
