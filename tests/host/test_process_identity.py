"""A process by more than its number, and what can be said of its life from here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.rows import each_row

from httpdyno.host import process_identity
from httpdyno.host.process_identity import Life, ProcessIdentity


def test_the_calling_process_is_alive():
    assert ProcessIdentity.me() == ProcessIdentity.me()
    assert ProcessIdentity.me().life() is Life.ALIVE
    assert ProcessIdentity.me().is_of_these_processes()


@each_row(
    "change", [{"start_ticks": 1}, {"boot": "another"}, {"pid": 1}, {"pid": 1 << 22}], ids=str
)
def test_a_later_process_with_the_same_number_is_another(change):
    assert replace(ProcessIdentity.me(), **change).life() is Life.GONE


def test_a_process_that_ended_is_gone_before_anybody_waited_for_it():
    said = "from httpdyno.host.process_identity import *; print(ProcessIdentity.me().start_ticks)"
    with subprocess.Popen([sys.executable, "-c", said], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        ticks = int(process.stdout.read())
        owner = replace(ProcessIdentity.me(), pid=process.pid, start_ticks=ticks)
        # Its output has ended, so it is exiting: poll until only its status is left.
        for _ in range(1_000_000):
            if owner.life() is Life.GONE:
                break
        assert owner.life() is Life.GONE
        assert process.wait(10) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"boot": ""},
        {"pid_namespace": "pid:[1]"},
        {"time_namespace": "time:[1]", "start_ticks": 1},
    ],
    ids=str,
)
def test_what_cannot_be_seen_from_here_is_in_doubt(change, monkeypatch):
    # Else root would see that nobody is in that namespace.
    monkeypatch.setattr(process_identity, "_FIRST_PID_NAMESPACE", "not ours")
    other = replace(ProcessIdentity.me(), **change)
    assert other.life() is Life.IN_DOUBT


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees all pid namespaces")
def test_nobody_lives_in_a_pid_namespace_that_is_gone():
    assert replace(ProcessIdentity.me(), pid_namespace="pid:[1]").life() is Life.GONE


def test_without_proc_nothing_is_known(monkeypatch, tmp_path):
    me = ProcessIdentity.me()
    monkeypatch.setattr(process_identity, "Path", lambda _path: Path(tmp_path / "none"))
    assert process_identity.boot_id() == ""
    assert me.life() is Life.IN_DOUBT
    assert not me.is_of_these_processes()
    # Of one's own run nobody has to guess.
    assert ProcessIdentity.me().is_of_these_processes()
    assert not replace(ProcessIdentity.me(), start_ticks=1).is_of_these_processes()
