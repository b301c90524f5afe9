"""The server's own user is not to be trusted: what root reads and removes is out of its reach."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
from benches.faults.races import measure, race, victim_folder, write_study

pytestmark = [
    pytest.mark.real_server("apache2"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers change user"),
]

N_RACES = 3


def test_the_servers_user_gets_at_nothing_that_root_reads_or_removes():
    counts = list(measure(N_RACES, 1))
    assert [count for count in counts if not count.is_good] == []
    assert [count.n for count in counts] == [N_RACES] * 3


def test_the_attacker_wins_where_everything_is_handed_over(tmp_path, monkeypatch):
    def careless(place, user, writable):
        for folder, _, files in os.walk(place.folder):
            for path in (Path(folder), *(Path(folder) / name for name in files)):
                with suppress(FileNotFoundError):  # he is at it already
                    shutil.chown(path, user)

    monkeypatch.setattr("httpdyno.servers.stack.templates.hand_over", careless)
    write_study(tmp_path)
    with victim_folder() as victim:
        for _ in range(20):
            if race(tmp_path, victim)[1]:
                return
    pytest.fail("an attacker that never wins proves nothing")
