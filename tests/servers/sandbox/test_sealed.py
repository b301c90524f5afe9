"""No copy reaches production by a file: whatever is bound, wherever, whenever."""

import json
import os
import shutil
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.isolation import not_safest
from tests.servers.sandbox.cells import ENVIRONMENT, made_cells
from tests.servers.sandbox.production import NAMES, Production

from httpdyno.host.rights import (
    is_root_of_the_machine,
)
from httpdyno.servers.sandbox.available import possible

pytestmark = pytest.mark.skipif(
    possible()[0] != "cell" or not is_root_of_the_machine(),
    reason=not_safest() or "only root may make folders everywhere",
)

DEADLINE_S = 20.0
PLACES = ("/srv", "/var/lib", "/home", "/opt", "/tmp", "/run", "/etc", "/usr/share", "/root", "/")
COPY = """
import errno, fcntl, json, os, socket, sys, time
names, folders, steps = json.loads(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
locked = []
def tried(path, name):
    try:
        if name == "fifo":
            os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), b"from a copy")
        elif name == "lock":
            locked.append(open(path))
            fcntl.flock(locked[-1], fcntl.LOCK_EX)
            return ""
        else:
            kind = socket.SOCK_DGRAM if name == "datagram" else socket.SOCK_STREAM
            with socket.socket(socket.AF_UNIX, kind) as connection:
                connection.connect(path)
                connection.send(b"from a copy")
        return "reached"
    except OSError as error:
        return errno.errorcode[error.errno]
for step in range(2):
    locked.clear()
    while not os.path.exists(f"{steps}/go-{step}"):
        time.sleep(0.005)
    found = {f"{folder}/{name}": tried(f"{folder}/{name}", name) for folder in folders
             for name in names}
    with open(f"{steps}/said-{step}.new", "w") as file:
        json.dump(found, file)
    os.rename(f"{steps}/said-{step}.new", f"{steps}/said-{step}")
time.sleep(60)
"""
UNREACHED = {"ECONNREFUSED", "ENOENT", "ENXIO", "EACCES", ""}


@pytest.fixture
def productions():
    """One in each place; all but the first two run."""
    with ExitStack() as stack:
        made: list[Production] = []
        for place in PLACES:
            folder = Path(place, f"httpdyno-test-{os.getpid()}")
            folder.mkdir()
            stack.callback(shutil.rmtree, folder)
            stack.callback(folder.with_name(f"{folder.name}-link").unlink, missing_ok=True)
            # Whose sockets are looked for is no matter: a folder of somebody else's too.
            if len(made) % 2:
                os.chown(folder, 65534, 65534)
            made.append(Production(folder))
            stack.callback(made[-1].stop)
        for each in made[2:]:
            each.start()
        yield made


def said(folder, step, process):
    deadline_s = time.monotonic() + DEADLINE_S
    while not (folder / f"said-{step}").exists():
        assert time.monotonic() < deadline_s, process.last_words()
        assert process.is_alive(), process.last_words()
        time.sleep(0.005)
    return json.loads((folder / f"said-{step}").read_text())


def test_no_copy_reaches_what_listens_in_files_whenever_it_was_started(productions):
    folders = [str(each.folder) for each in productions]
    with made_cells() as cells:
        # What runs there is seen; nobody makes a document root of what is down.
        seat = cells(served=folders[2:])
        words = [json.dumps(NAMES), json.dumps(folders), str(seat.folder)]
        command = [sys.executable, "-I", "-S", "-c", COPY, *words]
        process = seat.spawn(command, environment=ENVIRONMENT, log=seat.folder / "log")
        try:
            (seat.folder / "go-0").touch()
            first = said(seat.folder, 0, process)
            received = [each.received() for each in productions[2:]]
            # All are restarted, and those that were down come up, while the copy runs.
            for each in productions:
                each.start()
            (seat.folder / "go-1").touch()
            second = said(seat.folder, 1, process)
            received += [each.received() for each in productions]
        finally:
            process.stop()
    assert {path: how for path, how in (first | second).items() if how not in UNREACHED} == {}
    assert [each for each in received if each] == []
    assert len(second) == len(PLACES) * len(NAMES)
