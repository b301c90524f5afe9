"""What stands behind a site gets no byte of its copies, whatever its name, restarted or not."""

import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Event, Thread

import benches.untouched
import pytest
from benches.untouched.services import as_user, end, in_production, stand_in
from tests.isolation import not_safest

from httpdyno.servers.sandbox.available import possible

pytestmark = pytest.mark.skipif(possible()[0] != "cell", reason=not_safest() or "cells can be had")

LASTING = ("relative", "hard", "link", "descriptor", "spaced", "datagram", "fifo")
RESTARTED = ("absolute", "renamed", "relative", "fifo")
SHOP = Path(benches.untouched.__file__).with_name("shop.py")
ADOPTED = ("--get", "/", "--knob", "env.X=1,2", "-c", "2", "-o", "s")
SHORT = """
[method]
window = "50ms"
lead_in = "10ms"
warm_up = "20ms"
blocks_per_start = 2
"""
DEADLINE_S = 60.0


def ordered(port):
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)) as connection:
        connection.request("GET", "/")
        assert connection.getresponse().status == 200


def shop(stack, services, folder):
    """Start the shop that orders of all these at each request; return its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shutil.copy(SHOP, folder)
    each = [told for service in services for told in service.told()]
    (folder / "settings.json").write_text(json.dumps({"port": port, "services": each}))
    process = subprocess.Popen(
        ["/usr/bin/python3", "-S", folder / "shop.py", folder / "settings.json"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin"},
        **as_user("nobody"),
    )
    stack.callback(end, process)
    deadline_s = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline_s:
        with suppress(OSError):
            ordered(port)
            return process.pid
        time.sleep(0.02)
    pytest.fail("the shop does not come up")


def bytes_by_way(services):
    return {
        f"{each.name}, {path.name}": path.stat().st_size
        for each in services
        for path in each.folder.glob("got.*")
    }


@pytest.mark.timeout(120)
def test_copies_reach_nothing_behind_the_site_in_any_start(tmp_path):
    lasting = stand_in("lasting", *LASTING)
    restarted = stand_in("restarted", *RESTARTED)
    late = stand_in("late", "relative")
    services = [lasting, restarted, late]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/srv")))
        folder.chmod(0o755)
        stack.enter_context(in_production(services, folder))
        pid = shop(stack, services, folder)
        deadline_s = time.monotonic() + DEADLINE_S
        while len(before := bytes_by_way(services)) < len((*LASTING, *RESTARTED, "late")):
            assert time.monotonic() < deadline_s, before
            time.sleep(0.02)
        late.stop()
        late.path.unlink()

        httpdyno(tmp_path, "adopt", f"pid:{pid}", *ADOPTED)
        with (tmp_path / "s/study.toml").open("a") as study:
            study.write(SHORT)
        is_over = Event()

        def restart():
            late.start()
            while not is_over.wait(0.2):
                restarted.restart()

        restarting = Thread(target=restart)
        restarting.start()
        try:
            httpdyno(tmp_path, "study", "check", "s")
        finally:
            is_over.set()
            restarting.join()
        after = bytes_by_way(services)
    assert restarted.n_restarts
    assert after == before


def httpdyno(folder, *words):
    done = subprocess.run(
        [Path(sys.executable).with_name("httpdyno"), *words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
