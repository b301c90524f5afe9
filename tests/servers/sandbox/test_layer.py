"""Layers over folders of others: what is copied has the owner and the rights that it had there."""

import ctypes
import os
import stat
import threading
import time

import pytest
from tests.servers.sandbox.cells import made_cells, said_by

from httpdyno.host.foreign_files import Rights
from httpdyno.servers.sandbox.available import possible
from httpdyno.servers.sandbox.layer import Layers
from httpdyno.servers.sandbox.mount_plan import _stands

SOMEBODY = 40_001
needs_a_cell = pytest.mark.skipif(possible()[0] != "cell", reason="no cell can be made here")
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def theirs(tmp_path):
    """A folder that somebody writes to, beside a file that only root may read."""
    (tmp_path / "secret").write_text("root's")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", SOMEBODY, SOMEBODY)
    return tmp_path / "theirs"


def copied(theirs, to):
    layers = Layers(target=str(theirs), folder=to)
    with os.scandir(theirs) as entries:
        for entry in entries:
            layers.copy(entry)
    return layers.placed


def rights_of(path):
    return Rights.of(path.lstat())


def test_what_is_copied_is_read_by_nobody_who_could_not_read_it_there(theirs, tmp_path):
    (theirs / "plain").write_text("theirs")
    os.chown(theirs / "plain", SOMEBODY, SOMEBODY)
    (theirs / "plain").chmod(0o640)
    os.link(tmp_path / "secret", theirs / "hard")
    (theirs / "link").symlink_to("../secret")
    os.chown(theirs / "link", SOMEBODY, SOMEBODY, follow_symlinks=False)
    os.mkfifo(theirs / "fifo")
    placed = copied(theirs, tmp_path / "layers")
    # Of what is root's alone nothing is shown, by whatever name it stands there.
    assert sorted(each.name for each in placed.iterdir()) == ["link", "plain"]
    assert rights_of(placed / "plain") == Rights(user_id=SOMEBODY, group_id=SOMEBODY, mode=0o640)
    assert os.readlink(placed / "link") == "../secret"  # noqa: PTH115
    assert rights_of(placed / "link").user_id == SOMEBODY


def test_what_takes_its_place_meanwhile_is_not_copied(theirs, tmp_path):
    at, swapped = theirs / "own", tmp_path / "swapped"
    at.write_text("theirs")
    swapped.symlink_to(tmp_path / "secret")
    for each in (at, swapped):
        os.chown(each, SOMEBODY, SOMEBODY, follow_symlinks=False)
    exchange = ctypes.CDLL(None).renameat2
    names = [ctypes.c_char_p(os.fsencode(each)) for each in (at, swapped)]
    is_over = threading.Event()

    def flip():
        while not is_over.is_set():
            exchange(-100, names[0], -100, names[1], 2)

    flipping = threading.Thread(target=flip)
    flipping.start()
    end, number, texts = time.monotonic() + 0.3, 0, set()
    while time.monotonic() < end:
        number += 1
        placed = copied(theirs, tmp_path / f"layers-{number}") / "own"
        if os.path.lexists(placed) and stat.S_ISREG(placed.lstat().st_mode):
            texts.add((placed.read_text(), rights_of(placed).user_id))
    is_over.set()
    flipping.join()
    assert texts == {("theirs", SOMEBODY)}


def test_what_is_placed_has_the_rights_of_the_file_that_was_read(theirs, tmp_path):
    layers = Layers(target=str(theirs), folder=tmp_path / "layers")
    (theirs / "now").write_text("readable by all")
    kept = Rights(user_id=SOMEBODY, group_id=0, mode=0o440)
    layers.place(f"{theirs}/now", b"as it was", kept)
    layers.place(f"{theirs}/new", b"new")
    assert rights_of(layers.placed / "now") == kept
    assert rights_of(layers.placed / "new").mode == 0o644


SAYS = """
import json, os, sys
print(json.dumps([[os.stat(path).st_uid, os.stat(path).st_mode & 0o777] for path in sys.argv[1:]]))
"""


@needs_a_cell
def test_a_cell_shows_a_placed_file_as_it_was_and_no_link_of_others_leads_out(theirs, tmp_path):
    (theirs / "now-open").write_text("")
    (theirs / "link").symlink_to("../secret")
    os.chown(theirs / "link", SOMEBODY, SOMEBODY, follow_symlinks=False)
    paths = [f"{theirs}/now-open", f"{theirs}/link"]
    kept = {paths[0]: Rights(mode=0o600), paths[1]: Rights(user_id=SOMEBODY, mode=0o644)}
    with made_cells() as cell:
        seat = cell(files=dict.fromkeys(paths, b"placed"), rights=kept)
        seen = said_by(seat, SAYS, *paths, str(tmp_path / "secret"))
    assert seen == [[0, 0o600], [SOMEBODY, 0o644], [0, 0o600]]


def test_a_fifo_in_a_files_place_is_not_waited_for(theirs):
    os.mkfifo(theirs / "fifo")
    assert not _stands(f"{theirs}/fifo", b"")
