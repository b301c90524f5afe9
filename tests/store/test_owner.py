import subprocess
import sys

import pytest
from msgspec.structs import replace

from httpdyno.store.owner import Owner


def test_the_calling_process_is_alive():
    assert Owner.me() == Owner.me()
    assert Owner.me().is_alive()


@pytest.mark.parametrize("change", [{"start_ticks": 1}, {"boot": "another"}, {"pid": 1}], ids=str)
def test_a_later_process_with_the_same_number_is_another(change):
    assert not replace(Owner.me(), **change).is_alive()


def test_a_process_that_ended_is_dead_before_anybody_waited_for_it():
    with subprocess.Popen(
        [sys.executable, "-c", "from httpdyno.store.owner import *; print(Owner.me().start_ticks)"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        ticks = int(process.stdout.read())
        owner = replace(Owner.me(), pid=process.pid, start_ticks=ticks)
        # Its output has ended, so it is exiting: poll until only its status is left.
        for _ in range(1_000_000):
            if not owner.is_alive():
                break
        assert not owner.is_alive()
        assert process.wait(10) == 0


def test_what_runs_on_another_host_counts_as_alive_only_in_a_shared_database():
    elsewhere = replace(Owner.me(), host="another", start_ticks=1)
    assert elsewhere.is_alive(is_shared=True)
    assert not elsewhere.is_alive()
