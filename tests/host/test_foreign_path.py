"""Paths of others: whose links are followed, that what was looked at is what is opened."""

import ctypes
import errno
import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

import httpdyno
from httpdyno.host.foreign_files import (
    Rights,
    folders_below,
    held,
    names_in,
    opened_anew,
    opened_regular,
    read_file,
    read_regular,
    real_path,
    real_paths,
)
from httpdyno.host.foreign_text import reason

SOMEBODY, ANOTHER = 40_001, 40_002
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def given(path, owner):
    os.chown(path, owner, owner, follow_symlinks=False)


@pytest.fixture
def theirs(tmp_path):
    """A folder of somebody's, beside a file and a folder of root's that nobody else may read."""
    (tmp_path / "secret").write_text("root's")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "secrets").mkdir(mode=0o700)
    (tmp_path / "secrets" / "file").write_text("root's")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "own").write_text("theirs")
    for each in (tmp_path / "theirs", tmp_path / "theirs" / "own"):
        given(each, SOMEBODY)
    return tmp_path / "theirs"


@as_root
@pytest.mark.parametrize(
    ("owner", "link", "path", "content"),
    [
        (0, "own", "link", "theirs"),
        (SOMEBODY, "own", "link", "theirs"),
        (ANOTHER, "own", "link", None),
        (0, "../secret", "link", "root's"),
        (SOMEBODY, "../secret", "link", None),
        (SOMEBODY, "/proc/self/cwd/../{}/../secret", "link", None),
        (SOMEBODY, "../secrets", "link/file", None),
        (SOMEBODY, "../theirs/../secrets/file", "link", None),
        (SOMEBODY, "..", "link/secret", None),  # what the link leads to is root's
        (SOMEBODY, "roots-link", "link", None),
        (0, "roots-link", "link", "root's"),
        (SOMEBODY, ".", "link/own", "theirs"),
    ],
)
def test_a_link_of_somebodys_is_followed_to_what_is_that_users(theirs, owner, link, path, content):
    (theirs / "roots-link").symlink_to("../secret")
    (theirs / "link").symlink_to(link.format(theirs))
    given(theirs / "link", owner)
    if content is None:
        with pytest.raises(OSError):  # noqa: PT011 - any of them: it is not opened
            opened_regular(theirs / path)
    else:
        found = read_file(theirs / path, limit_bytes=100)
        assert found.content.decode() == content
        assert found.real == os.path.realpath(theirs / path)


@as_root
def test_another_users_link_is_told_as_what_it_is(theirs):
    (theirs / "link").symlink_to("../secret")
    given(theirs / "link", SOMEBODY)
    with pytest.raises(PermissionError) as caught:
        opened_regular(theirs / "link")
    assert reason(caught.value) == "another user's link leads there, to what is not that user's"


@as_root
def test_a_hard_link_keeps_the_owner_and_the_rights_of_the_file(theirs):
    os.link(theirs.parent / "secret", theirs.parent / "hard")
    assert read_file(theirs.parent / "hard", limit_bytes=9).rights == Rights(mode=0o600)
    # In another user's folder it is read as far as that user may.
    os.link(theirs.parent / "secret", theirs / "hard")
    with pytest.raises(PermissionError, match="who may not read it"):
        read_file(theirs / "hard", limit_bytes=9)


def test_what_is_not_a_regular_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for name in ("fifo", "link"):
        with pytest.raises(OSError, match="it is a FIFO"):
            opened_regular(tmp_path / name)
    # Its other end would have been let through by an open for reading.
    with pytest.raises(OSError, match="No such device"):
        os.open(tmp_path / "fifo", os.O_WRONLY | os.O_NONBLOCK)


@as_root
@pytest.mark.parametrize("other", ["link", "fifo", "hard"])
def test_what_takes_a_files_place_while_it_is_opened_is_never_read(theirs, other):
    at, swapped = theirs / "own", theirs / "other"
    match other:
        case "link":
            swapped.symlink_to("../secret")
        case "fifo":
            os.mkfifo(swapped)
        case "hard":
            os.link(theirs.parent / "secret", swapped)
    if other != "hard":
        given(swapped, SOMEBODY)
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    names = [ctypes.c_char_p(os.fsencode(each)) for each in (at, swapped)]
    is_over = threading.Event()

    def flip():
        while not is_over.is_set():
            exchange(-100, names[0], -100, names[1], 2)

    flipping = threading.Thread(target=flip)
    flipping.start()
    seen, end = set(), time.monotonic() + 0.3
    while time.monotonic() < end:
        with suppress(OSError):
            found = read_file(at, limit_bytes=100)
            seen.add((found.content, found.rights.user_id, found.rights.mode))
    is_over.set()
    flipping.join()
    # By a hard link it is root's own file, and is known to be.
    allowed = {(b"root's", 0, 0o600)} if other == "hard" else set()
    assert seen <= allowed | {(b"theirs", SOMEBODY, 0o644)}
    assert (b"theirs", SOMEBODY, 0o644) in seen


def test_where_no_link_is_to_be_followed_one_at_the_end_is_held_itself(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "link").symlink_to("folder")
    with held(tmp_path / "link", follow=False) as found:
        assert stat.S_ISLNK(found.info().st_mode)
    with pytest.raises(OSError, match="levels"), held(tmp_path / "link" / "file", follow=False):
        pass


