"""What all collectors must do, tried on those that need no account; figures are told once."""

from pathlib import Path

import pytest
from tests.conformance.collector import TOLD, CollectorCase, CollectorConformance
from tests.telemetry.burner import burners, ended, worked

from httpdyno.model import LimitValues, Telemetry
from httpdyno.servers.limits.limit_group import LimitGroups
from httpdyno.telemetry import account
from httpdyno.telemetry import collector as collectors_module
from httpdyno.telemetry.account import MemoryTotal, TreeAccount, Usage
from httpdyno.telemetry.collector import (
    HostCollector,
    LookupCollector,
    ShortageCollector,
    server_collectors,
)

POOL, FRONT = Path("/cg/pool"), Path("/cg/front")


class TestShortageCollector(CollectorConformance):
    @pytest.fixture
    def case(self):
        with burners(2) as workers:
            account = TreeAccount([each.pid for each in workers])
            yield CollectorCase(
                make=lambda: ShortageCollector(account.groups()),
                fields=frozenset({"swap_ins", "memory_wait_s"}),
                work=lambda: worked(workers),
                end=lambda: ended(workers),
            )

    @pytest.fixture
    def kernel(self, monkeypatch):
        """Return what files hold, to be changed as time goes on."""
        files = {
            b"/proc/pressure/memory": pressure(1.0),
            b"/proc/swaps": b"Filename Type Size Used Priority\n/swap file 9 1 -2\n",
            b"/proc/vmstat": b"nr_free_pages 5\npswpin 100\npswpout 7\n",
        }
        monkeypatch.setattr(collectors_module, "content", lambda path: files.get(path, b""))
        return files

    def test_what_waited_in_its_own_group_is_told_and_not_that_of_the_machine(self, kernel):
        kernel[b"/cg/pool/memory.pressure"] = pressure(4.0)
        collector = ShortageCollector([POOL])
        collector.open()
        kernel[b"/cg/pool/memory.pressure"] = pressure(4.25)
        kernel[b"/proc/pressure/memory"] = pressure(9.0)
        kernel[b"/proc/vmstat"] = b"pswpout 9\npswpin 130\n"
        assert collector.close(TOLD, is_last=False).memory_wait_s == 0.25

    def test_of_two_groups_the_one_that_waited_longer_counts(self, kernel):
        kernel |= {
            b"/cg/pool/memory.pressure": pressure(4),
            b"/cg/front/memory.pressure": pressure(0),
        }
        collector = ShortageCollector([POOL, FRONT])
        collector.open()
        kernel[b"/cg/front/memory.pressure"] = pressure(0.125)
        assert collector.close(TOLD, is_last=False).memory_wait_s == 0.125

    @pytest.mark.parametrize("groups", [[POOL], [POOL, FRONT], []])
    def test_without_a_group_that_tells_the_machine_does(self, kernel, groups):
        collector = ShortageCollector(groups)
        collector.open()
        kernel[b"/proc/pressure/memory"] = pressure(1.5)
        kernel[b"/proc/vmstat"] = b"nr_free_pages 5\npswpin 130\n"
        seen = collector.close(TOLD, is_last=False)
        assert (seen.memory_wait_s, seen.swap_ins) == (0.5, 30)

    def test_a_kernel_that_tells_no_waiting_is_not_taken_for_one_without_any(self, kernel):
        del kernel[b"/proc/pressure/memory"]
        collector = ShortageCollector([])
        collector.open()
        assert collector.close(TOLD, is_last=False).memory_wait_s is None

    def test_a_machine_without_swap_is_not_asked_for_what_came_back(self, kernel):
        kernel[b"/proc/swaps"] = b"Filename Type Size Used Priority\n"
        collector = ShortageCollector([])
        collector.open()
        kernel[b"/proc/vmstat"] = b"nr_free_pages 5\npswpin 130\n"
        assert collector.close(TOLD, is_last=False).swap_ins == 0


def pressure(waited_s):
    """Return what such a file says."""
    averages = "avg10=0.00 avg60=0.00 avg300=0.00"
    return f"some {averages} total={round(waited_s * 1e6)}\nfull {averages} total=3\n".encode()


class TestHostCollector(CollectorConformance):
    @pytest.fixture
    def case(self):
        return CollectorCase(make=HostCollector, fields=frozenset({"steal_s"}))

    def test_what_the_host_took_between_the_edges_is_told(self, monkeypatch):
        stolen_s = iter([7.0, 7.25])
        monkeypatch.setattr("httpdyno.telemetry.collector.steal_s", lambda: next(stolen_s))
        collector = HostCollector()
        collector.open()
        assert collector.close(TOLD, is_last=False).steal_s == 0.25


class TestLookupCollector(CollectorConformance):
    @pytest.fixture
    def case(self):
        counted = [7]

        def look_up():
            counted[0] += 1000

        return CollectorCase(
            make=lambda: LookupCollector(lambda: counted[0]),
            fields=frozenset({"lookups"}),
            work=look_up,
            moved="lookups",
        )

    @pytest.mark.parametrize("told", [(None, 5), (5, None)])
    def test_what_is_not_known_at_both_edges_is_not_told(self, told):
        counts = iter(told)
        collector = LookupCollector(lambda: next(counts))
        collector.open()
        assert collector.close(Telemetry(cpu_s=0.0), is_last=False).lookups is None


def test_a_servers_collectors_tell_every_figure_of_a_window_once():
    told = []
    limits = [LimitGroups(values=LimitValues())]
    with burners(1) as (worker,):
        for collector in server_collectors(TreeAccount([worker.pid]), limits, lambda: 7):
            collector.open()
            seen = collector.close(TOLD, is_last=True)
            told += [
                name
                for name in TOLD.__struct_fields__
                if getattr(seen, name) != getattr(TOLD, name)
            ]
    # Calls are those of a program that is no server.
    assert sorted(told) == sorted({*TOLD.__struct_fields__} - {"calls"})


def test_memory_is_read_after_all_counters_of_a_window(monkeypatch):
    """The kernel takes long for it: what the host stole meanwhile is none of the window's."""
    read = []

    def noted(name, value):
        def reading(*_tree):
            read.append(name)
            return value

        return reading

    monkeypatch.setattr(
        "httpdyno.telemetry.account.memory_of", noted("memory", MemoryTotal(1, 0, 1))
    )
    cpu = noted("cpu", Usage(cpu_s=1.0, n_processes=1))
    monkeypatch.setattr(account.ProcessTree, "read", cpu)
    monkeypatch.setattr("httpdyno.telemetry.collector.steal_s", noted("steal", 1.0))
    monkeypatch.setattr(collectors_module, "waited_s", noted("waited", 1.0))
    collectors = server_collectors(TreeAccount([1, 2]))
    for collector in collectors:
        collector.open()
    read.clear()
    for collector in collectors:
        collector.close(TOLD, is_last=True)
    assert {*read[:-1]} == {"cpu", "steal", "waited"}
    assert read[-1] == "memory"
