import os
import subprocess
import sys

import pytest

from httpdyno.servers.run.leftovers import remove_tree

DEADLINE_S = 30.0
DEEP = """
import os, sys
os.chdir(sys.argv[1])
for _ in range(3000):
    os.mkdir("a-folder-in-a-folder")
    os.chdir("a-folder-in-a-folder")
open("file", "w").close()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "gone").mkdir()
    return tmp_path / "gone"


def test_all_kinds_of_files_are_removed(folder):
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/file").write_text("x")
    (folder / "empty").mkdir()
    os.mkfifo(folder / "deep/fifo")
    remove_tree(folder)
    assert not folder.exists()


def test_links_are_removed_and_not_followed(folder, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    (folder / "to-folder").symlink_to(precious)
    (folder / "to-file").symlink_to(precious / "file")
    (folder / "deep").mkdir()
    (folder / "deep" / "to-folder").symlink_to(precious)
    remove_tree(folder)
    assert not folder.exists()
    assert (precious / "file").read_text() == "mine"


def test_a_folder_that_is_a_link_itself_is_not_removed_through(folder, tmp_path):
    (folder / "file").write_text("mine")
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(NotADirectoryError):
        remove_tree(tmp_path / "link")
    assert (folder / "file").exists()


def test_folders_deeper_than_any_path_are_removed(folder):
    subprocess.run([sys.executable, "-c", DEEP, folder], check=True, timeout=DEADLINE_S)
    remove_tree(folder)
    assert not folder.exists()


def test_closed_folders_are_removed_by_their_owner(folder):
    (folder / "closed" / "below").mkdir(parents=True)
    (folder / "closed" / "below" / "file").write_text("x")
    for path in (folder / "closed" / "below", folder / "closed", folder):
        path.chmod(0)
    as_owner = "import sys; sys.dont_write_bytecode = True\n"
    as_owner += "from httpdyno.servers.run.leftovers import remove_tree; from pathlib import Path\n"
    as_owner += "import os\n"
    if os.geteuid() == 0:
        # Only who is not root is bound by modes.
        for path in (folder.parent, folder):
            os.chown(path, 65534, 65534)
        for path in (folder / "closed", folder / "closed" / "below"):
            os.chown(path, 65534, 65534)
        as_owner += "os.chdir(sys.argv[1]); os.setresuid(65534, 65534, 65534)\n"
    as_owner += "remove_tree(Path(sys.argv[2]))\n"
    done = subprocess.run(
        [sys.executable, "-c", as_owner, folder.parent, "gone"],
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        cwd=folder.parent,
    )
    assert done.stderr == ""
    assert not folder.exists()


def test_what_is_not_there_is_said_to_be_so(folder):
    remove_tree(folder)
    with pytest.raises(FileNotFoundError):
        remove_tree(folder)
