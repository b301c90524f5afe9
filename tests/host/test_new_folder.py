"""A folder that is filled while others may write to the one above it."""

import os
import stat

import pytest

from httpdyno.host.foreign_files import new_folder

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")


def test_all_in_it_is_its_users_alone(tmp_path):
    with new_folder(tmp_path / "a/b") as folder, folder.below("c") as below:
        below.write(["d", "e"], b"1")
        below.write(["d", "f"], b"2")
        folder.write(["g"], b"3")
    made = tmp_path / "a/b"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (made, *made.rglob("*"))}
    assert {modes[name] for name in "bcd"} == {0o700}
    assert {modes[name] for name in "efg"} == {0o600}
    assert (made / "c/d/f").read_bytes() == b"2"


def test_what_takes_its_place_meanwhile_is_not_written_to(tmp_path):
    (tmp_path / "precious").mkdir()
    with new_folder(tmp_path / "study") as folder:
        (tmp_path / "study").rename(tmp_path / "away")
        (tmp_path / "study").symlink_to("precious")
        (tmp_path / "away/sub").symlink_to(tmp_path / "precious")
        (tmp_path / "away/file").symlink_to(tmp_path / "precious/file")
        for names in (["sub", "file"], ["file"]):
            with pytest.raises(OSError):  # noqa: PT011 - any of them: it is not opened
                folder.write(names, b"secret")
        folder.write(["own"], b"")
    assert list((tmp_path / "precious").iterdir()) == []
    assert (tmp_path / "away/own").exists()


@as_root
def test_no_folder_of_anothers_is_gone_into(tmp_path):
    with new_folder(tmp_path / "study") as folder:
        (tmp_path / "study/sub").mkdir()
        os.chown(tmp_path / "study/sub", 40_001, 40_001)
        with pytest.raises(OSError, match="another user's folder"):
            folder.write(["sub", "file"], b"")


@pytest.mark.parametrize("names", [["..", "a"], [".."], ["a/b"], [""], ["a\0"], ["."]])
def test_a_name_is_one_of_a_file_in_it(tmp_path, names):
    with new_folder(tmp_path / "study") as folder, pytest.raises(OSError, match="no file can"):
        folder.write(names, b"")


def test_what_is_there_is_no_new_folder(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "none")
    for name in (".", "link"):
        with pytest.raises(OSError), new_folder(tmp_path / name):  # noqa: PT011 - any of them
            pass
    assert not (tmp_path / "none").exists()
