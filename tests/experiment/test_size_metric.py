"""Memory and bytes of a request as what decides: figures of starts, their ratios and verdicts."""

import math

import pytest
from msgspec import structs
from tests.experiment.test_second_metric import ARMS, SPREAD, start_of

from httpdyno.experiment.decide.claim import Terms, comparison
from httpdyno.experiment.decide.evidence import arm_summary, block_log_ratios, log_ratios
from httpdyno.model import Objective
from httpdyno.report.shared.message import joined

MIB = 1 << 20


def sized(number, *arms):
    """Return a start with these (PSS, bytes received) of its arms."""
    start = start_of(number, 1.0, 1.0)
    windows = [
        structs.replace(
            window,
            telemetry=structs.replace(
                window.telemetry, pss_bytes=pss, uss_bytes=pss, n_processes=4
            ),
            measurement=structs.replace(window.measurement, bytes_received=received),
        )
        for window, (pss, received) in zip(start.windows, arms, strict=True)
    ]
    return structs.replace(start, windows=tuple(windows))


def starts(factor):
    return [
        sized(
            n,
            (100 * MIB, 2_000_000),
            (round(100 * MIB * factor * math.exp(noise)), round(2_000_000 * factor)),
        )
        for n, noise in enumerate(SPREAD)
    ]


def compared(found, metric):
    return comparison(1, found, ARMS, Terms(objective=Objective(metric=metric), min_starts=6))


@pytest.mark.parametrize("metric", ["pss_bytes", "uss_bytes_per_process", "bytes_per_request"])
@pytest.mark.parametrize(("factor", "verdict"), [(0.5, "better"), (2.0, "worse")])
def test_less_is_better(metric, factor, verdict):
    found = compared(starts(factor), metric)
    assert (found.verdict, found.metric) == (verdict, metric)


def test_bytes_that_never_differ_are_proven_to_be_the_same():
    found = compared(starts(1.0), "bytes_per_request")
    assert found.verdict == "equivalent"
    assert tuple(arm.figures["bytes_per_request"] for arm in (found.a, found.b)) == (2000.0, 2000.0)


def test_ratios_have_their_names_and_memory_has_none_of_blocks():
    found = starts(0.5)
    assert log_ratios(found, "memory")[2] == pytest.approx(math.log(0.5), abs=1e-6)
    assert block_log_ratios(found, "memory") == [[]] * 6
    assert block_log_ratios(found, "bytes_per_request")[0] == pytest.approx([math.log(0.5)])
    summary = arm_summary(found, 1, ARMS[1])
    assert summary.figures["bytes_per_request"] == 1000.0
    assert summary.uss_bytes_per_process == pytest.approx(12.5 * MIB, rel=0.1)


def test_memory_that_was_not_read_is_no_figure():
    unread = [sized(n, (100 * MIB, 1), (None, 1)) for n in range(6)]
    assert log_ratios(unread, "memory") == []
    for metric in ("pss_bytes", "uss_bytes_per_process"):
        found = compared(unread, metric)
        assert found.verdict not in {"better", "worse", "equivalent"}
        assert "memory" in joined(found.reasons)
