"""What hard limits did in a window, by the kernel's own account."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.conformance.collector import TOLD, CollectorCase, CollectorConformance

from httpdyno.telemetry.collector import LimitCollector, throttling


@dataclass
class Group:
    folder: Path
    version: int


@dataclass
class Groups:
    memory: Group | None = None
    cpu: Group | None = None


def cpu_stat(folder, n_periods, n_throttled, us):
    (folder / "cpu.stat").write_text(
        f"usage_usec 5\nnr_periods {n_periods}\nnr_throttled {n_throttled}\nthrottled_usec {us}\n"
    )


class TestLimitCollector(CollectorConformance):
    @pytest.fixture
    def case(self, tmp_path):
        spent = [0]

        def work():
            spent[0] += 8
            cpu_stat(tmp_path, spent[0], spent[0], 0)
            (tmp_path / "memory.events").write_text(f"max {spent[0]}\n")

        work()
        group = Group(tmp_path, 2)
        return CollectorCase(
            make=lambda: LimitCollector([Groups(memory=group, cpu=group)]),
            fields=frozenset({"n_at_memory_limit", "n_cpu_periods", "n_throttled", "throttled_s"}),
            work=work,
            moved="n_throttled",
            end=(tmp_path / "cpu.stat").unlink,
        )


def test_both_versions_are_read_and_several_servers_added_up(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (one / "cpu.stat").write_text("nr_periods 10\nnr_throttled 4\nthrottled_time 250000000\n")
    cpu_stat(two, 5, 1, 500_000)
    found = throttling([(str(one), 1), (str(two), 2), (str(tmp_path / "gone"), 2)])
    assert (found.n_periods, found.n_throttled, found.throttled_s) == (15, 5, 0.75)


def test_a_window_has_what_its_limits_did_in_it(tmp_path):
    (tmp_path / "memory.failcnt").write_text("7\n")
    (tmp_path / "memory.memsw.failcnt").write_text("20\n")
    cpu_stat(tmp_path, 100, 50, 1_000_000)
    groups = Groups(memory=Group(tmp_path, 1), cpu=Group(tmp_path, 2))
    collector = LimitCollector([groups, Groups()])
    collector.open()
    (tmp_path / "memory.failcnt").write_text("9\n")
    (tmp_path / "memory.memsw.failcnt").write_text("24\n")
    cpu_stat(tmp_path, 110, 58, 1_500_000)
    seen = collector.close(TOLD, is_last=False)
    assert (seen.n_at_memory_limit, seen.n_cpu_periods, seen.n_throttled) == (6, 10, 8)
    assert seen.throttled_s == 0.5
