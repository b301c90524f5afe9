"""Full TLS handshakes of an answer as what decides: their verdicts, nought and no width."""

import math

import pytest
from msgspec import structs
from tests.experiment.test_second_metric import ARMS, SPREAD, start_of

from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import log_ratios, ratio_intervals
from httpdyno.model import Objective
from httpdyno.report.shared.message import joined

FULL_HANDSHAKES = "handshakes_full_per_request"


def signing(number, *n_of_arms):
    """Return a start of whose thousand answers so many took a full handshake, of each arm."""
    start = start_of(number, 1.0, 1.0)
    windows = (
        structs.replace(
            window,
            measurement=structs.replace(
                window.measurement, handshakes_full=n, handshakes_resumed=1000 - n
            ),
        )
        for window, n in zip(start.windows, n_of_arms, strict=True)
    )
    return structs.replace(start, windows=tuple(windows))


def compared(found, **objective):
    terms = Terms(objective=Objective(**{"metric": FULL_HANDSHAKES, **objective}), min_starts=6)
    return comparison(1, found, ARMS, terms)


@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "better"), (2.0, "worse")])
def test_fewer_are_better(factor, verdict):
    starts = [signing(n, 400, round(400 * factor * math.exp(e))) for n, e in enumerate(SPREAD)]
    found = compared(starts)
    assert (found.verdict, found.metric) == (verdict, FULL_HANDSHAKES)
    assert found.ratios[FULL_HANDSHAKES].ratio == pytest.approx(factor, rel=0.01)
    assert log_ratios(starts, FULL_HANDSHAKES)[2] == pytest.approx(math.log(factor))
    assert FULL_HANDSHAKES not in ratio_intervals(starts, Objective())


def test_one_for_each_connection_never_varies_and_that_is_said():
    found = compared([signing(n, 1000, 100) for n in range(6)])
    assert found.verdict == "better"
    assert joined(found.reasons).endswith("in all 6 starts, so its interval has no width")


def test_where_an_arm_signs_for_none_there_is_no_ratio_and_both_figures_are_told():
    found = compared([signing(n, 3, int(n > 1)) for n in range(6)])
    assert (found.verdict, FULL_HANDSHAKES in found.ratios) == ("not_measured", False)
    assert joined(found.reasons) == (
        "no ratio: full TLS handshakes per request is 0 in 2 of 6 starts (a 0.3 %, b 0.067 %)"
    )
    none = compared([signing(n, 0, 0) for n in range(6)])
    assert joined(none.reasons) == "no ratio: full TLS handshakes per request is 0 in every start"


def test_they_break_ties_and_are_told_beside():
    starts = [signing(n, 400, 100) for n in range(6)]
    tied = compared(starts, metric="throughput_per_s", tie_breaker=FULL_HANDSHAKES)
    assert (tied.verdict, tied.decided_by) == ("better", FULL_HANDSHAKES)
    told = compared(starts, metric="throughput_per_s", also=(FULL_HANDSHAKES,))
    assert [each.verdict for each in told.also] == ["better"]
