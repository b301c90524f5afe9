"""What a load takes of the machine."""

import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.load.plan import SPIN_S, check_descriptors, suited_threads, usual_spin_s
from httpdyno.model import Constant, RequestSpec, VisitStep, Workload

HERE, ELSEWHERE = "127.0.0.1:80", "10.0.0.1:80"


@each_row(
    ("connections", "n_cpus", "threads"),
    [(1, 1, 1), (1000, 2, 1), (50, 16, 1), (1000, 16, 4), (130, 64, 2)],
)
def test_more_threads_only_on_big_machines_with_many_connections(connections, n_cpus, threads):
    assert suited_threads(Workload(connections=connections), n_cpus) == threads


@pytest.mark.parametrize(
    ("n_cpus", "address", "spin_s"),
    [(1, ELSEWHERE, 0.0), (2, HERE, 0.0), (2, ELSEWHERE, SPIN_S), (4, HERE, SPIN_S)],
)
def test_an_open_loop_polls_where_a_core_is_free_for_it(monkeypatch, n_cpus, address, spin_s):
    monkeypatch.setattr("os.cpu_count", lambda: n_cpus)
    assert usual_spin_s(Workload(arrival=Constant(rate_per_s=5.0)), address) == spin_s
    assert usual_spin_s(Workload(), address) == 0.0


def test_a_page_needs_the_open_files_of_all_its_connections(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 1024))
    requests = (RequestSpec(), RequestSpec(path="/a.css"))
    pages = (VisitStep(request=0, objects=(1,)),)
    check_descriptors(Workload(connections=200), threads=1)
    with pytest.raises(UsageError, match="1200 connections need"):
        check_descriptors(Workload(requests=requests, steps=pages, connections=200), threads=1)
