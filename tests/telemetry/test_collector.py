"""What all collectors must do, tried on the host's; and that a window's figures are told once."""

import pytest
from tests.telemetry.burner import burners

from httpdyno.telemetry import process_tree
from httpdyno.telemetry.account import TreeAccount
from httpdyno.telemetry.collector import server_collectors
from httpdyno.telemetry.host import HostCollector
from httpdyno.telemetry.process_tree import Usage
from httpdyno.testing.collector import TOLD, CollectorCase, CollectorConformance


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


def test_a_servers_collectors_tell_every_figure_of_a_window_once():
    told = []
    with burners(1) as (worker,):
        for collector in server_collectors(TreeAccount([worker.pid])):
            collector.open()
            seen = collector.close(TOLD, is_last=True)
            told += [
                name
                for name in TOLD.__struct_fields__
                if getattr(seen, name) != getattr(TOLD, name)
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
    cpu = noted("cpu", Usage(cpu_s=1.0, n_processes=1))
    monkeypatch.setattr(process_tree.ProcessTree, "read", cpu)
    monkeypatch.setattr("httpdyno.telemetry.host.steal_s", noted("steal", 1.0))
    collectors = server_collectors(TreeAccount([1, 2]))
    for collector in collectors:
        collector.open()
    read.clear()
    for collector in collectors:
        collector.close(TOLD, is_last=True)
    assert sorted(read[:-2]) == ["cpu", "cpu", "steal"]
    assert read[-2:] == ["memory", "memory"]
