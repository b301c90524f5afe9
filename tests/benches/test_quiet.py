"""Which runs of the bench are done again: told by who had the cores, never by what they showed."""

from itertools import accumulate

import pytest
from benches.engine.quiet import MAX_TRIES, OTHERS_CORES, STOLEN_CORES, Quiet, Watch

MODULE = Quiet.__module__
QUIET, BUSY, STOLEN = (0.0, 0.0), (OTHERS_CORES * 2, 0.0), (0.0, STOLEN_CORES * 2)


@pytest.fixture
def tries(monkeypatch):
    """Return a function that says what others use and the host takes in each try of a second."""

    def play(*cores):
        others = iter([at for used, _ in cores for at in (0.0, used)])
        stolen = iter([at for _, taken in cores for at in (0.0, taken)])
        clock = accumulate(([0.0, 1.0] * len(cores)), lambda at, step: at + step)
        monkeypatch.setattr(f"{MODULE}.others_seconds", lambda: next(others))
        monkeypatch.setattr(f"{MODULE}.stolen_seconds", lambda: next(stolen))
        monkeypatch.setattr(f"{MODULE}.monotonic", lambda: next(clock))
        return iter(range(len(cores)))

    return play


@pytest.mark.parametrize(
    ("cores", "kept", "n_disturbed"),
    [
        ([QUIET], 0, 0),
        ([(OTHERS_CORES, STOLEN_CORES)], 0, 0),
        ([BUSY, QUIET], 1, 0),
        ([STOLEN, QUIET], 1, 0),
        ([STOLEN, BUSY, QUIET], 2, 0),
        ([STOLEN] * MAX_TRIES, MAX_TRIES - 1, 1),
    ],
)
def test_a_run_is_repeated_until_it_was_quiet_and_the_last_one_counts(
    tries, cores, kept, n_disturbed
):
    results = tries(*cores)
    runs: Quiet[int] = Quiet()
    assert runs.run(lambda: next(results)) == kept
    assert (runs.discarded, runs.n_disturbed) == (list(range(kept)), n_disturbed)
    assert bool(runs.notes()) == (kept > 0)


def test_the_note_counts_what_was_repeated_and_what_could_not_be(tries):
    results = tries(STOLEN, QUIET, *[BUSY] * MAX_TRIES)
    runs: Quiet[int] = Quiet()
    for _ in range(2):
        runs.run(lambda: next(results))
    [note] = runs.notes()
    assert f"{MAX_TRIES} runs were repeated, and 1 count though disturbed" in note


def test_what_a_server_of_ours_uses_is_not_what_others_use(tries, monkeypatch):
    used = iter([7.0, 7.0 + OTHERS_CORES * 2])
    monkeypatch.setattr(f"{MODULE}.running_seconds", lambda pid: next(used))
    tries(BUSY)
    assert not Watch(server=1).was_disturbed()
    tries(BUSY)
    assert Watch().was_disturbed()
