"""A live run seen through an overlay, a chroot or other namespaces: nothing of it is touched."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benches.faults.view import VIEWS, base_of_views, seen_by, views_complaint
from tests.servers.run.test_leftovers import OWNER

from httpdyno.report.shared.message import texts
from httpdyno.servers.run.leftovers import doubtful_folders, reap_leftovers
from httpdyno.servers.run.live_process import process_info
from httpdyno.servers.run.record import read_record

REAPER = """
import json
from httpdyno.servers.run.leftovers import doubtful_folders, reap_leftovers
done = [str(each) for each in reap_leftovers()]
print(json.dumps([done, [str(folder) for folder in doubtful_folders()]]))
"""
DEADLINE_S = 10


@pytest.fixture(scope="module", autouse=True)
def can_be_made():
    if words := views_complaint():
        pytest.skip(words)


def test_a_live_run_is_let_be_however_it_is_seen_and_a_killed_one_cleaned_up(own_folders):
    with (
        base_of_views() as base,
        subprocess.Popen(
            [sys.executable, "-c", OWNER, "one", "two"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as owner,
    ):
        assert owner.stdout is not None
        one, two, name = (owner.stdout.readline().strip() for _ in range(3))
        folder, pids = Path(name), (int(one), int(two))
        memory = read_record(folder).memory_folder
        assert memory is not None
        try:
            for view in VIEWS:
                seen = seen_by(
                    view,
                    [sys.executable, "-c", REAPER],
                    covers=(own_folders, memory.parent.parent),
                    base=base,
                )
                done, doubtful = json.loads(seen.stdout)
                assert done == [], view
                # Elsewhere the locks are the owner's own, and held.
                assert (str(folder) in doubtful) == ("overlay" in view), view
                assert all(map(process_info, pids)), view
                assert folder.exists(), view
                assert memory.exists(), view
        finally:
            owner.kill()
    assert any(folder.name in sentence for sentence in texts(reap_leftovers()))
    assert doubtful_folders() == {}
    assert not folder.exists()
    assert not memory.exists()
    assert not any(map(process_info, pids))
