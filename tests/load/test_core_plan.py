import os

import pytest
from tests.rows import each_row

from httpdyno.load.plan import CorePlan, core_plan, cpu_list, own_core_plan


def plan(n_cpus, *, pairs="", n_threads=1, cores="auto"):
    """Return client and server for a machine: `pairs` says how its CPUs share cores."""
    siblings = {}
    for cpu in range(n_cpus):
        if pairs == "next":  # 0-1, 2-3, …
            siblings[cpu] = (cpu - cpu % 2, cpu - cpu % 2 + 1)
        elif pairs == "half":  # 0,4 1,5 … as Intel counts
            siblings[cpu] = (cpu % (n_cpus // 2), cpu % (n_cpus // 2) + n_cpus // 2)
    found = core_plan(range(n_cpus), siblings, n_threads=n_threads, cores=cores)
    return list(found.client), list(found.server)


@each_row(
    ("found", "client", "server"),
    [
        (plan(1), [], []),
        (plan(2), [], []),
        (plan(3), [], []),
        (plan(1, cores="apart"), [], []),
        (plan(2, cores="apart"), [1], [0]),
        (plan(3, cores="apart", n_threads=2), [2], [0, 1]),
        (plan(2, cores="apart", pairs="next"), [], []),
        (plan(4, cores="apart"), [3], [0, 1, 2]),
        (plan(8, cores="shared"), [], []),
        (plan(4), [3], [0, 1, 2]),
        (plan(4, n_threads=3), [3], [0, 1, 2]),
        (plan(8, n_threads=2), [6, 7], [0, 1, 2, 3, 4, 5]),
        (plan(4, pairs="next"), [2], [0, 1]),
        (plan(4, pairs="half"), [1], [0, 2]),
        (plan(8, pairs="next", n_threads=2), [4, 6], [0, 1, 2, 3]),
        (plan(8, pairs="half", n_threads=2), [2, 3], [0, 1, 4, 5]),
        (plan(16, pairs="half", n_threads=1), [7], [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14]),
    ],
)
def test_client_and_server_get_cores_of_their_own(found, client, server):
    assert found == (client, server)


@pytest.mark.parametrize("n_threads", [1, 2, 8])
@pytest.mark.parametrize("pairs", ["", "next", "half"])
def test_no_core_is_shared_and_no_thread_is_without_one(pairs, n_threads):
    for n_cpus in range(2 if pairs else 1, 70, 2 if pairs else 1):
        client, server = plan(n_cpus, pairs=pairs, n_threads=n_threads)
        core = {
            cpu: {"": cpu, "next": cpu // 2}.get(pairs, cpu % (n_cpus // 2 or 1))
            for cpu in range(n_cpus)
        }
        assert bool(client) == bool(server) == (n_cpus >= 4)
        assert len({core[cpu] for cpu in client}) == len(client) <= n_threads
        assert not {core[cpu] for cpu in client} & {core[cpu] for cpu in server}


def test_a_single_core_of_many_threads_is_not_split():
    assert core_plan(range(4), {cpu: range(4) for cpu in range(4)}) == CorePlan()


def test_only_cores_that_this_process_may_use_are_in_the_plan():
    found = core_plan([2, 3, 8, 9], {})
    assert (found.client, found.server) == ((9,), (2, 3, 8))


def test_lists_are_read_as_the_kernel_writes_them():
    assert list(cpu_list("0,4-6,9\n")) == [0, 4, 5, 6, 9]


def test_this_machines_plan_is_of_its_cores():
    found = own_core_plan()
    assert {*found.client, *found.server} <= os.sched_getaffinity(0)
    assert bool(found.server) == bool(found.client)
    assert not {*found.client} & {*found.server}
