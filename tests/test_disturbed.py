"""Which tests are tried again: told by who had the CPU, never by what they showed."""

from itertools import count

import pytest
from tests import disturbed

FAILS_TIMES = """
tries = []

def test_that_fails():
    tries.append(None)
    assert len(tries) > {}
"""
NEVER, ALWAYS = 0, 1


@pytest.mark.parametrize(
    ("n_failures", "stolen_s", "outcomes"),
    [
        (0, ALWAYS, {"passed": 1}),
        (1, ALWAYS, {"passed": 1, "rerun": 1}),
        (2, ALWAYS, {"passed": 1, "rerun": 2}),
        (3, ALWAYS, {"failed": 1, "rerun": 2}),
        (1, NEVER, {"failed": 1}),
    ],
)
def test_a_test_that_failed_is_tried_again_where_the_host_took_the_cpu(
    pytester, monkeypatch, n_failures, stolen_s, outcomes
):
    monkeypatch.setattr(disturbed, "_began", [(0.0, 0.0)])
    monkeypatch.setattr(disturbed, "steal_s", count(0, stolen_s).__next__)
    pytester.makepyfile(FAILS_TIMES.format(n_failures))
    result = pytester.runpytest_inprocess("-p", "tests.disturbed")
    assert {name: n for name, n in result.parseoutcomes().items() if n} == outcomes
    told = [line for line in result.outlines if "test_that_fails: assert 1 >" in line]
    assert len(told) == min(outcomes.get("rerun", 0), 1)


def test_what_the_host_took_before_does_not_count(monkeypatch):
    monkeypatch.setattr(disturbed, "_began", [(0.0, 0.0)])
    monkeypatch.setattr(disturbed, "monotonic", iter([10.0, 11.0, 11.0]).__next__)
    monkeypatch.setattr(disturbed, "steal_s", iter([7.0, 7.04, 7.06]).__next__)
    disturbed.pytest_runtest_setup()
    assert not disturbed.was_disturbed()
    assert disturbed.was_disturbed()
