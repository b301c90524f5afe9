"""Who holds a server for a test ends it, however the test is interrupted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from tests.conformance.server_holder import Held

from httpdyno.model import Configuration, ServerSpec
from httpdyno.servers.run.live_process import process_info

SERVED = ServerSpec(
    adapter="command",
    command=("{python}", "-m", "http.server", "--bind", "127.0.0.1", "{port}"),
)


@pytest.mark.parametrize("is_stopped", [False, True], ids=["running", "stopped"])
def test_a_test_that_is_interrupted_again_and_again_leaves_no_server(tmp_path, is_stopped):
    command = [sys.executable, "-m", "tests.conformance.server_holder"]
    with subprocess.Popen(
        [*command, "httpdyno.servers.command:Command", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        for each in (SERVED, Configuration()):
            holder.stdin.write(msgspec.json.encode(each) + b"\n")
        holder.stdin.flush()
        held = msgspec.json.decode(holder.stdout.readline(), type=Held)
        [server] = [process_info(pid) for pid in held.root_pids]
        assert server is not None
        if is_stopped:
            for pid in (server.parent, server.pid):
                os.kill(pid, signal.SIGSTOP)
        for _ in range(3):
            holder.send_signal(signal.SIGTERM)
            # The first one has been heard by then, or the next one is.
            signal.sigtimedwait([signal.SIGURG], 0.1)
        holder.wait(30)
    assert [pid for pid in (server.parent, server.pid) if process_info(pid) is not None] == []
    assert not Path(held.folder).exists()
