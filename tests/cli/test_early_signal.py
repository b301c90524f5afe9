"""Ctrl-C while the program still loads: whatever module that comes amid, the end is the same."""

import signal
import subprocess
import sys

import pytest

from httpdyno.host.interruption import end_at_once

COMMAND = (sys.executable, "-X", "importtime", "-m", "httpdyno", "inspect", "--rules")


@pytest.mark.parametrize(
    "module",
    [
        *("typer", "httpdyno.cli.standard_streams", "httpdyno.errors", "httpdyno.cli.app"),
        *("httpdyno.model", "httpdyno.registry"),
    ],
)
def test_ctrl_c_while_modules_are_loaded_is_130_and_no_traceback(module):
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        # Python tells of each module when it has been loaded.
        for line in process.stderr:
            if line.rpartition(b"|")[2].strip() == module.encode():
                break
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    words = [each for each in told.splitlines() if not each.startswith(b"import time:")]
    assert words == [b"interrupted"]


def test_what_was_not_to_be_ended_by_ctrl_c_is_not():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        end_at_once()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
