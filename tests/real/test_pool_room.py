"""The room for workers of a real copy: what it loaded before it forked, what a request takes."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from httpdyno.cli.app import run
from httpdyno.servers.cell.possible import possible

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(
        possible()[0] != "cell" or os.geteuid() != 0, reason="sites below /srv are root's, in cells"
    ),
]

MB = 10**6
LOADED_BYTES, TAKEN_BYTES = 50 * MB, 40 * MB
APPLICATION = f"""
import time

LOADED = bytearray(b"x") * {LOADED_BYTES}

def application(environ, start_response):
    taken = bytearray(b"x") * {TAKEN_BYTES}
    time.sleep(0.3)
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]
"""


@pytest.fixture
def shop():
    folder = Path(tempfile.mkdtemp(dir="/srv", prefix="httpdyno-test-"))
    folder.chmod(0o755)
    (folder / "shop.py").write_text(APPLICATION)
    yield folder
    shutil.rmtree(folder)


def test_what_is_shared_counts_once_and_what_a_request_takes_for_each(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(shop)
    gunicorn = str(Path(sys.executable).with_name("gunicorn"))
    own = tmp_path / "own"
    command = [gunicorn, "--preload", "-w", "2", "-b", "127.0.0.1:8000", "shop:application"]
    assert run(["adopt", "-o", str(own), "-c", "4", "--knob", "workers=3", "--", *command]) == 0
    [room] = json.loads((own / "rehearsal.json").read_text())["rooms"]
    assert LOADED_BYTES < room["once_bytes"] < LOADED_BYTES + TAKEN_BYTES
    assert TAKEN_BYTES < room["each_bytes"] < LOADED_BYTES + TAKEN_BYTES
    left = room["available_bytes"] - room["reserve_bytes"] - room["once_bytes"]
    # The parent is one more that the kernel keeps something for.
    each = room["each_bytes"] + room["kernel_bytes"]
    assert room["n"] == (left - room["kernel_bytes"]) // each
    assert room["available_bytes"] == room["free_bytes"] // 2
