"""The time until a server is ready as what decides: its verdicts, and what is too soon."""

import json
import math

import pytest
from msgspec import structs
from tests.experiment.test_second_metric import ARMS, SPREAD, start_of

from httpdyno.experiment.block_choice import start_times
from httpdyno.experiment.claim import Terms, comparison
from httpdyno.experiment.evidence import ratio_intervals
from httpdyno.model import Objective, StartRecord
from httpdyno.store.payload import from_text, to_text


def coming_up(number, *came_up_s):
    return structs.replace(start_of(number, 1.0, 1.0), came_up_s=came_up_s)


def compared(found):
    return comparison(1, found, ARMS, Terms(objective=Objective(metric="ready_s"), min_starts=6))


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "better"), (2.0, "worse")])
def test_sooner_is_better(factor, verdict):
    starts = [coming_up(n, 1.2, 1.2 * factor * math.exp(e)) for n, e in enumerate(SPREAD)]
    found = compared(starts)
    assert (found.verdict, found.ratios["ready"].ratio) == (verdict, pytest.approx(factor))
    assert (found.a.ready_s, found.b.ready_s) == pytest.approx((1.2, 1.2 * factor), rel=0.01)
    assert "ready" not in ratio_intervals(starts, Objective())


def test_what_is_ready_between_two_looks_is_not_compared():
    found = compared([coming_up(n, 0.4, 0.02) for n in range(6)])
    assert (found.verdict, found.ratios.get("ready")) == ("not_measured", None)
    assert "a server is ready within 20.0 ms: of less than 100 ms nothing" in found.reason


def test_what_nobody_told_is_no_figure_and_starts_of_earlier_versions_have_none():
    found = compared([coming_up(n, 0.4, None) for n in range(6)])
    assert found.verdict == "not_measured"
    assert found.reason == "in 6 starts nobody told when the server was ready"
    start = start_of(0, 1.0, 1.0)
    old = json.loads(to_text(start))
    assert old.pop("came_up_s") == []
    assert from_text(json.dumps(old), StartRecord, "it") == start
    assert compared([start] * 6).a.ready_s is None


def test_coming_up_in_turn_is_no_part_that_starts_side_by_side_share():
    start = structs.replace(start_of(0, 1.0, 1.0), duration_s=10.0)
    in_turn = structs.replace(start, duration_s=13.0, came_up_s=(2.0, 1.0))
    plain, alone = start_times([start], 4), start_times([in_turn], 4)
    assert alone.overhead_s == pytest.approx(plain.overhead_s + 3.0)
    assert alone.block_s == plain.block_s
