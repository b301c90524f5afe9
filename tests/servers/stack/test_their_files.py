import pytest

from httpdyno.servers.stack.snapshot import TheirFiles


@pytest.fixture
def folder(tmp_path):
    """`link` leads to `far/away`, and there is a `b` beside either of them."""
    (tmp_path / "near").mkdir()
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "far/b").write_text("far")
    (tmp_path / "near/b").write_text("near")
    (tmp_path / "near/link").symlink_to(tmp_path / "far/away")
    return tmp_path


@pytest.mark.parametrize("path", ["near/b", "near/../near/b", "near//./b", "far/away/../../near/b"])
def test_a_path_that_means_one_file_is_read(folder, path):
    assert TheirFiles().content(f"{folder}/{path}") == b"near"


@pytest.mark.parametrize("name", ["b", "none"])
def test_a_path_that_means_two_files_is_refused(folder, name):
    (folder / "far/none").write_text("there alone")
    read = TheirFiles()
    with pytest.raises(OSError, match=rf"follows a link; name the file itself, `.*/far/{name}`"):
        read.content(f"{folder}/near/link/../{name}")
    assert not read.texts
