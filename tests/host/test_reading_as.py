"""Root reads with a user's rights: what others name, and what stands in their folders."""

import os
import threading
from pathlib import Path

import pytest

from httpdyno.host.foreign_files import read_regular
from httpdyno.host.rights import may_read, reading_as
from httpdyno.servers.stack.snapshot import TheirFiles

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to put aside")
EVE = 65533


@pytest.fixture
def secret(own_folders: Path) -> Path:
    file = own_folders / "secret"
    file.write_text("of root")
    file.chmod(0o600)
    return file


def test_only_this_thread_reads_as_another_user_and_only_meanwhile(secret):
    groups = os.getgroups()
    found = []
    goes = threading.Event()

    def read() -> None:
        goes.wait(10)
        found.append(secret.read_text())

    beside = threading.Thread(target=read)
    beside.start()
    with reading_as(EVE):
        with pytest.raises(PermissionError):
            secret.read_text()
        goes.set()
        beside.join()
    assert found == ["of root"]
    assert (secret.read_text(), os.getgroups()) == ("of root", groups)
    with reading_as(0):
        assert secret.read_text() == "of root"


@pytest.mark.parametrize(
    ("mode", "owner", "group", "expected"),
    [
        (0o600, 0, 0, False),
        (0o644, 0, 0, True),
        (0o640, 0, EVE, True),
        (0o604, 0, EVE, False),
        (0o400, EVE, 0, True),
        (0o044, EVE, 0, False),
    ],
)
def test_who_may_read_is_said_by_the_mode_of_the_nearest(secret, mode, owner, group, expected):
    os.chown(secret, owner, group)
    secret.chmod(mode)
    assert may_read(secret.stat(), EVE) == expected
    with reading_as(EVE):
        assert os.access(secret, os.F_OK)
        try:
            os.close(os.open(secret, os.O_RDONLY))
        except PermissionError:
            assert not expected
        else:
            assert expected


def test_what_stands_in_another_users_folder_is_read_as_far_as_he_may(own_folders, secret):
    folder = own_folders / "eve"
    folder.mkdir()
    os.link(secret, folder / "page")
    assert read_regular(folder / "page", limit_bytes=100) == b"of root"
    os.chown(folder, EVE, EVE)
    with pytest.raises(PermissionError, match="who may not read it"):
        read_regular(folder / "page", limit_bytes=100)


@pytest.mark.parametrize("user", ["", str(EVE)])
def test_a_configuration_shows_no_more_than_who_wrote_it_may_read(own_folders, secret, user):
    main = own_folders / "conf"
    main.write_text("include secret")
    read = TheirFiles(user=user)
    if not user:
        os.chown(main, EVE, EVE)
    read.content(str(main))
    with pytest.raises(PermissionError):
        read.content(str(secret))
    closed = own_folders / "closed"
    closed.mkdir(mode=0o700)
    (closed / "name").touch()
    assert read.names(str(closed)) == []
    root = TheirFiles()
    os.chown(main, 0, 0)
    root.content(str(main))
    assert root.content(str(secret)) == b"of root"
