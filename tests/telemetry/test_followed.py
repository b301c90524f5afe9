"""Servers that somebody else measures, on processes that burn CPU time when told."""

import pytest
from tests.telemetry.burner import burners, ended, worked

from httpdyno.model import RootProcess
from httpdyno.servers.run.live_process import process_info
from httpdyno.telemetry.watched import Follower


def root(process):
    info = process_info(process.pid)
    assert info is not None
    return RootProcess(pid=info.pid, start_ticks=info.started_ticks)


def test_servers_are_seen_as_long_as_they_are_there_with_what_they_used():
    with burners(2) as (one, other):
        servers = [(root(one),), (root(other),), ()]
        follower = Follower()
        first = follower.look(servers)
        assert [*first] == servers[:2]
        assert [each.cpu_ratio for each in first.values()] == [None, None]
        worked([one])
        second = follower.look(servers)
        [(pid, name)] = second[servers[0]].roots
        assert (pid, bool(name), second[servers[0]].n_processes) == (one.pid, True, 1)
        used = [second[each].cpu_ratio or 0.0 for each in servers[:2]]
        assert used[0] > used[1]
        ended([one])
        assert [*follower.look(servers)] == servers[1:2]
        # Begun anew it is another one, with no look before.
        assert follower.look([]) == {}
        assert follower.look(servers[1:2])[servers[1]].cpu_ratio is None


@pytest.mark.parametrize("later", [1, -1])
def test_another_process_of_the_same_number_is_not_it(later):
    with burners(1) as (one,):
        known = root(one)
        another = RootProcess(pid=known.pid, start_ticks=known.start_ticks + later)
        assert Follower().look([(another,)]) == {}
