"""A run killed now and then and resumed, once; the bench does it a hundred times."""

import pytest
from benches.faults import resumes

pytestmark = pytest.mark.real_server


def test_a_run_that_is_killed_and_resumed_has_lost_nothing():
    counts = list(resumes.measure(2, 5))
    assert [count.line() for count in counts if not count.is_good] == []
