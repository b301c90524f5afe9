"""What a machine takes: each figure possible, and nothing left behind."""

import os
from pathlib import Path

import pytest
from msgspec import to_builtins

from httpdyno.report.shared.machine_card import card_line
from httpdyno.telemetry import host as module
from httpdyno.telemetry.host import machine_card

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


@pytest.mark.parametrize(("others_s", "is_marked"), [(0.0, False), (60.0, True)])
def test_a_card_that_was_taken_beside_others_says_so(monkeypatch, others_s, is_marked):
    told_s = iter((100.0, 100.0 + others_s))
    monkeypatch.setattr(module, "others_s", lambda: next(told_s))
    card = machine_card(None)
    assert (card.others_cores > 0) == is_marked
    assert ("others used meanwhile" in card_line(to_builtins(card))) == is_marked
