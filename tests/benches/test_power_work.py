"""Servers whose requests take a known amount of work, and how they are asked."""

import random
import runpy

from benches.engine.setting import REPOSITORY
from benches.power.work.load import turn_order
from benches.power.work.way import CIRCUMSTANCES, WAYS

COST_S = 1e-3


def test_every_way_has_a_truth_and_what_it_stands_beside_exists():
    assert {way.truth for way in WAYS.values()} <= set(CIRCUMSTANCES)
    assert {way.alone for way in WAYS.values()} <= {"", *WAYS}


def test_two_arms_on_one_core_get_half_the_rate_each():
    both, alone = WAYS["duet"].rate_per_s(COST_S), WAYS["open-apart"].rate_per_s(COST_S)
    assert 2 * both == alone < 1 / COST_S


def test_turns_are_balanced_and_begin_at_either_side():
    orders = [turn_order(4, random.Random(seed)) for seed in range(20)]
    for order in orders:
        blocks = [order[at : at + 2] for at in range(0, len(order), 2)]
        assert all(sorted(block) == [0, 1] for block in blocks)
        assert blocks[2] == blocks[1][::-1]
        assert blocks[4] == blocks[3][::-1]
    assert {order[2] for order in orders} == {0, 1}


def test_an_answer_does_not_tell_how_much_work_it_took(monkeypatch):
    # Configurations that answer otherwise are not compared.
    monkeypatch.setenv("BURN_UNITS", "3")
    site = runpy.run_path(str(REPOSITORY / "benches/power/work/gunicorn/app/burn.py"))
    told = [site["application"]({"QUERY_STRING": n}, lambda *_: None) for n in ("", "1", "9999")]
    assert told == [[b"           1\n"]] * 3
