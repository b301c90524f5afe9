"""The time until a server is ready as what decides: its verdicts, and what is too soon."""

import json
import math

import pytest
from msgspec import structs
from tests.experiment.test_second_metric import ARMS, SPREAD, start_of

from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import log_ratios, ratio_intervals
from httpdyno.experiment.method.comparison import start_times
from httpdyno.model import Objective, StartRecord
from httpdyno.report.shared.message import joined
from httpdyno.stats.sequence import ratio_interval
from httpdyno.store.query import from_text, to_text


def coming_up(number, *came_up_s):
    return structs.replace(start_of(number, 1.0, 1.0), came_up_s=came_up_s)


def compared(found):
    return comparison(1, found, ARMS, Terms(objective=Objective(metric="ready_s"), min_starts=6))


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "better"), (2.0, "worse")])
def test_sooner_is_better(factor, verdict):
    starts = [coming_up(n, 1.2, 1.2 * factor * math.exp(e)) for n, e in enumerate(SPREAD)]
    found = compared(starts)
    assert (found.verdict, found.ratios["ready"].ratio) == (verdict, pytest.approx(factor))
    assert (found.a.figures["ready_s"], found.b.figures["ready_s"]) == pytest.approx(
        (1.2, 1.2 * factor), rel=0.01
    )
    assert "ready" not in ratio_intervals(starts, Objective())


def test_what_is_ready_between_two_looks_is_not_compared():
    found = compared([coming_up(n, 0.4, 0.02) for n in range(6)])
    assert (found.verdict, found.ratios.get("ready")) == ("not_measured", None)
    assert "a server is ready within 20.0 ms; below 100 ms nothing" in joined(found.reasons)


@pytest.mark.parametrize("other_s", [0.1201, 0.1249])
def test_what_comes_up_between_the_same_two_looks_each_time_proves_nothing(other_s):
    """Neither that they are alike nor that they differ: both may have been ready at 0.12 s."""
    found = compared([coming_up(n, 0.1201, other_s) for n in range(6)])
    ratio = found.ratios["ready"]
    assert found.verdict == "inconclusive"
    assert (ratio.low, ratio.high) == pytest.approx(
        ((other_s - 0.005) / 0.1201, other_s / (0.1201 - 0.005))
    )
    assert "polled every 5.00 ms" in joined(found.reasons)
    assert found.needed_s is None


def test_starts_that_differ_by_more_than_a_look_tell_as_finely_as_their_spread():
    starts = [coming_up(n, 1.2 * math.exp(e), 1.2 * math.exp(-e)) for n, e in enumerate(SPREAD)]
    found = compared(starts)
    confidence = Objective(metric="ready_s").confidence_of("ready_s")
    seen = ratio_interval(log_ratios(starts, "ready"), confidence=confidence)
    assert found.ratios["ready"] == seen
    assert "looked for" not in joined(found.reasons)


def test_what_nobody_told_is_no_figure_and_starts_of_earlier_versions_have_none():
    found = compared([coming_up(n, 0.4, None) for n in range(6)])
    assert found.verdict == "not_measured"
    assert joined(found.reasons) == "in 6 starts the server did not report when it was ready"
    start = start_of(0, 1.0, 1.0)
    old = json.loads(to_text(start))
    assert old.pop("came_up_s") == []
    assert from_text(json.dumps(old), StartRecord, "it") == start
    assert "ready_s" not in compared([start] * 6).a.figures


def test_coming_up_in_turn_is_no_part_that_starts_side_by_side_share():
    start = structs.replace(start_of(0, 1.0, 1.0), duration_s=10.0)
    in_turn = structs.replace(start, duration_s=13.0, came_up_s=(2.0, 1.0))
    plain, alone = start_times([start], 4), start_times([in_turn], 4)
    assert alone.overhead_s == pytest.approx(plain.overhead_s + 3.0)
    assert alone.block_s == plain.block_s