@as_root
def test_what_is_put_at_a_path_takes_the_place_of_a_link_that_is_not_followed(theirs):
    (theirs / "out").symlink_to("../secrets")
    given(theirs / "out", SOMEBODY)
    (theirs / "roots").symlink_to("../secrets")
    (theirs / "later").symlink_to("../secrets/./later/x/../y")
    (theirs / "later-file").symlink_to("own")
    whole = {}
    for path, real in (
        ("own", "own"),
        ("later-file", "own"),
        ("own/file", "own/file"),
        ("later/z", "../secrets/later/y/z"),
        ("roots/none/./file", "../secrets/none/file"),
        ("out", "out"),
        ("out/file", "out/file"),
        ("none/../own", "own"),
        ("none/../../theirs/x", "x"),
    ):
        whole[f"{theirs}/{path}"] = os.path.normpath(theirs / real)
        assert real_path(f"{theirs}/{path}") == whole[f"{theirs}/{path}"]
    relative = "none/../x"
    assert real_paths([*whole, relative]) == {**whole, relative: real_path(relative)}


@as_root
def test_nothing_is_written_through_a_link_of_somebodys(theirs):
    (theirs / "others").symlink_to("../secret")
    (theirs / "nowhere").symlink_to("../new")
    for link in ("others", "nowhere"):
        given(theirs / link, SOMEBODY)
        with pytest.raises(OSError):  # noqa: PT011 - any of them: it is not opened
            opened_anew(theirs / link)
    assert (theirs.parent / "secret").read_text() == "root's"
    (theirs / "my-own").symlink_to("../new")
    with pytest.raises(PermissionError, match="another user's file"):
        opened_anew(theirs / "own")
    for path in (theirs / "my-own", theirs / "made"):
        for text in (b"longer", b"new"):
            with os.fdopen(opened_anew(path), "wb") as file:
                file.write(text)
        assert path.read_bytes() == b"new"
    assert (theirs.parent / "new").read_bytes() == b"new"


def test_a_path_may_be_deep_and_no_deeper_than_descriptors_reach(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1100):
        os.mkdir("d", dir_fd=handle)
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
    found = [folder for folder, _, _ in folders_below(tmp_path)]
    assert len(found) == 1101
    with pytest.raises(OSError, match="too long") as caught:
        read_regular(f"{tmp_path}/{'d/' * 1000}file", limit_bytes=1)
    assert caught.value.errno == errno.ENAMETOOLONG
    for folder in found[:0:-1]:  # what clears up after tests may not go so deep
        os.rmdir(folder)  # noqa: PTH106


def test_names_are_none_where_there_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    assert names_in(tmp_path) == ["file"]
    for path in (tmp_path / "file", tmp_path / "none", tmp_path / ("x" * 300), "a\0b", ""):
        assert names_in(path) == []


@pytest.mark.parametrize("path", ["/etc/alternatives", "/var/run"])
def test_links_of_the_machines_own_are_followed(path):
    assert real_path(path) == os.path.realpath(path)
    if os.path.isdir(path):  # noqa: PTH112
        assert sorted(names_in(path)) == sorted(os.listdir(path))  # noqa: PTH208


READERS = re.compile(
    r"\.read_(?:bytes|text)\(|\bos\.walk\(|\.r?glob\(|\bshutil\.copy\w*\(|\b\w+\.open\(\"rb\"\)"
)
NOT_THEIRS = {
    "adopt/smoke_test.py": "the kernel's",
    "experiment/trial/memory.py": "the kernel's",
    "load/plan.py": "the kernel's",
    "servers/apache/made.py": "folders of distributions",
    "servers/apache/perl.py": "folders of distributions",
    "servers/sandbox/overlay.py": "the kernel's",
    "servers/sandbox/mount_plan.py": "names in `/`",
    "servers/sandbox/attempts.py": "the kernel's",
    "servers/sandbox/available.py": "the kernel's",
    "servers/command/seen.py": "the kernel's",
    "servers/gunicorn/server.py": "names in a study's own folder",
    "servers/nginx/survey.py": "the kernel's",
    "servers/php_fpm/installation.py": "folders of distributions",
    "servers/stack/stand_in.py": "a folder of its own",
    "study/starter.py": "what is bundled",
    "study/trust/held.py": "its own copy; what is copied is opened by `_copied_file`",
    "study/trust/named.py": "its own copy",
    "servers/staging.py": "its own place; what is copied is opened by `_copy_file`",
}
FOLDERS = (
    *("adopt", "experiment", "load", "study", "servers/apache", "servers/sandbox"),
    *("servers/command", "servers/gunicorn", "servers/nginx", "servers/php_fpm", "servers/stack"),
    *("servers/uvicorn", "servers/staging.py"),
)


def test_what_may_be_others_is_read_through_one_door():
    """A read by a path follows what its writer put there, and waits for FIFOs of his."""
    package = Path(httpdyno.__file__).parent
    found = set()
    for each in FOLDERS:
        files = [package / each] if each.endswith(".py") else (package / each).rglob("*.py")
        for file in files:
            lines = file.read_text().splitlines()
            if any(READERS.search(line) and "/proc/" not in line for line in lines):
                found.add(str(file.relative_to(package)))
    assert found == NOT_THEIRS.keys()
