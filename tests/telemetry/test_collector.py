"""What all collectors must do, tried on a server of two trees that burns CPU time when told."""

import subprocess
import sys

import pytest

from httpdyno.model import Telemetry
from httpdyno.telemetry import process_tree
from httpdyno.telemetry.collector import server_collectors
from httpdyno.telemetry.host import HostCollector
from httpdyno.telemetry.process_tree import ProcessTree, TreeCollector, TreeReading
from httpdyno.testing.collector import TOLD, CollectorCase, CollectorConformance

BURNED_S = 0.1
WORKER = f"""
import sys, time
for _ in sys.stdin:
    until = time.process_time() + {BURNED_S}
    while time.process_time() < until:
        pass
    print("done", flush=True)
"""


@pytest.fixture
def workers():
    started = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    yield started
    for each in started:
        each.kill()
        each.communicate()


def worked(workers):
    for each in workers:
        each.stdin.write("go\n")
        each.stdin.flush()
        assert each.stdout.readline() == "done\n"


def ended(workers):
    for each in workers:
        each.kill()
        each.wait()


class TestTreeCollector(CollectorConformance):
    @pytest.fixture
    def case(self, workers):
        return CollectorCase(
            make=lambda: TreeCollector([each.pid for each in workers]),
            fields=frozenset({"cpu_s", "n_processes", "pss_bytes"}),
            work=lambda: worked(workers),
            moved="cpu_s",
            end=lambda: ended(workers),
        )

    def test_all_trees_of_a_server_count(self, workers):
        collector = TreeCollector([each.pid for each in workers])
        collector.open()
        worked(workers)
        seen = collector.close(TOLD, is_last=True)
        assert seen.cpu_s >= 2 * BURNED_S
        assert seen.n_processes == 2
        alone = ProcessTree(workers[0].pid).pss_bytes()
        assert seen.pss_bytes is not None
        assert alone is not None
        assert seen.pss_bytes > alone > 0

    def test_memory_is_read_after_the_last_window_only(self, workers):
        collector = TreeCollector([workers[0].pid])
        collector.open()
        assert collector.close(Telemetry(cpu_s=0.0), is_last=False).pss_bytes is None
        collector.open()
        assert collector.close(Telemetry(cpu_s=0.0), is_last=True).pss_bytes

    def test_reaped_time_cut_to_ticks_never_makes_a_window_negative(self, monkeypatch):
        readings = [TreeReading(cpu_s=each, n_processes=3) for each in (1.0, 0.99)]
        monkeypatch.setattr(process_tree.ProcessTree, "read", lambda _tree: readings.pop(0))
        collector = TreeCollector([1])
        collector.open()
        assert collector.close(TOLD, is_last=False).cpu_s == 0.0


class TestHostCollector(CollectorConformance):
    @pytest.fixture
    def case(self):
        return CollectorCase(make=HostCollector, fields=frozenset({"steal_s"}))

    def test_what_the_host_took_between_the_edges_is_told(self, monkeypatch):
        stolen_s = iter([7.0, 7.25])
        monkeypatch.setattr("httpdyno.telemetry.host.steal_s", lambda: next(stolen_s))
        collector = HostCollector()
        collector.open()
        assert collector.close(TOLD, is_last=False).steal_s == 0.25


def test_a_servers_collectors_tell_every_figure_of_a_window_once(workers):
    told = []
    for collector in server_collectors([workers[0].pid]):
        collector.open()
        seen = collector.close(TOLD, is_last=True)
        told += [
            name for name in TOLD.__struct_fields__ if getattr(seen, name) != getattr(TOLD, name)
        ]
    assert sorted(told) == sorted(TOLD.__struct_fields__)


def test_memory_is_read_after_all_counters_of_a_window(monkeypatch):
    """The kernel takes long for it: what the host stole meanwhile is none of the window's."""
    read = []

    def noted(name, value):
        def reading(*_tree):
            read.append(name)
            return value

        return reading

    monkeypatch.setattr(process_tree.ProcessTree, "pss_bytes", noted("memory", 1))
    cpu = noted("cpu", TreeReading(cpu_s=1.0, n_processes=1))
    monkeypatch.setattr(process_tree.ProcessTree, "read", cpu)
    monkeypatch.setattr("httpdyno.telemetry.host.steal_s", noted("steal", 1.0))
    collectors = server_collectors([1, 2])
    for collector in collectors:
        collector.open()
    read.clear()
    for collector in collectors:
        collector.close(TOLD, is_last=True)
    assert sorted(read[:-2]) == ["cpu", "cpu", "steal"]
    assert read[-2:] == ["memory", "memory"]
