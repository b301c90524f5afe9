"""The room for workers of a real copy: what it loaded before it forked, what a request takes."""

import json
import os
import shutil
import sys
import tempfile
import urllib.request
from pathlib import Path

import pytest
from tests.real.foreground import free_port, started_in

from httpdyno.cli.app import run
from httpdyno.servers.sandbox.available import possible

pytestmark = [
    pytest.mark.real_server,
    pytest.mark.skipif(
        possible()[0] != "cell" or os.geteuid() != 0, reason="sites below /srv are root's, in cells"
    ),
]

MB = 10**6
GUNICORN = [
    *(str(Path(sys.executable).with_name("gunicorn")), "shop:application", "--preload"),
    *("-w", "2", "--no-control-socket", "-b"),
]
LOADED_BYTES, TAKEN_BYTES = 50 * MB, 40 * MB
LEFT_BYTES = 150 * MB
APPLICATION = f"""
import time

LOADED = bytearray(b"x") * {LOADED_BYTES}
LEFT = []

def application(environ, start_response):
    if environ["PATH_INFO"] == "/leave":
        LEFT.append(bytearray(b"x") * {LEFT_BYTES})
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


def adopted(own, *source):
    assert run(["adopt", "-o", str(own), "-c", "4", "--knob", "workers=3", *source]) == 0
    [room] = json.loads((own / "rehearsal.json").read_text())["rooms"]
    return room


def test_what_is_shared_counts_once_and_what_a_request_takes_for_each(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(shop)
    room = adopted(tmp_path / "own", "--", *GUNICORN, "127.0.0.1:8000")
    assert not room["is_of_running"]
    assert LOADED_BYTES < room["once_bytes"] < LOADED_BYTES + TAKEN_BYTES
    assert TAKEN_BYTES < room["each_bytes"] < LOADED_BYTES + TAKEN_BYTES
    left = room["available_bytes"] - room["reserve_bytes"] - room["once_bytes"]
    # The parent is one more that the kernel keeps something for.
    each = room["each_bytes"] + room["kernel_bytes"]
    assert room["n"] == (left - room["kernel_bytes"]) // each
    assert room["available_bytes"] == room["free_bytes"] // 2


def test_what_a_worker_of_the_running_server_has_grown_to_is_what_one_takes(
    shop, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(shop)
    port = free_port()
    with started_in(shop) as start:
        pid = start([*GUNICORN, f"127.0.0.1:{port}"], port)
        urllib.request.urlopen(f"http://127.0.0.1:{port}/leave", timeout=10).close()
        room = adopted(tmp_path / "own", f"pid:{pid}")
    assert f"gunicorn runs: process {pid} and 2 below it" in capsys.readouterr().err
    assert room["is_of_running"]
    assert room["each_bytes"] > LEFT_BYTES
    assert room["once_bytes"] < LOADED_BYTES + TAKEN_BYTES
