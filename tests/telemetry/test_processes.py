"""Who belongs to a server, where numbers of processes are given anew; with a made-up /proc."""

import pytest

from httpdyno.host.procfs import ProcessStat
from httpdyno.telemetry import processes
from httpdyno.telemetry.processes import TURNS, ProcessTable, ThreadTable

ROOT, WORKER, STRANGER = 100, 108, 1
LINE = b"%d (w) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 0"


def stats_of(found, asked=None):
    """Return what reads a process of these."""

    def stat_of(pid, _read):
        if asked is not None:
            asked.append(("read", pid))
        return ProcessStat(LINE % (pid, *found[pid])) if pid in found else None

    return stat_of


def children_in(found, asked=None):
    """Return what lists the children of a process of these."""

    def children_of(pid, **_):
        if asked is not None:
            asked.append(("asked", pid))
        return [each for each, (parent, _) in found.items() if parent == pid]

    return children_of


@pytest.fixture
def there(monkeypatch):
    """Return the processes that there are, which a test may change: pid → (parent, start)."""
    found = {ROOT: (STRANGER, 10), WORKER: (ROOT, 20)}
    monkeypatch.setattr(processes, "KERNEL_LISTS_CHILDREN", True)
    monkeypatch.setattr(processes, "stat_of", stats_of(found))
    monkeypatch.setattr(processes, "children_now", lambda: children_in(found))
    return found


def updated(seen):
    for _ in range(TURNS):
        seen.update()
    return {pid: each.stat.started_ticks for pid, each in seen.members.items()}


def test_a_stranger_with_the_number_of_one_who_died_is_none_of_the_servers(there):
    seen = ThreadTable([ROOT])
    assert updated(seen) == {ROOT: 10, WORKER: 20}
    there[WORKER] = (STRANGER, 30)
    assert updated(seen) == {ROOT: 10}
    assert (seen.births, seen.deaths) == (0, 1)


def test_a_child_with_the_number_of_one_who_died_is_another(there):
    seen = ThreadTable([ROOT])
    updated(seen)
    there[WORKER] = (ROOT, 30)
    assert updated(seen) == {ROOT: 10, WORKER: 30}
    assert (seen.births, seen.deaths) == (1, 1)
    assert set(seen.last) == {(WORKER, 20)}


def test_a_stranger_with_the_servers_own_number_is_not_it(there):
    seen = ThreadTable([ROOT])
    updated(seen)
    there[ROOT] = (STRANGER, 40)
    del there[WORKER]
    assert updated(seen) == {}
    assert seen.deaths == 2


def test_who_is_left_behind_by_its_parent_stays_the_servers(there):
    seen = ThreadTable([ROOT])
    updated(seen)
    del there[ROOT]
    there[WORKER] = (STRANGER, 20)
    assert updated(seen) == {WORKER: 20}


def test_who_is_below_another_part_is_of_that_part_wherever_it_ends_up(there):
    database, backend = 200, 216
    there |= {database: (STRANGER, 11), backend: (database, 21)}
    seen = ThreadTable([ROOT, database], {database: 1})
    updated(seen)
    assert {pid: each.part for pid, each in seen.members.items()} == {
        ROOT: 0,
        WORKER: 0,
        database: 1,
        backend: 1,
    }
    there[backend + 1] = (backend, 31)
    del there[WORKER]
    updated(seen)
    assert (seen.births, seen.births_of[1]) == (1, 1)
    assert (seen.deaths, seen.deaths_of[0]) == (1, 1)
    # It loses its parent, and what it was is known still when it is gone.
    del there[backend]
    there[backend + 1] = (STRANGER, 31)
    updated(seen)
    assert seen.members[backend + 1].part == 1
    assert (seen.part_of[WORKER], seen.part_of[backend]) == (0, 1)


def test_a_table_has_each_process_after_what_it_is_below(there):
    there |= {101: (WORKER, 21), 102: (ROOT, 22), 300: (STRANGER, 5)}
    table = ProcessTable([ROOT], others=lambda: [300])
    looked = table.look()
    assert list(looked.found) == [ROOT, WORKER, 101, 102, 300]
    assert (looked.parents, looked.is_whole) == ({ROOT, WORKER}, True)


def test_one_that_is_reaped_while_it_is_looked_for_makes_a_look_of_a_part(there, monkeypatch):
    table = ProcessTable([ROOT])
    monkeypatch.setattr(processes, "stat_of", stats_of({ROOT: there[ROOT]}))
    looked = table.look()
    assert (list(looked.found), looked.is_whole) == ([ROOT], False)


def test_who_is_not_due_stays_as_it_was_and_nobody_is_asked_for_its_children(there):
    table = ProcessTable([ROOT])
    table.look()
    there[WORKER] = (ROOT, 99)
    there[109] = (WORKER, 23)
    assert list(table.look({ROOT}).found) == [ROOT]
    assert table.known[WORKER].started_ticks == 20
    assert list(table.look({ROOT, WORKER}, asks_for_children=False).found) == [ROOT]
    # Its number is another's, and nobody of the server's told of that one.
    assert list(table.known) == [ROOT]
    assert list(table.look().found) == [ROOT, WORKER, 109]


def test_a_known_process_is_asked_for_its_children_before_it_is_read(there, monkeypatch):
    asked: list[tuple[str, int]] = []
    table = ProcessTable([ROOT])
    table.look()
    monkeypatch.setattr(processes, "stat_of", stats_of(there, asked))
    monkeypatch.setattr(processes, "children_now", lambda: children_in(there, asked))
    table.look()
    assert asked == [("asked", ROOT), ("read", ROOT), ("asked", WORKER), ("read", WORKER)]
