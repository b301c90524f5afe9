"""What a machine takes: each figure possible, and nothing left behind."""

import os
from pathlib import Path

from httpdyno.telemetry.machine_card import machine_card

FILES = Path("/proc/self/fd")


def test_every_figure_is_one_that_a_machine_can_have():
    own = os.sched_getaffinity(0)
    files = len([*FILES.iterdir()])
    card = machine_card(5e4)
    assert 1e-8 < card.stat_s < card.fork_s < 1
    assert 1e-8 < card.switch_s < 1
    assert 1e6 < card.copy_bytes_per_s < 1e13
    assert 1 < card.round_trips_per_s < 1e8
    assert card.requests_per_s == 5e4
    assert os.sched_getaffinity(0) == own
    assert len([*FILES.iterdir()]) == files
