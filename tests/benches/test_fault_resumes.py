"""Two lives of a run that end by `kill -9`; a hundred and eleven of them are in the bench."""

import pytest
from benches.faults.resumes import measure


@pytest.mark.timeout(180)
def test_what_a_killed_run_had_stored_is_there_and_it_goes_on():
    counts = {count.name: count for count in measure(2, seed=1)}
    assert len(counts) == 4
    assert [count.line() for count in counts.values() if not count.is_good] == []
    assert "came to their end" in counts["windows and starts lost"].note
