"""Names that a server looks up for an answer as what decides: their verdicts, and nought."""

import pytest
from msgspec import structs
from tests.experiment.test_second_metric import ARMS, start_of

from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import ratio_intervals
from httpdyno.model import Objective
from httpdyno.report.shared.message import joined

LOOKUPS = "lookups_per_request"


def asking(number, *n_of_arms):
    """Return a start in which each arm asked so often for a thousand answers."""
    start = start_of(number, 1.0, 1.0)
    windows = (
        structs.replace(window, telemetry=structs.replace(window.telemetry, lookups=n))
        for window, n in zip(start.windows, n_of_arms, strict=True)
    )
    return structs.replace(start, windows=tuple(windows))


def compared(found):
    return comparison(1, found, ARMS, Terms(objective=Objective(metric=LOOKUPS), min_starts=6))


@pytest.mark.parametrize(("n", "verdict"), [(1000, "better"), (2000, "equivalent")])
def test_fewer_are_better_and_that_they_never_vary_is_said(n, verdict):
    starts = [asking(number, 2000, n) for number in range(6)]
    found = compared(starts)
    assert (found.verdict, found.ratios[LOOKUPS].ratio) == (verdict, pytest.approx(n / 2000))
    assert joined(found.reasons).endswith("so its interval has no width")
    assert LOOKUPS not in ratio_intervals(starts, Objective())


def test_where_an_arm_asks_for_none_there_is_no_ratio():
    found = compared([asking(number, 2000, 0) for number in range(6)])
    assert (found.verdict, LOOKUPS in found.ratios) == ("not_measured", False)
    assert joined(found.reasons).startswith(
        "no ratio: lookups per request is 0 in 6 of 6 starts (a 2.00, b 0.00)"
    )


def test_where_nobody_counts_them_that_is_said():
    found = compared([asking(number, None, None) for number in range(6)])
    assert found.verdict == "not_measured"
    assert joined(found.reasons) == "lookups per request could not be counted in 6 starts"
